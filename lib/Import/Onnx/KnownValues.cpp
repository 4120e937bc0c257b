//===- KnownValues.cpp - values that follow from constants alone ---------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators on constants are computed at the import one by one, where there is a function for it.
// What else follows from constants becomes ops of the network, which run in each run. Where an
// operator must know such a value (a filter, a number of rows), these ops are run once, now. So it
// may be of what is computed in the run, but bounded by two numbers that are the same.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "ElementTypes.h"
#include "GraphImporter.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Support/ConstantMemory.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Values behind more ops are not computed at the import.
static constexpr size_t kMostOps = 10000;

/// The ops that compute `value` from constants alone, in their order; none if it depends on inputs.
static std::optional<SmallVector<Operation *>> findOps(Value value) {
  llvm::SmallSetVector<Operation *, 16> ops;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !isa<nn::NNDialect>(op->getDialect()) || op->getNumRegions() ||
        op->getBlock() != value.getParentBlock() || ops.size() == kMostOps)
      return std::nullopt;
    if (ops.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  SmallVector<Operation *> sorted(ops.begin(), ops.end());
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// A network without inputs whose result is `value`.
static OwningOpRef<ModuleOp> makeNetwork(Value value, ArrayRef<Operation *> ops) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(value.getLoc());
  OpBuilder builder(module->getBodyRegion());
  auto function = func::FuncOp::create(builder, value.getLoc(), "main",
                                       builder.getFunctionType({}, value.getType()));
  function.setResultAttr(0, nn::kNameAttr, builder.getStringAttr("value"));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  func::ReturnOp::create(builder, value.getLoc(), mapping.lookup(value));
  return module;
}

HostTensorRef GraphImporter::evaluate(Value value) {
  if (auto only = findOnlyValue(value))
    return std::make_shared<HostTensor>(std::move(*only));
  if (!options.evaluate)
    return nullptr;
  auto type = cast<RankedTensorType>(value.getType());
  auto ops = findOps(value);
  if (!ops || !(type.getElementType().isF32() || isa<IntegerType>(type.getElementType())) ||
      !countElements(type.getShape(), kMaxConstantElements))
    return nullptr;
  auto counted = computed.add(type.getNumElements());
  if (!counted)
    return nullptr;
  ScopedDiagnosticHandler silent(builder.getContext(), [](Diagnostic &) { return success(); });
  auto bytes = options.evaluate(*makeNetwork(value, *ops));
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return nullptr;
  }
  onnx::TensorProto tensor;
  tensor.set_data_type(getOnnxType(type.getElementType()));
  for (int64_t size : type.getShape())
    tensor.add_dims(size);
  tensor.set_raw_data(bytes->data(), bytes->size());
  HostTensor known = *cantFail(reader.read(tensor));
  known.counted = counted;
  return std::make_shared<HostTensor>(std::move(known));
}

bool GraphImporter::evaluateInputs(const onnx::NodeProto &proto, MutableArrayRef<Entry> inputs) {
  bool isAny = false;
  for (auto [name, input] : llvm::zip(proto.input(), inputs)) {
    if (!input.value || input.integers)
      continue;
    if (HostTensorRef tensor = evaluate(input.value)) {
      entries[name] = input = Entry{tensor, {}};
      isAny = true;
    }
  }
  return isAny;
}

static void collectValues(const Entry &entry, DenseSet<Value> &values) {
  values.insert(entry.value);
  if (entry.masked)
    values.insert(entry.masked->mask);
  if (entry.sequence)
    for (const Entry &element : *entry.sequence)
      collectValues(element, values);
}

/// What the node before computed of constants, and the constants that nothing else reads.
void GraphImporter::dropFolded() {
  if (folded.empty())
    return;
  DenseSet<Value> read; // by nodes that follow
  for (auto &[name, entry] : entries)
    collectValues(entry, read);
  while (!folded.empty()) {
    Operation *op = folded.pop_back_val();
    if (!op || !op->use_empty() || read.contains(op->getResult(0)))
      continue;
    SmallVector<Operation *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(operand.getDefiningOp());
    if (HostTensorRef tensor = getConstant(op->getResult(0))) {
      constants.erase(tensor.get());
      llvm::erase(keptAlive, tensor);
    }
    StoredConstants stored = getStoredConstants(op);
    op->erase();
    freeConstants(stored);
    folded.insert_range(operands);
  }
}

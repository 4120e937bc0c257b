//===- LowerObservers.cpp - observers as code of upstream dialects --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Leave.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "octet/Quantize/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_LOWEROBSERVERSPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

static constexpr StringLiteral kPrinter = "octet_print_statistics";
/// Numbers of all kinds of states, and vectors of them, are read where they lie.
static constexpr int64_t kStateAlignment = 64;

static Value emitIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

//===----------------------------------------------------------------------===//
// The statistics' place, and their way out
//===----------------------------------------------------------------------===//

static std::string getStateName(StringRef observer) { return ("octet_state_" + observer).str(); }

static MemRefType getStateType(MLIRContext *context, const ObserverState &state) {
  return MemRefType::get({(int64_t)state.bytes.size()}, IntegerType::get(context, 8));
}

static Value emitState(OpBuilder &builder, Location loc, StringRef observer,
                       const ObserverState &state) {
  return memref::GetGlobalOp::create(builder, loc, getStateType(builder.getContext(), state),
                                     getStateName(observer));
}

/// Fails, with an error emitted, if the module has such a symbol.
static LogicalResult checkName(ModuleOp module, StringRef name) {
  Operation *other = module.lookupSymbol(name);
  return other ? other->emitOpError("has the name ")
                     << quote(name) << ", which octet-lower-observers gives to what it makes"
                     << Remedy("rename it")
               : success();
}

/// A global with the initial statistics.
static LogicalResult addState(ModuleOp module, StringRef observer, const ObserverState &state) {
  std::string name = getStateName(observer);
  if (failed(checkName(module, name)))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MemRefType type = getStateType(module.getContext(), state);
  auto initial = DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get(type.getShape(), type.getElementType()), state.bytes);
  memref::GlobalOp::create(builder, module.lookupSymbol(observer)->getLoc(), name,
                           builder.getStringAttr("private"), type, initial, /*constant=*/false,
                           builder.getI64IntegerAttr(kStateAlignment));
  return success();
}

/// Prints `octet.observer @x #octet.min_max<…> statistics dense<[…]> : tensor<8xi8>`.
static void emitPrint(OpBuilder &builder, Location loc, ObserverOp observer,
                      const ObserverState &state) {
  auto print = [&](const Twine &text) {
    vector::PrintOp::create(builder, loc, StringRef(text.str()));
  };
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "octet.observer " << FlatSymbolRefAttr::get(observer) << " " << observer.getObserver();
  print(text + " statistics dense<[");
  Value bytes = emitState(builder, loc, observer.getSymName(), state),
        last = emitIndex(builder, loc, state.bytes.size() - 1);
  auto printByte = [&](OpBuilder &b, Value index, vector::PrintPunctuation behind) {
    vector::PrintOp::create(b, loc, memref::LoadOp::create(b, loc, bytes, index), behind);
  };
  scf::ForOp::create(builder, loc, emitIndex(builder, loc, 0), last, emitIndex(builder, loc, 1),
                     ValueRange(), [&](OpBuilder &b, Location loc, Value index, ValueRange) {
                       printByte(b, index, vector::PrintPunctuation::Comma);
                       scf::YieldOp::create(b, loc);
                     });
  printByte(builder, last, vector::PrintPunctuation::NoPunctuation);
  print("]> : tensor<" + Twine(state.bytes.size()) + "xi8>\n");
}

/// The function that prints a file of statistics.
static LogicalResult addPrinter(ModuleOp module, const Statistics &statistics) {
  if (failed(checkName(module, kPrinter)))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, module.getLoc(), kPrinter, builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (auto &[symbol, state] : statistics)
    emitPrint(builder, module.getLoc(), module.lookupSymbol<ObserverOp>(symbol), state);
  func::ReturnOp::create(builder, module.getLoc());
  return success();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// Whether an observer may see a tensor in parts: what it has seen merges, it measures ranges, and
/// each channel of known number is in all parts.
static bool takesParts(ObserverAttrInterface observer, RankedTensorType type,
                       const ObserverState &initial) {
  std::optional<int64_t> channelAxis = observer.getSpec().channelAxis;
  if (channelAxis && *channelAxis < type.getRank() && type.isDynamicDim(*channelAxis))
    return false;
  SmallVector<char> state(initial.bytes.begin(), initial.bytes.end());
  SmallVector<float, 0> zeros(initial.observed.getNumElements());
  observer.updateState(initial.observed, zeros, state);
  SmallVector<char> same = state;
  return observer.getSpec().dtype && succeeded(observer.mergeState(initial.observed, state, same));
}

/// Loops over the dimensions whose size is known at run time only, and copies what is at one index
/// of them to a buffer of known size.
static void emitUpdateOfParts(OpBuilder &builder, Location loc, ObserverAttrInterface observer,
                              RankedTensorType observed, Value data, Value state) {
  auto type = cast<MemRefType>(data.getType());
  auto partType = MemRefType::get(observed.getShape(), type.getElementType());
  Value part = memref::AllocOp::create(builder, loc, partType);
  SmallVector<Value> low, high, steps;
  for (auto [axis, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size)) {
      low.push_back(emitIndex(builder, loc, 0));
      high.push_back(memref::DimOp::create(builder, loc, data, axis));
      steps.push_back(emitIndex(builder, loc, 1));
    }
  scf::buildLoopNest(
      builder, loc, low, high, steps, [&](OpBuilder &b, Location loc, ValueRange at) {
        SmallVector<OpFoldResult> offsets, sizes, strides(type.getRank(), b.getIndexAttr(1));
        for (int64_t size : type.getShape()) {
          bool isDynamic = ShapedType::isDynamic(size);
          offsets.push_back(isDynamic ? OpFoldResult(at.front()) : OpFoldResult(b.getIndexAttr(0)));
          sizes.push_back(b.getIndexAttr(isDynamic ? 1 : size));
          at = at.drop_front(isDynamic ? 1 : 0);
        }
        Value seen = memref::SubViewOp::create(b, loc, data, offsets, sizes, strides);
        memref::CopyOp::create(b, loc, seen, part);
        observer.emitUpdate(b, loc, observed, part, state);
      });
  memref::DeallocOp::create(builder, loc, part);
}

static LogicalResult lowerObserve(ObserveOp op, ObserverOp observer, const ObserverState &state) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getInput().getType());
  ObserverAttrInterface kind = observer.getObserver();
  if (!type.hasStaticShape() && !takesParts(kind, type, state))
    return op.emitOpError("observes ")
           << type << ", which " << kind << " cannot see in parts"
           << Remedy("give the operator an observer whose statistics merge, or infer the shapes");
  Value data = bufferization::ToBufferOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()), op.getInput(),
      /*read_only=*/true);
  Value bytes = emitState(builder, loc, op.getObserver(), state);
  if (type.hasStaticShape())
    kind.emitUpdate(builder, loc, type, data, bytes);
  else
    emitUpdateOfParts(builder, loc, kind, op.getObservedType(), data, bytes);
  return success();
}

namespace {
struct LowerObservers : octet::impl::LowerObserversPassBase<LowerObservers> {
  void runOnOperation() override {
    if (failed(lower()) || failed(removeOctet(getOperation())) ||
        failed(checkNothingLeft(getOperation())))
      signalPassFailure();
  }

  LogicalResult lower() {
    ModuleOp module = getOperation();
    WalkResult inside = module.walk([&](ObserveOp op) {
      if (op->getParentOfType<ModuleOp>() == module)
        return WalkResult::advance();
      op.emitOpError("stands in a module inside of this one")
          << Remedy("run octet-lower-observers on the inner module");
      return WalkResult::interrupt();
    });
    if (inside.wasInterrupted())
      return failure();
    Statistics statistics = initStatistics(module);
    for (auto &[symbol, state] : llvm::reverse(statistics))
      if (failed(addState(module, symbol, state)))
        return failure();
    if (failed(addPrinter(module, statistics)))
      return failure();
    WalkResult result = module.walk([&](ObserveOp op) {
      auto known = statistics.find(op.getObserver().str());
      bool isSeen = known != statistics.end() && !getConstantElements(op.getInput()) &&
                    op.getObservedType().getNumElements() > 0;
      if (isSeen && failed(lowerObserve(op, module.lookupSymbol<ObserverOp>(op.getObserver()),
                                        known->second)))
        return WalkResult::interrupt();
      numObserved += isSeen;
      op.replaceAllUsesWith(op.getInput());
      op.erase();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace

//===- MergeKernels.cpp - kernels of one structure become one -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outline.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "octet/Codegen/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace octet {
#define GEN_PASS_DEF_MERGEKERNELSPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using codegen::Outline;

/// A marked function (memory..., begin, end) -> ().
static bool isMergeable(func::FuncOp func) {
  ArrayRef<Type> types = func.getArgumentTypes();
  return func->hasAttr(kMergeableAttr) && !func.isExternal() && func.getNumResults() == 0 &&
         types.size() >= 2 &&
         llvm::all_of(types.take_back(2), [](Type type) { return type.isIndex(); });
}

namespace {

/// Functions of one structure.
struct Group {
  SmallVector<func::FuncOp> functions;
  SmallVector<SmallVector<arith::ConstantOp>>
      bounds; ///< of each function, in the order of the structure
};

/// Of every function that becomes part of another: that other, and the bounds to call it with.
using Replacements = llvm::StringMap<std::pair<func::FuncOp, SmallVector<int64_t>>>;

/// See Passes.td.
struct MergeKernels : octet::impl::MergeKernelsPassBase<MergeKernels> {
  using MergeKernelsPassBase::MergeKernelsPassBase;

  void runOnOperation() override {
    std::map<std::vector<const void *>, Group> groups;
    SmallVector<Group *> inOrder;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!isMergeable(func))
        continue;
      Outline outline(func);
      Group &group = groups[std::move(outline.structure)];
      if (group.functions.empty())
        inOrder.push_back(&group);
      group.functions.push_back(func);
      group.bounds.push_back(std::move(outline.bounds));
    }
    Replacements replacements;
    for (Group *group : inOrder)
      if (group->functions.size() > 1)
        merge(*group, replacements);
    for (auto program : getOperation().getOps<kernel::ProgramOp>())
      for (auto step : program.getBody().getOps<kernel::StepOp>())
        if (auto it = replacements.find(step.getKernel()); it != replacements.end()) {
          step.setKernel(it->second.first.getSymName());
          step.setBounds(it->second.second);
        }
  }

private:
  void merge(Group &group, Replacements &replacements);
  void widenMemory(Group &group);
};

} // namespace

/// k where `column` is k times `parameter` in every row, or 0.
static int64_t getFactor(ArrayRef<int64_t> column, ArrayRef<int64_t> parameter) {
  if (parameter[0] == 0 || column[0] % parameter[0] != 0)
    return 0;
  int64_t factor = column[0] / parameter[0];
  for (auto [value, base] : llvm::zip(column, parameter))
    if (value != factor * base)
      return 0;
  return factor;
}

/// The first function takes the largest memory that any of them gets.
void MergeKernels::widenMemory(Group &group) {
  Block &entry = group.functions[0].getBody().front();
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    int64_t extent = 0;
    for (func::FuncOp func : group.functions)
      extent = std::max(
          extent,
          cast<MemRefType>(func.getArgument(argument.getArgNumber()).getType()).getDimSize(0));
    argument.setType(MemRefType::get({extent}, type.getElementType()));
  }
}

void MergeKernels::merge(Group &group, Replacements &replacements) {
  func::FuncOp kept = group.functions[0];
  widenMemory(group);
  SmallVector<SmallVector<int64_t>> parameters; // [parameter][function]
  SmallVector<Value> arguments;
  ImplicitLocOpBuilder b(kept.getLoc(), kept.getContext());
  Block &entry = kept.getBody().front();
  for (size_t i = 0; i < group.bounds[0].size(); ++i) {
    auto column = llvm::map_to_vector(group.bounds, [&](const auto &bounds) {
      arith::ConstantOp constant = bounds[i];
      return cast<IntegerAttr>(constant.getValue()).getInt();
    });
    if (llvm::all_equal(column))
      continue;
    Value bound;
    for (size_t p = 0; p < parameters.size() && !bound; ++p)
      if (int64_t factor = getFactor(column, parameters[p])) {
        b.setInsertionPointToStart(&entry);
        bound = factor == 1 ? arguments[p]
                            : arith::MulIOp::create(b, arguments[p],
                                                    arith::ConstantIndexOp::create(b, factor))
                                  .getResult();
      }
    if (!bound) {
      bound = entry.insertArgument(entry.getNumArguments() - 2, b.getIndexType(), kept.getLoc());
      parameters.push_back(column);
      arguments.push_back(bound);
    }
    group.bounds[0][i].replaceAllUsesWith(bound);
    group.bounds[0][i].erase();
  }
  kept.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {}));
  if (ArrayAttr old = kept.getArgAttrsAttr()) {
    SmallVector<Attribute> argAttrs(old.begin(), old.end());
    argAttrs.insert(argAttrs.end() - 2, parameters.size(), b.getDictionaryAttr({}));
    kept.setArgAttrsAttr(b.getArrayAttr(argAttrs));
  }
  if (!kept->hasAttr("passthrough")) // or LLVM unrolls loops whose bounds are arguments now
    kept->setAttr("passthrough", b.getStrArrayAttr({"optsize"}));
  for (auto [number, func] : llvm::enumerate(group.functions)) {
    SmallVector<int64_t> bounds;
    for (ArrayRef<int64_t> parameter : parameters)
      bounds.push_back(parameter[number]);
    replacements[func.getSymName()] = {kept, bounds};
    if (number > 0) {
      func.erase();
      ++numMerged;
    }
  }
}

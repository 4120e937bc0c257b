//===- StoredGather.cpp - rows of a table in few bits ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredRows.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Each index takes a row, which is dequantized on the way to the result.
static LogicalResult emitStoredGather(ProgramEmitter &emitter, GroupOp group,
                                      DequantizeWeightsOp weights, nn::GatherOp gather) {
  Value indices = group.getOuter(gather.getIndices());
  RankedTensorType indexType = getTensorType(indices), type = getTensorType(group.getResult());
  Strides at = getStrides(indexType), to = getStrides(type);
  SmallVector<int64_t> shape(indexType.getShape()), from(at.steps), steps(to.steps);
  int64_t columnStep = steps.pop_back_val();
  if (shape.empty()) {
    shape.push_back(1);
    from.push_back(0);
    steps.push_back(0);
  }
  Signature signature(emitter);
  StoredRows rows(signature, group, weights);
  int index = signature.add(emitter.getBuffer(indices)),
      target = signature.add(emitter.getBuffer(group.getResult())),
      status = signature.add(emitter.getStatus());
  emitter.addStep(group, kernel::Kernels::gather_stored, signature.arguments, shape[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    emitLoopNest(b, shape, begin, end, [&](ValueRange i) {
                      Value number = b.load(args[index], b.linearIndex(i, from, at.offset));
                      Value row = getPosition(b, number, rows.rows(), args[status]);
                      Value first = b.linearIndex(i, steps, to.offset);
                      rows.forEach(b, args, row, [&](Value column, Value values) {
                        Value place = b.addIndex(first, b.mulIndex(column, columnStep));
                        if (b.lanes == 1 || columnStep == 1)
                          return b.store(values, args[target], place);
                        for (int64_t lane = 0; lane < b.lanes; ++lane) {
                          Value one = vector::ExtractOp::create(b, values, lane);
                          memref::StoreOp::create(b, one, args[target],
                                                  b.addIndex(place, b.index(lane * columnStep)));
                        }
                      });
                    });
                  });
  return success();
}

LogicalResult codegen::emitStored(ProgramEmitter &emitter, GroupOp group) {
  auto weights = *group.getBody().getOps<DequantizeWeightsOp>().begin();
  Operation *reader = group.getYielded().getDefiningOp();
  auto isConstant = [&](Value operand) {
    return group.getOuter(operand).getDefiningOp<nn::ConstantOp>();
  };
  bool isMatrix = llvm::all_of(weights->getOperands(), isConstant) &&
                  weights.getWeights().getType().getRank() == 2;
  if (auto gather = dyn_cast_or_null<nn::GatherOp>(reader);
      gather && isMatrix && gather.getAxis() == 0)
    return emitStoredGather(emitter, group, weights, gather);
  if (auto linear = dyn_cast_or_null<nn::LinearOp>(reader);
      linear && isMatrix && (!linear.getBias() || isConstant(linear.getBias()))) {
    emitStoredLinear(emitter, group, weights, linear);
    return success();
  }
  return group.emitOpError("has no kernel that reads such weights as they are stored; see the "
                           "rows of Kernels.def");
}

//===- ProductLoops.cpp - convolution and linear layers as plain loops ----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The path that takes every shape: one element at a time, in the order of [N.conv] and [N.linear].
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "Windows.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// Numbers of the arguments that all products have.
struct ProductArguments {
  int input, filter, bias = -1;
};
} // namespace

static ProductArguments addProductArguments(Signature &signature, const FusedOp &fused) {
  ProductArguments arguments;
  arguments.input = signature.addTensor(fused.getInput());
  arguments.filter = signature.addTensor(fused.getOuter(fused.product->getOperand(1)));
  if (fused.product->getNumOperands() > 2 && !hasFloatBias(fused)) // that is the epilogue's
    arguments.bias = signature.addTensor(fused.getOuter(fused.product->getOperand(2)));
  return arguments;
}

/// The accumulator before the first tap: integers start with the bias.
static Value initAccumulator(KernelBuilder &b, const TensorView *bias, bool isInteger,
                             Value channel) {
  if (!isInteger)
    return b.constF(0);
  return bias ? b.load(bias->memory, channel) : b.constI(0);
}

/// The accumulator behind the last tap: floats end with the bias.
static Value finishAccumulator(KernelBuilder &b, const TensorView *bias, bool isInteger,
                               Value channel, Value acc) {
  return bias && !isInteger ? b.add(acc, b.load(bias->memory, channel)) : acc;
}

/// acc + x * w: exact integers [N.accumulate], or one fused multiply-add.
static Value accumulate(KernelBuilder &b, const TensorView &input, ValueRange inputIndices,
                        const TensorView &filter, ValueRange filterIndices, Value acc) {
  Value x = loadRaw(b, input, inputIndices, -1), w = loadRaw(b, filter, filterIndices, -1);
  if (!input.isQuantized())
    return b.fma(x, w, acc);
  Value zeroPoint = loadParameter(b, input.zeroPoints, kZeroPoints, input.axis, inputIndices, -1);
  return b.add(acc, b.mul(b.sub(x, zeroPoint), w));
}

template <>
bool codegen::emitProductAs<kernel::Kernels::conv_loops>(ProgramEmitter &emitter,
                                                         const FusedOp &fused) {
  auto conv = dyn_cast<nn::ConvOp>(fused.product);
  if (!conv || failed(getAddends(fused)))
    return false;
  Signature signature(emitter);
  ProductArguments arguments = addProductArguments(signature, fused);
  Epilogue epilogue(fused, signature);
  auto out = conv.getResult().getType().getShape();
  auto kernel = conv.getFilter().getType().getShape();
  Window rows = getWindow(conv, 0), columns = getWindow(conv, 1);
  int64_t outputsPerGroup = out[1] / conv.getGroups();
  emitter.addStep(
      fused.op, kernel::Kernels::conv_loops, signature.arguments, out[2],
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView input = signature.getTensor(arguments.input, args),
                   filter = signature.getTensor(arguments.filter, args);
        TensorView bias =
            arguments.bias < 0 ? TensorView() : signature.getTensor(arguments.bias, args);
        emitLoopNest(b, {out[2], out[0], out[3], out[1]}, begin, end, [&](ValueRange i) {
          Value oh = i[0], n = i[1], ow = i[2], oc = i[3];
          Taps kh = getTaps(b, rows, oh), kw = getTaps(b, columns, ow);
          Value group = b.createIndex<arith::DivUIOp>(oc, b.index(outputsPerGroup));
          Value firstChannel = b.mulIndex(group, kernel[1]);
          Value acc =
              initAccumulator(b, arguments.bias < 0 ? nullptr : &bias, input.isQuantized(), oc);
          auto perColumn = [&](Value y, Value x, Value acc) {
            return b.loop(b.index(0), b.index(kernel[1]), 1, ValueRange{acc},
                          [&](Value c, ValueRange carried) {
                            Value ih = b.addIndex(kh.origin, b.mulIndex(y, rows.dilation));
                            Value iw = b.addIndex(kw.origin, b.mulIndex(x, columns.dilation));
                            Value ic = b.addIndex(firstChannel, c);
                            return SmallVector<Value>{accumulate(b, input, {n, ic, ih, iw}, filter,
                                                                 {oc, c, y, x}, carried[0])};
                          })[0];
          };
          acc = b.loop(kh.low, kh.high, 1, ValueRange{acc}, [&](Value y, ValueRange carried) {
            return b.loop(kw.low, kw.high, 1, carried, [&](Value x, ValueRange inner) {
              return SmallVector<Value>{perColumn(y, x, inner[0])};
            });
          })[0];
          acc = finishAccumulator(b, arguments.bias < 0 ? nullptr : &bias, input.isQuantized(), oc,
                                  acc);
          epilogue.emitAndStore(b, args, acc, {n, oc, oh, ow}, -1);
        });
      });
  return true;
}

template <>
bool codegen::emitProductAs<kernel::Kernels::linear_loops>(ProgramEmitter &emitter,
                                                           const FusedOp &fused) {
  auto linear = dyn_cast<nn::LinearOp>(fused.product);
  if (!linear || failed(getAddends(fused)))
    return false;
  Signature signature(emitter);
  ProductArguments arguments = addProductArguments(signature, fused);
  Epilogue epilogue(fused, signature);
  SmallVector<int64_t> out(linear.getResult().getType().getShape());
  int64_t depth = linear.getFilter().getType().getDimSize(1);
  // Outputs first: they are what the step's range splits.
  SmallVector<int64_t> shape{out.back()};
  shape.append(out.begin(), out.end() - 1);
  emitter.addStep(fused.op, kernel::Kernels::linear_loops, signature.arguments, out.back(),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    TensorView input = signature.getTensor(arguments.input, args),
                               filter = signature.getTensor(arguments.filter, args);
                    TensorView bias = arguments.bias < 0
                                          ? TensorView()
                                          : signature.getTensor(arguments.bias, args);
                    emitLoopNest(b, shape, begin, end, [&](ValueRange i) {
                      Value o = i[0];
                      SmallVector<Value> indices(i.drop_front());
                      Value acc = initAccumulator(b, arguments.bias < 0 ? nullptr : &bias,
                                                  input.isQuantized(), o);
                      acc = b.loop(b.index(0), b.index(depth), 1, ValueRange{acc},
                                   [&](Value k, ValueRange carried) {
                                     SmallVector<Value> inputIndices(indices);
                                     inputIndices.push_back(k);
                                     return SmallVector<Value>{accumulate(
                                         b, input, inputIndices, filter, {o, k}, carried[0])};
                                   })[0];
                      acc = finishAccumulator(b, arguments.bias < 0 ? nullptr : &bias,
                                              input.isQuantized(), o, acc);
                      indices.push_back(o);
                      epilogue.emitAndStore(b, args, acc, indices, -1);
                    });
                  });
  return true;
}

//===- QuantizedOperators.cpp - operators that read and write integers ---- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// QLinearX is dequantize, X, quantize: the operators that octet-lower makes integer ones of.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "Quantization.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Numerics/Requantize.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using onnx::TensorProto;
using quant::QuantizedType;

using Import = LogicalResult (*)(Node &);

/// The element type of the integers of an input.
static int32_t getElementType(const Entry &entry) {
  if (entry.tensor)
    return entry.tensor->type;
  QuantizedType type = getQuantizedType(entry);
  return type ? getElementType(type) : TensorProto::UINT8;
}

/// `reals` as the node's result, with the parameters of `inputs`; integers have the type of input
/// `like` where no zero point says another.
static LogicalResult setQuantized(Node &node, FailureOr<Entry> reals, ParameterInputs inputs,
                                  unsigned like) {
  if (failed(reals))
    return failure();
  Shape shape = reals->tensor ? Shape(reals->tensor->shape) : Shape(shapeOf(reals->value));
  auto type = readQuantizedType(
      node, inputs, node.has(inputs.zeroPoint) ? 0 : getElementType(node.entry(like)), shape);
  if (failed(type))
    return failure();
  if (type->getStorageTypeIntegralWidth() != 8)
    return refuseIntegers(node, octet::onnx_import::getElementType(*type));
  auto integers = quantize(node, *reals, *type);
  return failed(integers) ? failure() : node.setResult(*integers);
}

/// The node as `import` of the real numbers behind `operands`, each with its scale and its zero
/// point in the two inputs behind it; so has the result.
static LogicalResult importBetween(Node &node, Import import, ArrayRef<unsigned> operands,
                                   unsigned resultScale) {
  SmallVector<Entry> reals;
  for (unsigned i : operands) {
    auto real = dequantize(node, node.entry(i), {i + 1, i + 2});
    if (failed(real))
      return failure();
    reals.push_back(*real);
  }
  return setQuantized(node, node.compose(import, reals), {resultScale, resultScale + 1},
                      operands.front());
}

LogicalResult octet::onnx_import::importQLinearAdd(Node &node) {
  return importBetween(node, importAdd, {0, 3}, 6);
}
LogicalResult octet::onnx_import::importQLinearMul(Node &node) {
  return importBetween(node, importMul, {0, 3}, 6);
}
LogicalResult octet::onnx_import::importQLinearAveragePool(Node &node) {
  return importBetween(node, importAveragePool, {0}, 3);
}
LogicalResult octet::onnx_import::importQLinearGlobalAveragePool(Node &node) {
  return importBetween(node, importGlobalAveragePool, {0}, 3);
}
LogicalResult octet::onnx_import::importQLinearSigmoid(Node &node) {
  return importBetween(node, importSigmoid, {0}, 3);
}
LogicalResult octet::onnx_import::importQLinearLeakyRelu(Node &node) {
  return importBetween(node, importLeakyRelu, {0}, 3);
}

/// Like Softmax of the opset that the attribute names.
LogicalResult octet::onnx_import::importQLinearSoftmax(Node &node) {
  int64_t opset = node.getInt("opset", node.opset());
  if ((opset < 13) != (node.opset() < 13))
    return node.unsupported("attribute opset=" + Twine(opset));
  return importBetween(node, importSoftmax, {0}, 3);
}

/// The result's parameters come first; then three inputs for each operand.
LogicalResult octet::onnx_import::importQLinearConcat(Node &node) {
  if (node.numInputs() % 3 != 2)
    return node.invalid("has " + Twine(node.numInputs()) +
                        " inputs; expected two and three for each operand");
  SmallVector<unsigned> operands;
  for (unsigned i = 2; i < node.numInputs(); i += 3) {
    if (!node.has(i))
      return node.invalid("lacks its input " + Twine(i));
    operands.push_back(i);
  }
  return importBetween(node, importConcat, operands, 0);
}

/// Both operands have their own parameters.
LogicalResult octet::onnx_import::importQLinearWhere(Node &node) {
  auto yes = dequantize(node, node.entry(1), {2, 3}), no = dequantize(node, node.entry(4), {5, 6});
  if (failed(yes) || failed(no))
    return failure();
  return setQuantized(node, node.compose(importWhere, {node.entry(0), *yes, *no}), {7, 8}, 1);
}

/// Tables, scale and bias are quantized; their scales lie behind the mask, their zero points behind
/// these.
LogicalResult octet::onnx_import::importQEmbedLayerNormalization(Node &node) {
  constexpr unsigned kFirst = 2, kMask = 7, kScales = 8, kZeroPoints = 13;
  SmallVector<Entry> reals;
  for (unsigned i = 0; i <= kMask && i < node.numInputs(); ++i) {
    bool isQuantized = i >= kFirst && i < kMask && node.has(i);
    unsigned parameter = i - kFirst;
    auto real = isQuantized ? dequantize(node, node.entry(i),
                                         {kScales + parameter, kZeroPoints + parameter})
                            : FailureOr<Entry>(node.has(i) ? node.entry(i) : Entry());
    if (failed(real))
      return failure();
    reals.push_back(*real);
  }
  auto results = node.composeAll(importEmbedLayerNormalization, reals);
  return failed(results) ? failure() : node.setResults(*results);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Input `i`, a constant of INT32, as the real numbers of a bias: at the scale of the product of
/// inputs with these real numbers, times `factor`.
static FailureOr<Entry> dequantizeBias(Node &node, unsigned i, unsigned inputScale,
                                       unsigned weightScale, float factor = 1) {
  const HostTensor *bias = node.constant(i);
  if (!bias)
    return node.unsupported("a bias computed at run time");
  if (bias->type != TensorProto::INT32 || !bias->isInteger())
    return node.invalid("has a bias of another type than INT32");
  auto input = node.scalar(inputScale, "the input's scale");
  auto weights = node.floats(weightScale, "the weights' scale");
  if (failed(input) || failed(weights))
    return failure();
  numerics::QuantParams params;
  for (float scale : *weights)
    params.scales.push_back(numerics::accumulatorScale(*input, scale) * factor);
  params.zeroPoints.assign(weights->size(), 0);
  params.axis = weights->size() > 1 ? (int64_t)bias->shape.size() - 1 : -1;
  if (params.axis >= 0 && bias->shape[params.axis] != (int64_t)weights->size())
    return node.invalid("has a bias of shape " + printShape(bias->shape) + " and " +
                        Twine(weights->size()) + " scales of weights");
  auto type = makeQuantizedType(node, TensorProto::INT32, params);
  return failed(type) ? FailureOr<Entry>() : dequantize(node, *bias, *type);
}

/// With `isLast`, channels are the last dimension of input and result.
static LogicalResult importQuantizedConv(Node &node, bool isLast) {
  auto input = dequantize(node, node.entry(0), {1, 2});
  auto weights = dequantize(node, node.entry(3), {4, 5});
  if (failed(input) || failed(weights))
    return failure();
  if (isLast)
    input = moveChannels(node, *input, /*toLast=*/false);
  if (failed(input))
    return failure();
  SmallVector<Entry> reals{*input, *weights};
  if (node.has(8)) {
    auto bias = dequantizeBias(node, 8, 1, 4);
    if (failed(bias))
      return failure();
    reals.push_back(*bias);
  }
  auto result = node.compose(importConv, reals);
  if (succeeded(result) && isLast)
    result = moveChannels(node, *result, /*toLast=*/true);
  return setQuantized(node, result, {6, 7}, 0);
}

LogicalResult octet::onnx_import::importQLinearConv(Node &node) {
  return importQuantizedConv(node, /*isLast=*/false);
}
LogicalResult octet::onnx_import::importChannelsLastQLinearConv(Node &node) {
  return importQuantizedConv(node, node.getInt("channels_last", 0));
}

/// Scales of rows of the first matrix and of columns of the second.
LogicalResult octet::onnx_import::importQLinearMatMul(Node &node) {
  auto lhs = dequantize(node, node.entry(0), {1, 2, std::max<int64_t>(0, node.rank(0) - 2)});
  auto rhs = dequantize(node, node.entry(3), {4, 5, std::max<int64_t>(0, node.rank(3) - 1)});
  if (failed(lhs) || failed(rhs))
    return failure();
  return setQuantized(node, node.compose(importMatMul, {*lhs, *rhs}), {6, 7}, 0);
}

/// Without a scale of the result, that is real.
LogicalResult octet::onnx_import::importQGemm(Node &node) {
  auto lhs = dequantize(node, node.entry(0), {1, 2});
  auto rhs = dequantize(node, node.entry(3), {4, 5, node.getInt("transB", 0) ? 0 : 1});
  if (failed(lhs) || failed(rhs))
    return failure();
  SmallVector<Entry> reals{*lhs, *rhs};
  if (node.has(6)) {
    auto bias = dequantizeBias(node, 6, 1, 4, node.getFloat("alpha", 1));
    if (failed(bias))
      return failure();
    reals.push_back(*bias);
  }
  auto result = node.compose(importGemm, reals);
  if (node.has(7) || failed(result))
    return setQuantized(node, result, {7, 8}, 0);
  return node.setResult(*result);
}

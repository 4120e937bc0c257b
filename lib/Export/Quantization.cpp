//===- Quantization.cpp - constants and QDQ pairs in ONNX -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphWriter.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;
using namespace octet::exporter;
using quant::QuantizedType;

void exporter::writeConstant(GraphWriter &writer, nn::ConstantOp op) {
  RankedTensorType type = op.getResult().getType();
  StringRef name = nn::getConstantName(op);
  bool quantized = isa<QuantizedType>(type.getElementType());
  // octet-convert distinguishes its blobs from the source's by their storage type.
  if (quantized)
    (void)(name.consume_back(".i8") || name.consume_back(".i32"));
  std::string unique = writer.addInitializer((name + (quantized ? "_quantized" : "")).str(),
                                             getDataType(type.getElementType()), type.getShape(),
                                             nn::getConstantBytes(op));
  writer.setName(op.getResult(), unique);
}

/// Little-endian storage values of `type`'s width.
static std::vector<char> pack(QuantizedType type, ArrayRef<int64_t> values) {
  std::vector<char> bytes;
  for (int64_t value : values)
    for (unsigned bit = 0; bit < type.getStorageTypeIntegralWidth(); bit += 8)
      bytes.push_back(static_cast<char>(value >> bit));
  return bytes;
}

/// Adds scale and zero point and returns the inputs of the (de)quantizing node on `tensor`. A
/// 32-bit zero point, which is always zero, is omitted.
static SmallVector<std::string> addParams(GraphWriter &writer, const std::string &tensor,
                                          const std::string &base, QuantizedType type) {
  numerics::QuantParams params = numerics::getParams(type);
  SmallVector<int64_t> zeroPoints(params.zeroPoints.begin(), params.zeroPoints.end()), shape;
  if (params.axis >= 0)
    shape.push_back(zeroPoints.size());
  SmallVector<std::string> inputs{tensor, shape.empty()
                                              ? writer.addScalar(base + "_scale", params.scales[0])
                                              : writer.addFloats(base + "_scale", params.scales)};
  if (type.getStorageTypeIntegralWidth() != 32)
    inputs.push_back(writer.addInitializer(base + "_zero_point", getDataType(type), shape,
                                           pack(type, zeroPoints)));
  return inputs;
}

/// Opset 20 has integers of 16 bits in the operators of com.microsoft alone.
static void setDomainAndAxis(Node node, QuantizedType type) {
  if (type.getStorageTypeIntegralWidth() == 16)
    node.domain(kMicrosoft);
  if (int64_t axis = numerics::getChannelAxis(type); axis >= 0)
    node.attribute("axis", axis);
}

/// ONNX opset 13 quantizes to 8 bits and dequantizes 32 bits as well; com.microsoft has 16 bits.
static LogicalResult checkStorage(Operation *op, QuantizedType type) {
  unsigned width = type.getStorageTypeIntegralWidth();
  if (width == 8 || (width == 32 && isa<DequantizeOp>(op)) ||
      (width == 16 && !type.hasStorageTypeBounds()))
    return success();
  return op->emitOpError("has a storage type that the ONNX file cannot say: ")
         << type << Remedy("use 8-bit storage");
}

LogicalResult exporter::writeQuantize(GraphWriter &writer, QuantizeOp op) {
  auto type =
      cast<QuantizedType>(cast<RankedTensorType>(op.getResult().getType()).getElementType());
  if (failed(checkStorage(op, type)))
    return failure();
  std::string base = writer.nameOf(op.getInput()),
              output = writer.nameResult(op, base + "_quantized");
  bool narrow = type.hasStorageTypeBounds();
  std::string wide = narrow ? writer.makeUnique(base + "_unclamped") : output;
  setDomainAndAxis(writer.addNode("QuantizeLinear", addParams(writer, base, base, type), wide),
                   type);
  if (narrow) {
    auto bound = [&](StringRef name, int64_t value) {
      return writer.addInitializer(base + name.str(), getDataType(type), {}, pack(type, value));
    };
    writer.addNode(
        "Clip",
        {wide, bound("_low", type.getStorageTypeMin()), bound("_high", type.getStorageTypeMax())},
        output);
  }
  return success();
}

LogicalResult exporter::writeDequantize(GraphWriter &writer, DequantizeOp op) {
  auto type = cast<QuantizedType>(cast<RankedTensorType>(op.getInput().getType()).getElementType());
  if (failed(checkStorage(op, type)))
    return failure();
  std::string tensor = writer.nameOf(op.getInput());
  StringRef base = tensor;
  base.consume_back("_quantized");
  std::string output = writer.nameResult(op, (base + "_dequantized").str());
  setDomainAndAxis(
      writer.addNode("DequantizeLinear", addParams(writer, tensor, output, type), output), type);
  return success();
}

/// Opset 20 has no integers of 4 bits and no real zero points: a Cast, and arithmetic.
LogicalResult exporter::writeDequantizeWeights(GraphWriter &writer, DequantizeWeightsOp op) {
  if (op.getBlock())
    return op.emitOpError("has scales in blocks, which the ONNX file cannot say")
           << Remedy("fold its weights first, with --octet-fold-constants");
  std::string output = writer.nameResult(op, writer.nameOf(op.getWeights()) + "_dequantized");
  std::string real = op.getScales() ? writer.makeUnique(output + "_stored") : output;
  writer.addNode("Cast", {writer.nameOf(op.getWeights())}, real)
      .attribute("to", int64_t(onnx::TensorProto::FLOAT));
  if (!op.getScales())
    return success();
  if (op.getZeroPoints()) {
    std::string distance = writer.makeUnique(output + "_distance");
    writer.addNode("Sub", {real, writer.nameOf(op.getZeroPoints())}, distance);
    real = distance;
  }
  writer.addNode("Mul", {real, writer.nameOf(op.getScales())}, output);
  return success();
}

//===- Operators.cpp - nn ops as ONNX nodes -------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphWriter.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::exporter;

//===----------------------------------------------------------------------===//
// Ops that are one node with the same operands
//===----------------------------------------------------------------------===//

/// The ONNX attribute and its value of an op that has one form of several, or empty.
static std::pair<StringRef, StringRef> getForm(Operation *op) {
  using Pair = std::pair<StringRef, StringRef>;
#define OCTET_ONNX_UNARY_FORM(name, op, form, attribute, values)                                   \
  .Case([](nn::op typed) { return Pair(attribute, nn::stringifyEnum(typed.getForm())); })
  return llvm::TypeSwitch<Operation *, Pair>(op)
#include "octet/Dialect/NN/OnnxNames.def"
      .Default(Pair());
}

/// Bits and truth values have different operators.
static StringRef chooseBits(RankedTensorType type, StringRef ofTruths, StringRef ofBits) {
  return type.getElementType().isInteger(1) ? ofTruths : ofBits;
}

/// The ONNX operator of an op without attributes or with that of its form, or empty.
static StringRef getPlainOperator(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
#define OCTET_ONNX_UNARY(name, op) .Case([](nn::op) { return #name; })
#define OCTET_ONNX_UNARY_FORM(name, op, ...) .Case([](nn::op) { return #name; })
#include "octet/Dialect/NN/OnnxNames.def"
      .Case([](nn::SqrtOp) { return "Sqrt"; })
      .Case([](nn::NegOp) { return "Neg"; })
      .Case([](nn::FloorOp) { return "Floor"; })
      .Case([](nn::CeilOp) { return "Ceil"; })
      .Case([](nn::AddOp) { return "Add"; })
      .Case([](nn::SubOp) { return "Sub"; })
      .Case([](nn::MulOp) { return "Mul"; })
      .Case([](nn::DivOp) { return "Div"; })
      .Case([](nn::MaxOp) { return "Max"; })
      .Case([](nn::MinOp) { return "Min"; })
      .Case([](nn::PowOp) { return "Pow"; })
      .Case([](nn::PreluOp) { return "PRelu"; })
      .Case([](nn::MatmulOp) { return "MatMul"; })
      .Case([](nn::ModOp) { return "Mod"; })
      .Case([&](nn::AndOp and_) { return chooseBits(and_.getType(), "And", "BitwiseAnd"); })
      .Case([&](nn::OrOp or_) { return chooseBits(or_.getType(), "Or", "BitwiseOr"); })
      .Case([&](nn::XorOp xor_) { return chooseBits(xor_.getType(), "Xor", "BitwiseXor"); })
      .Case([&](nn::NotOp not_) { return chooseBits(not_.getType(), "Not", "BitwiseNot"); })
      .Case([](nn::CompareOp compare) {
        static constexpr StringLiteral names[] = {"Equal", "Less", "LessOrEqual"};
        return names[static_cast<int>(compare.getPredicate())];
      })
      .Case([](nn::SelectOp) { return "Where"; })
      .Default([](Operation *) { return ""; });
}

//===----------------------------------------------------------------------===//
// Ops with attributes, one function each
//===----------------------------------------------------------------------===//

static void write(GraphWriter &writer, nn::ConvOp op) {
  writer.addNode(op, "Conv")
      .attribute("kernel_shape", op.getFilter().getType().getShape().drop_front(2))
      .attribute("strides", op.getStrides())
      .attribute("pads", op.getPads())
      .attribute("dilations", op.getDilations())
      .attribute("group", static_cast<int64_t>(op.getGroups()));
}

/// Gemm is for matrices; other ranks are written with a transposed filter.
static void write(GraphWriter &writer, nn::LinearOp op) {
  if (op.getInput().getType().getRank() == 2) {
    writer.addNode(op, "Gemm").attribute("transB", int64_t(1));
    return;
  }
  std::string filter = writer.makeUnique(writer.nameOf(op.getFilter()) + "_transposed");
  writer.addNode("Transpose", writer.nameOf(op.getFilter()), filter)
      .attribute("perm", ArrayRef<int64_t>{1, 0});
  SmallVector<std::string> inputs{writer.nameOf(op.getInput()), filter};
  if (!op.getBias()) {
    writer.addNode(op, "MatMul", inputs);
    return;
  }
  std::string product = writer.makeUnique((getName(op) + "_product").str());
  writer.addNode("MatMul", inputs, product);
  writer.addNode(op, "Add", {product, writer.nameOf(op.getBias())});
}

/// Omits dilations of 1: onnxruntime's fused integer pools do not support the attribute.
template <typename PoolOp> static Node writePool(GraphWriter &writer, PoolOp op, StringRef type) {
  Node node = writer.addNode(op, type)
                  .attribute("kernel_shape", op.getKernel())
                  .attribute("strides", op.getStrides())
                  .attribute("pads", op.getPads());
  bool isDilated = llvm::any_of(op.getDilations(), [](int64_t dilation) { return dilation != 1; });
  return isDilated ? node.attribute("dilations", op.getDilations()) : node;
}

static void write(GraphWriter &writer, nn::MaxPoolOp op) { writePool(writer, op, "MaxPool"); }
static void write(GraphWriter &writer, nn::AvgPoolOp op) {
  writePool(writer, op, "AveragePool")
      .attribute("count_include_pad", int64_t(op.getCountIncludePad()));
}

static void write(GraphWriter &writer, nn::BatchNormOp op) {
  writer.addNode(op, "BatchNormalization").attribute("epsilon", op.getEpsilon().convertToFloat());
}

template <typename ReduceOp>
static void writeReduction(GraphWriter &writer, ReduceOp op, StringRef type) {
  std::string axes = writer.addInts((getName(op) + "_axes").str(), op.getAxes());
  writer.addNode(op, type, {writer.nameOf(op.getInput()), axes})
      .attribute("keepdims", int64_t(op.getKeepDims()));
}
static void write(GraphWriter &writer, nn::ReduceMeanOp op) {
  writeReduction(writer, op, "ReduceMean");
}
static void write(GraphWriter &writer, nn::ReduceSumOp op) {
  writeReduction(writer, op, "ReduceSum");
}
static void write(GraphWriter &writer, nn::ReduceMaxOp op) {
  writeReduction(writer, op, "ReduceMax");
}
static void write(GraphWriter &writer, nn::ReduceMinOp op) {
  writeReduction(writer, op, "ReduceMin");
}
static void write(GraphWriter &writer, nn::ReduceProdOp op) {
  writeReduction(writer, op, "ReduceProd");
}

static void write(GraphWriter &writer, nn::SoftmaxOp op) {
  writer.addNode(op, "Softmax").attribute("axis", static_cast<int64_t>(op.getAxis()));
}

static void write(GraphWriter &writer, nn::ClipOp op) {
  std::string low = writer.addScalar((getName(op) + "_min").str(), op.getMin().convertToFloat());
  std::string high = writer.addScalar((getName(op) + "_max").str(), op.getMax().convertToFloat());
  writer.addNode(op, "Clip", {writer.nameOf(op.getInput()), low, high});
}

static void write(GraphWriter &writer, nn::LeakyReluOp op) {
  writer.addNode(op, "LeakyRelu").attribute("alpha", op.getAlpha().convertToFloat());
}

static void write(GraphWriter &writer, nn::ThresholdedReluOp op) {
  writer.addNode(op, "ThresholdedRelu").attribute("alpha", op.getAlpha().convertToFloat());
}

static void write(GraphWriter &writer, nn::EluOp op) {
  writer.addNode(op, "Elu").attribute("alpha", op.getAlpha().convertToFloat());
}

static void write(GraphWriter &writer, nn::HardSigmoidOp op) {
  writer.addNode(op, "HardSigmoid")
      .attribute("alpha", op.getAlpha().convertToFloat())
      .attribute("beta", op.getBeta().convertToFloat());
}

/// ONNX has no SiLU: x * sigmoid(x).
static void write(GraphWriter &writer, nn::SiluOp op) {
  std::string input = writer.nameOf(op.getInput()),
              sigmoid = writer.makeUnique((getName(op) + "_sigmoid").str());
  writer.addNode("Sigmoid", input, sigmoid);
  writer.addNode(op, "Mul", {input, sigmoid});
}

static void write(GraphWriter &writer, nn::ConcatOp op) {
  writer.addNode(op, "Concat").attribute("axis", static_cast<int64_t>(op.getAxis()));
}

static void writeResultCast(GraphWriter &writer, Operation *op, const std::string &from) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  writer.addNode(op, "Cast", from)
      .attribute("to", static_cast<int64_t>(getDataType(type.getElementType())));
}

static void write(GraphWriter &writer, nn::CastOp op) {
  writer.addNode(op, "Cast")
      .attribute("to", static_cast<int64_t>(getDataType(op.getType().getElementType())));
}

/// A tensor of another type, for a node of `op`.
static std::string writeCast(GraphWriter &writer, Operation *op, const std::string &from,
                             onnx::TensorProto::DataType type) {
  std::string to = writer.makeUnique((getName(op) + "_cast").str());
  writer.addNode("Cast", from, to).attribute("to", static_cast<int64_t>(type));
  return to;
}

/// A number of 64 bits shifted; ONNX does so with numbers that have no sign.
static std::string writeShift(GraphWriter &writer, Operation *op, const std::string &number,
                              Value count, StringRef direction) {
  constexpr auto type = onnx::TensorProto::UINT64;
  std::string shifted = writer.makeUnique((getName(op) + "_shifted").str());
  writer
      .addNode(
          "BitShift",
          {writeCast(writer, op, number, type), writeCast(writer, op, writer.nameOf(count), type)},
          shifted)
      .attribute("direction", direction);
  return writeCast(writer, op, shifted, onnx::TensorProto::INT64);
}

static void write(GraphWriter &writer, nn::ShiftLeftOp op) {
  std::string number = writer.nameOf(op.getLhs());
  writeResultCast(writer, op, writeShift(writer, op, number, op.getRhs(), "LEFT"));
}

/// The bits of a negative number are complemented before and behind.
static void write(GraphWriter &writer, nn::ShiftRightOp op) {
  auto add = [&](StringRef type, ArrayRef<std::string> inputs) {
    std::string result = writer.makeUnique((getName(op) + "_" + type).str());
    writer.addNode(type, inputs, result);
    return result;
  };
  std::string number = writeCast(writer, op, writer.nameOf(op.getLhs()), onnx::TensorProto::INT64),
              zero = writer.addInts((getName(op) + "_zero").str(), {0}),
              ones = writer.addInts((getName(op) + "_ones").str(), {-1});
  std::string sign = add("Where", {add("Less", {number, zero}), ones, zero});
  std::string shifted =
      writeShift(writer, op, add("BitwiseXor", {number, sign}), op.getRhs(), "RIGHT");
  writeResultCast(writer, op, add("BitwiseXor", {shifted, sign}));
}

static void write(GraphWriter &writer, nn::GatherOp op) {
  writer.addNode(op, "Gather").attribute("axis", static_cast<int64_t>(op.getAxis()));
}

/// Tuples of one index each.
static void write(GraphWriter &writer, nn::ScatterOp op) {
  static constexpr StringLiteral names[] = {"none", "add", "mul", "max", "min"};
  std::string shape =
      writer.addInts((getName(op) + "_tuples").str(), {op.getIndices().getType().getDimSize(0), 1});
  std::string tuples = writer.makeUnique((getName(op) + "_indices").str());
  writer.addNode("Reshape", {writer.nameOf(op.getIndices()), shape}, tuples);
  writer
      .addNode(op, "ScatterND",
               {writer.nameOf(op.getData()), tuples, writer.nameOf(op.getUpdates())})
      .attribute("reduction", names[static_cast<int>(op.getCombination())]);
}

static void write(GraphWriter &writer, nn::ReduceOp op) {
  static constexpr StringLiteral names[] = {"", "ReduceSum", "ReduceProd", "ReduceMax",
                                            "ReduceMin"};
  writeReduction(writer, op, names[static_cast<int>(op.getCombination())]);
}

static void write(GraphWriter &writer, nn::CumulativeSumOp op) {
  int64_t axis = op.getAxis();
  std::string number =
      writer.addInitializer((getName(op) + "_axis").str(), onnx::TensorProto::INT64, {},
                            {reinterpret_cast<char *>(&axis), sizeof(axis)});
  writer.addNode(op, "CumSum", {writer.nameOf(op.getInput()), number})
      .attribute("exclusive", int64_t(op.getExclusive()));
}

static void write(GraphWriter &writer, nn::TopKOp op) {
  std::string k = writer.addInts((getName(op) + "_k").str(), static_cast<int64_t>(op.getK()));
  writer.addNode(op, "TopK", {writer.nameOf(op.getInput()), k})
      .attribute("largest", int64_t(!op.getSmallest()))
      .addFirstOutput(writer.makeUnique((getName(op) + "_values").str()));
}

/// The value to pad with, in the type of the elements.
static std::string addFilling(GraphWriter &writer, nn::PadOp op) {
  std::string name = (getName(op) + "_value").str();
  Type element = op.getType().getElementType();
  float value = op.getValue().convertToFloat();
  if (nn::holdsReals(op.getType()))
    return writer.addScalar(name, value);
  SmallVector<char, 8> bytes;
  for (unsigned bit = 0; bit < std::max(8u, element.getIntOrFloatBitWidth()); bit += 8)
    bytes.push_back(static_cast<char>(static_cast<int64_t>(value) >> bit));
  return writer.addInitializer(name, getDataType(element), {}, bytes);
}

static void write(GraphWriter &writer, nn::PadOp op) {
  SmallVector<int64_t> pads(op.getLow());
  llvm::append_range(pads, op.getHigh());
  std::string widths = writer.addInts((getName(op) + "_pads").str(), pads);
  writer.addNode(op, "Pad", {writer.nameOf(op.getInput()), widths, addFilling(writer, op)})
      .attribute("mode", StringRef("constant"));
}

/// An end before element 0 of a backward slice is far below zero: -1 would mean the last element.
static void write(GraphWriter &writer, nn::SliceOp op) {
  SmallVector<int64_t> ends, axes;
  for (auto [axis, start, size, step] :
       llvm::enumerate(op.getStarts(), op.getSizes(), op.getSteps())) {
    int64_t end = start + size * step;
    ends.push_back(end < 0 ? std::numeric_limits<int32_t>::min() : end);
    axes.push_back(axis);
  }
  auto add = [&](StringRef what, ArrayRef<int64_t> values) {
    return writer.addInts((getName(op) + what).str(), values);
  };
  std::string starts = add("_starts", op.getStarts()), last = add("_ends", ends),
              dims = add("_axes", axes);
  writer.addNode(op, "Slice",
                 {writer.nameOf(op.getInput()), starts, last, dims, add("_steps", op.getSteps())});
}

static void write(GraphWriter &writer, nn::ReshapeOp op) {
  std::string shape =
      writer.addInts((getName(op) + "_shape").str(), op.getResult().getType().getShape());
  writer.addNode(op, "Reshape", {writer.nameOf(op.getInput()), shape});
}

static void write(GraphWriter &writer, nn::TransposeOp op) {
  writer.addNode(op, "Transpose").attribute("perm", op.getPermutation());
}

/// Scales are more precise than sizes (half-pixel coordinates use them), unless they give other
/// sizes.
static void write(GraphWriter &writer, nn::ResizeOp op) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  ArrayRef<float> factors = op.getScales();
  bool scalesGiveSizes = llvm::all_of(llvm::seq(2), [&](int i) {
    return static_cast<int64_t>(std::floor(shape[2 + i] * factors[i])) == op.getSize()[i];
  });
  SmallVector<std::string> inputs{writer.nameOf(op.getInput()), ""};
  if (scalesGiveSizes) {
    inputs.push_back(
        writer.addFloats((getName(op) + "_scales").str(), {1.0f, 1.0f, factors[0], factors[1]}));
  } else {
    inputs.push_back("");
    inputs.push_back(
        writer.addInts((getName(op) + "_sizes").str(), op.getResult().getType().getShape()));
  }
  writer.addNode(op, "Resize", inputs)
      .attribute("mode", nn::stringifyResizeMode(op.getMode()))
      .attribute("coordinate_transformation_mode", nn::stringifyCoordinateMode(op.getCoordinates()))
      .attribute("nearest_mode", nn::stringifyNearestMode(op.getNearest()));
}

LogicalResult exporter::writeOperator(GraphWriter &writer, Operation *op) {
  bool quantized = llvm::any_of(
      llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()), [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && isa<quant::QuantizedType>(tensor.getElementType());
      });
  if (quantized)
    return op->emitOpError("stands on quantized types")
           << Remedy("export the reference model, before octet-lower");
  if (StringRef type = getPlainOperator(op); !type.empty()) {
    auto node = writer.addNode(op, type);
    if (auto [attribute, value] = getForm(op); !attribute.empty())
      node.attribute(attribute, value);
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<nn::ConvOp, nn::LinearOp, nn::MaxPoolOp, nn::AvgPoolOp, nn::BatchNormOp,
            nn::ReduceMeanOp, nn::ReduceSumOp, nn::ReduceMaxOp, nn::ReduceMinOp, nn::ReduceProdOp,
            nn::SoftmaxOp, nn::ClipOp, nn::LeakyReluOp, nn::ThresholdedReluOp, nn::EluOp,
            nn::HardSigmoidOp, nn::SiluOp, nn::ConcatOp, nn::PadOp, nn::SliceOp, nn::ReshapeOp,
            nn::TransposeOp, nn::ResizeOp, nn::CastOp, nn::ShiftLeftOp, nn::ShiftRightOp,
            nn::GatherOp, nn::ScatterOp, nn::ReduceOp, nn::CumulativeSumOp, nn::TopKOp>(
          [&](auto typed) {
            write(writer, typed);
            return success();
          })
      .Default([](Operation *other) { return other->emitOpError("has no ONNX operator"); });
}

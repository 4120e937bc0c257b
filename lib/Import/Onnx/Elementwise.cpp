//===- Elementwise.cpp - arithmetic, activations, softmax --------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
/// The four operations on constants; integers wrap around.
struct Plus {
  template <typename T> T operator()(T a, T b) const { return a + b; }
  int64_t operator()(int64_t a, int64_t b) const { return (int64_t)((uint64_t)a + (uint64_t)b); }
};
struct Minus {
  template <typename T> T operator()(T a, T b) const { return a - b; }
  int64_t operator()(int64_t a, int64_t b) const { return (int64_t)((uint64_t)a - (uint64_t)b); }
};
struct Times {
  template <typename T> T operator()(T a, T b) const { return a * b; }
  int64_t operator()(int64_t a, int64_t b) const { return (int64_t)((uint64_t)a * (uint64_t)b); }
};
/// Integers round towards zero; the divisor is not zero (checked before).
struct Over {
  template <typename T> T operator()(T a, T b) const { return a / b; }
  int64_t operator()(int64_t a, int64_t b) const {
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
  }
};
} // namespace

/// Computes an element-wise operation on two constants of one type.
template <typename Function> static LogicalResult foldBinary(Node &node, Function function) {
  const HostTensor &lhs = *node.constant(0), &rhs = *node.constant(1);
  auto shape = broadcast(lhs.shape, rhs.shape);
  if (!shape || lhs.data.index() != rhs.data.index())
    return node.invalid("has inputs of shape " + printShape(lhs.shape) + " and " +
                        printShape(rhs.shape) + " that do not broadcast or differ in their type");
  if (!countElements(*shape, kMaxConstantElements))
    return node.unsupported("a computed constant of shape " + printShape(*shape));
  if (std::is_same_v<Function, Over> && rhs.isInteger() && llvm::is_contained(*rhs.integers(), 0))
    return node.invalid("divides an integer by zero");
  HostTensor left = broadcastTo(lhs, *shape), right = broadcastTo(rhs, *shape);
  std::visit(
      [&](auto &values) {
        const auto &others = *std::get_if<std::decay_t<decltype(values)>>(&right.data);
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = function(values[i], others[i]);
      },
      left.data);
  return node.setResult(std::move(left));
}

template <typename OpTy, typename Function>
static LogicalResult importBinary(Node &node, Function function) {
  if (node.allConstant())
    return foldBinary(node, function);
  auto lhs = node.value(0), rhs = node.value(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  return node.setResult(node.create<OpTy>(*lhs, *rhs));
}

LogicalResult octet::onnx_import::importAdd(Node &node) {
  return importBinary<nn::AddOp>(node, Plus());
}
LogicalResult octet::onnx_import::importSub(Node &node) {
  return importBinary<nn::SubOp>(node, Minus());
}
LogicalResult octet::onnx_import::importMul(Node &node) {
  return importBinary<nn::MulOp>(node, Times());
}
LogicalResult octet::onnx_import::importDiv(Node &node) {
  return importBinary<nn::DivOp>(node, Over());
}

/// Added from the first input on.
LogicalResult octet::onnx_import::importSum(Node &node) {
  if (node.numInputs() == 2)
    return importAdd(node);
  FailureOr<Value> sum = node.value(0);
  if (failed(sum))
    return failure();
  for (unsigned i = 1; i < node.numInputs(); ++i) {
    FailureOr<Value> next = node.value(i);
    if (failed(next) || failed(sum = node.create<nn::AddOp>(*sum, *next)))
      return failure();
  }
  return node.setResult(*sum);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// Computes a function that IEEE defines exactly (no library function) on a constant.
template <typename Function> static LogicalResult foldUnary(Node &node, Function function) {
  HostTensor result = *node.constant(0);
  std::visit(
      [&](auto &values) {
        for (auto &value : values)
          value = function(value);
      },
      result.data);
  return node.setResult(std::move(result));
}

template <typename OpTy, typename... Parameters>
static LogicalResult importUnary(Node &node, Parameters... parameters) {
  auto input = node.value(0);
  if (failed(input))
    return failure();
  return node.setResult(node.create<OpTy>(*input, node.builder().getF32FloatAttr(parameters)...));
}

#define OCTET_ONNX_UNARY(name, op)                                                                 \
  LogicalResult octet::onnx_import::import##name(Node &node) { return importUnary<nn::op>(node); }
#include "octet/Dialect/NN/OnnxNames.def"

LogicalResult octet::onnx_import::importSqrt(Node &node) {
  if (!node.constant(0) || node.constant(0)->isInteger())
    return importUnary<nn::SqrtOp>(node);
  return foldUnary(node, [](auto value) { return (decltype(value))std::sqrt(value); });
}

/// 1 / x.
LogicalResult octet::onnx_import::importReciprocal(Node &node) {
  if (node.constant(0) && !node.constant(0)->isInteger())
    return foldUnary(node, [](auto value) { return Over()((decltype(value))1, value); });
  auto input = node.value(0);
  auto one = node.materialize({node.proto.output(0) + "/one", {}, std::vector<float>{1}});
  if (failed(input) || failed(one))
    return failure();
  return node.setResult(node.create<nn::DivOp>(*one, *input));
}

LogicalResult octet::onnx_import::importNeg(Node &node) {
  if (!node.constant(0))
    return importUnary<nn::NegOp>(node);
  return foldUnary(node, [](auto value) { return Times()(value, (decltype(value))-1); });
}

LogicalResult octet::onnx_import::importGelu(Node &node) {
  auto input = node.value(0);
  if (failed(input))
    return failure();
  bool isTanh = node.getString("approximate", "none") == "tanh";
  return node.setResult(
      node.create<nn::GeluOp>(*input, isTanh ? nn::GeluForm::tanh : nn::GeluForm::exact));
}

LogicalResult octet::onnx_import::importHardSigmoid(Node &node) {
  return importUnary<nn::HardSigmoidOp>(node, node.getFloat("alpha", 0.2f),
                                        node.getFloat("beta", 0.5f));
}

LogicalResult octet::onnx_import::importLeakyRelu(Node &node) {
  return importUnary<nn::LeakyReluOp>(node, node.getFloat("alpha", 0.01f));
}

LogicalResult octet::onnx_import::importElu(Node &node) {
  return importUnary<nn::EluOp>(node, node.getFloat("alpha", 1.0f));
}

/// One slope for all channels is a leaky relu.
LogicalResult octet::onnx_import::importPRelu(Node &node) {
  auto slopes = node.floats(1, "a slope");
  if (failed(slopes))
    return failure();
  Shape slopeShape = node.constant(1)->shape, shape = node.shape(0);
  bool fits = slopeShape.size() <= shape.size();
  for (auto [size, of] : llvm::zip(llvm::reverse(slopeShape), llvm::reverse(shape)))
    fits &= size == 1 || size == of;
  if (!fits)
    return node.invalid("has slopes of shape " + printShape(slopeShape) +
                        " for an input of shape " + printShape(shape));
  if (slopes->empty() ||
      llvm::any_of(*slopes, [&](float slope) { return slope != slopes->front(); }))
    return node.unsupported("a slope per channel");
  return importUnary<nn::LeakyReluOp>(node, slopes->front());
}

/// Bounds are attributes up to opset 10, optional inputs from 11 on. Without an upper bound, [0,
/// inf) is relu.
LogicalResult octet::onnx_import::importClip(Node &node) {
  float infinity = std::numeric_limits<float>::infinity();
  float bounds[] = {node.getFloat("min", -infinity), node.getFloat("max", infinity)};
  for (unsigned i = 0; i < 2; ++i) {
    if (!node.has(i + 1))
      continue;
    auto bound = node.scalar(i + 1, i ? "an upper bound" : "a lower bound");
    if (failed(bound))
      return failure();
    bounds[i] = *bound;
  }
  if (std::isnan(bounds[0]) || std::isnan(bounds[1]))
    return node.invalid("has a bound that is not a number");
  bool hasUpper = bounds[1] < std::numeric_limits<float>::max();
  if (bounds[0] == 0 && !hasUpper)
    return importUnary<nn::ReluOp>(node);
  if (bounds[0] <= std::numeric_limits<float>::lowest() && !hasUpper)
    return node.setResult(node.entry(0));
  return importUnary<nn::ClipOp>(node, bounds[0], bounds[1]);
}

/// Up to opset 12, softmax runs over all dimensions from `axis` (default 1) on as if they were one.
LogicalResult octet::onnx_import::importSoftmax(Node &node) {
  Shape shape = node.shape(0);
  bool flattens = node.opset() < 13;
  auto axis = node.normalizeAxis(node.getInt("axis", flattens ? 1 : -1), shape.size());
  auto input = node.value(0);
  if (failed(axis) || failed(input))
    return failure();
  int64_t columns = *countElements(ShapeRef(shape).drop_front(*axis));
  if (!flattens || columns == shape[*axis])
    return node.setResult(node.create<nn::SoftmaxOp>(*input, *axis));
  Value rows = node.reshape(*input, {*countElements(shape) / columns, columns});
  auto result = node.create<nn::SoftmaxOp>(rows, 1);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

//===----------------------------------------------------------------------===//
// Rounding and casts: of constants
//===----------------------------------------------------------------------===//

LogicalResult octet::onnx_import::importFloor(Node &node) {
  if (!node.constant(0))
    return node.unsupported("an input computed at run time");
  return foldUnary(node, [](auto value) { return (decltype(value))std::floor(value); });
}

LogicalResult octet::onnx_import::importCeil(Node &node) {
  if (!node.constant(0))
    return node.unsupported("an input computed at run time");
  return foldUnary(node, [](auto value) { return (decltype(value))std::ceil(value); });
}

/// C++ leaves conversions out of range undefined; here they saturate.
template <typename To, typename From> static To castValue(From value) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (!(value > -9.2e18))
      return std::isnan(value) ? 0 : INT64_MIN;
    return value < 9.2e18 ? (To)value : INT64_MAX;
  }
  return (To)value;
}

template <typename To> static HostTensor castTensor(const HostTensor &tensor) {
  HostTensor result{tensor.name, tensor.shape, {}};
  std::visit(
      [&](const auto &values) {
        std::vector<To> cast;
        for (auto value : values)
          cast.push_back(castValue<To>(value));
        result.data = std::move(cast);
      },
      tensor.data);
  return result;
}

LogicalResult octet::onnx_import::importCast(Node &node) {
  using Proto = onnx::TensorProto;
  int64_t to = node.getInt("to", 0);
  const HostTensor *tensor = node.constant(0);
  if (!tensor)
    return to == Proto::FLOAT ? node.setResult(node.entry(0))
                              : node.unsupported("attribute to=" + Twine(to));
  if (to == Proto::FLOAT)
    return node.setResult(castTensor<float>(*tensor));
  if (to == Proto::DOUBLE)
    return node.setResult(castTensor<double>(*tensor));
  HostTensor integers = castTensor<int64_t>(*tensor);
  auto &values = *std::get_if<std::vector<int64_t>>(&integers.data);
  if (to == Proto::INT32) {
    for (int64_t &value : values)
      value = (int32_t)value;
  } else if (to == Proto::BOOL) {
    HostTensor wide = castTensor<double>(*tensor);
    for (auto [value, source] : llvm::zip(values, *std::get_if<std::vector<double>>(&wide.data)))
      value = source != 0;
  } else if (to != Proto::INT64) {
    return node.unsupported("attribute to=" + Twine(to));
  }
  return node.setResult(std::move(integers));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Squares, cubes and square roots.
LogicalResult octet::onnx_import::importPow(Node &node) {
  const HostTensor *constant = node.constant(1);
  if (!constant)
    return node.unsupported("an exponent computed at run time");
  HostTensor exponent = castTensor<float>(*constant);
  float power = exponent.size() == 1 ? exponent.floats()->front() : 0;
  if (exponent.shape.size() > node.shape(0).size() ||
      !llvm::is_contained({0.5f, 2.0f, 3.0f}, power))
    return node.unsupported("an exponent other than 0.5, 2 and 3");
  if (power == 0.5f)
    return importSqrt(node);
  auto input = node.value(0);
  if (failed(input))
    return failure();
  auto square = node.create<nn::MulOp>(*input, *input);
  if (failed(square) || power == 2)
    return node.setResult(square);
  return node.setResult(node.create<nn::MulOp>(*square, *input));
}

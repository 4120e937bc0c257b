//===- Elementwise.cpp - arithmetic, roots, powers, casts --------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "ElementTypes.h"
#include "Operators.h"
#include "Quantization.h"
#include "TensorReader.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
/// The operations on constants; integers wrap around.
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
/// As nn.max and nn.min.
struct Larger {
  template <typename T> T operator()(T a, T b) const { return a != a || a > b ? a : b; }
};
struct Lesser {
  template <typename T> T operator()(T a, T b) const { return a != a || a < b ? a : b; }
};
} // namespace

static int64_t wrapIfInteger(int64_t value, int32_t type) { return wrapInteger(value, type); }
static float wrapIfInteger(float value, int32_t) { return value; }
static double wrapIfInteger(double value, int32_t) { return value; }

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
          values[i] = wrapIfInteger(function(values[i], others[i]), left.type);
      },
      left.data);
  return node.setResult(std::move(left));
}

template <typename OpTy, typename Function>
static LogicalResult importBinary(Node &node, Function function) {
  if (node.allConstant())
    return foldBinary(node, function);
  return node.setResult(node.compute<OpTy>(node.any(0), node.any(1)));
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

/// All inputs combined, from the first on.
template <typename OpTy> static MaybeValue combineInputs(Node &node) {
  MaybeValue result = node.any(0);
  for (unsigned i = 1; i < node.numInputs(); ++i)
    result = node.compute<OpTy>(result, node.any(i));
  return result;
}

/// Two constants are combined at once, sizes in the arithmetic of shapes.
template <typename OpTy, typename Function>
static LogicalResult importVariadic(Node &node, Function function) {
  return node.numInputs() == 2 ? importBinary<OpTy>(node, function)
                               : node.setSmallComputed(combineInputs<OpTy>(node));
}

LogicalResult octet::onnx_import::importSum(Node &node) {
  return importVariadic<nn::AddOp>(node, Plus());
}
LogicalResult octet::onnx_import::importMax(Node &node) {
  return importVariadic<nn::MaxOp>(node, Larger());
}
LogicalResult octet::onnx_import::importMin(Node &node) {
  return importVariadic<nn::MinOp>(node, Lesser());
}

LogicalResult octet::onnx_import::importMean(Node &node) {
  auto sum = combineInputs<nn::AddOp>(node);
  if (node.numInputs() == 1)
    return node.setResult(sum);
  return node.setResult(node.compute<nn::DivOp>(sum, node.number("count", node.numInputs())));
}

//===----------------------------------------------------------------------===//
// Operators of one value
//===----------------------------------------------------------------------===//

/// Computes a function that IEEE defines exactly (no library function) on a constant.
template <typename Function> static LogicalResult foldUnary(Node &node, Function function) {
  HostTensor result = *node.constant(0);
  std::visit(
      [&](auto &values) {
        for (auto &value : values)
          value = wrapIfInteger(function(value), result.type);
      },
      result.data);
  return node.setResult(std::move(result));
}

/// Whether the input is a constant without elements: so is the result.
static bool readsNothing(const Node &node) {
  return node.constant(0) && node.constant(0)->size() == 0;
}

/// The integers of a value that are not below 0.
static MaybeValue rectifyIntegers(Node &node, Value integers) {
  auto zero = node.cast(integerConstant(node, "zero", {}, {0}), getElementTypeOrSelf(integers));
  return node.compute<nn::MaxOp>(MaybeValue(integers), zero);
}

template <typename OpTy> static LogicalResult importUnary(Node &node) {
  if (readsNothing(node))
    return node.setResult(HostTensor(*node.constant(0)));
  Value value = node.entry(0).value;
  if (std::is_same_v<OpTy, nn::ReluOp> && value && !nn::holdsReals(value.getType()))
    return node.setResult(rectifyIntegers(node, value));
  constexpr bool takesIntegers = OpTy::template hasTrait<nn::OfOneKind>();
  return node.setSmallComputed(node.compute<OpTy>(takesIntegers ? node.any(0) : node.value(0)));
}

/// The attribute's value is one of the table's, which the enumeration has.
template <typename OpTy, typename Form>
static LogicalResult importForm(Node &node, StringRef attribute) {
  if (readsNothing(node))
    return node.setResult(HostTensor(*node.constant(0)));
  auto input = node.value(0);
  auto form = nn::symbolizeEnum<Form>(node.getString(attribute, nn::stringifyEnum(Form())));
  return failed(input) ? failure() : node.setResult(node.create<OpTy>(*input, *form));
}

#define OCTET_ONNX_UNARY(name, op)                                                                 \
  LogicalResult octet::onnx_import::import##name(Node &node) { return importUnary<nn::op>(node); }
#define OCTET_ONNX_UNARY_FORM(name, op, form, attribute, values)                                   \
  LogicalResult octet::onnx_import::import##name(Node &node) {                                     \
    return importForm<nn::op, nn::form>(node, attribute);                                          \
  }
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
  return node.setResult(raiseTo(node, node.value(0), -1));
}

LogicalResult octet::onnx_import::importNeg(Node &node) {
  if (!node.constant(0))
    return importUnary<nn::NegOp>(node);
  return foldUnary(node, [](auto value) { return Times()(value, (decltype(value))-1); });
}

//===----------------------------------------------------------------------===//
// Rounding and casts
//===----------------------------------------------------------------------===//

LogicalResult octet::onnx_import::importFloor(Node &node) {
  if (!node.constant(0))
    return importUnary<nn::FloorOp>(node);
  return foldUnary(node, [](auto value) { return (decltype(value))std::floor(value); });
}

LogicalResult octet::onnx_import::importCeil(Node &node) {
  if (!node.constant(0))
    return importUnary<nn::CeilOp>(node);
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

/// To a TensorProto::DataType.
static LogicalResult importCastTo(Node &node, int32_t to) {
  using Proto = onnx::TensorProto;
  if (node.entry(0).integers || getQuantizedType(node.entry(0)))
    return importCastOfIntegers(node);
  const HostTensor *tensor = node.constant(0);
  Type element = getProgramType(node.builder().getContext(), to);
  if (!element)
    return node.unsupported("a cast to " + printElementType(to));
  if (!tensor) // nn.cast leaves f32 alone
    return node.setResult(node.cast(node.any(0), element));
  if (to == Proto::DOUBLE)
    return node.setResult(castTensor<double>(*tensor));
  if (isa<FloatType>(element))
    return node.setResult(castTensor<float>(*tensor));
  HostTensor integers = castTensor<int64_t>(*tensor);
  integers.type = to;
  auto &values = *std::get_if<std::vector<int64_t>>(&integers.data);
  HostTensor wide = castTensor<double>(*tensor);
  for (auto [value, source] : llvm::zip(values, *std::get_if<std::vector<double>>(&wide.data)))
    value = to == Proto::BOOL ? source != 0 : wrapInteger(value, to);
  return node.setResult(std::move(integers));
}

LogicalResult octet::onnx_import::importCast(Node &node) {
  return importCastTo(node, node.getInt("to", 0));
}

/// To the type of input 1.
LogicalResult octet::onnx_import::importCastLike(Node &node) {
  return importCastTo(node, node.elementType(1));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// x^n for n >= 1 by squares.
static MaybeValue multiply(Node &node, MaybeValue x, int64_t n) {
  if (n == 1)
    return x;
  auto half = multiply(node, x, n / 2);
  auto square = node.compute<nn::MulOp>(half, half);
  return n % 2 ? node.compute<nn::MulOp>(square, x) : square;
}

MaybeValue octet::onnx_import::raiseTo(Node &node, MaybeValue x, float power) {
  constexpr float kMostProducts = 8;
  float magnitude = std::abs(power);
  MaybeValue result = failure();
  if (magnitude >= 1 && magnitude <= kMostProducts && magnitude == std::floor(magnitude))
    result = multiply(node, x, (int64_t)magnitude);
  else if (magnitude == 0.5f)
    result = node.compute<nn::SqrtOp>(x);
  else
    return node.compute<nn::PowOp>(x, node.number("exponent", power));
  return power > 0 ? result : node.compute<nn::DivOp>(node.number("one", 1), result);
}

/// Integers are an exponent's numbers as well.
static MaybeValue getExponent(Node &node) {
  const HostTensor *constant = node.constant(1);
  return constant && constant->isInteger() ? node.materialize(castTensor<float>(*constant))
                                           : node.value(1);
}

/// The exponent of an integer: constants of floats that are whole numbers are such, too.
static MaybeValue getIntegerExponent(Node &node) {
  const HostTensor *constant = node.constant(1);
  auto isWhole = [](float value) { return std::nearbyint(value) == value; };
  if (constant && !constant->isInteger() && llvm::all_of(*constant->floats(), isWhole))
    return node.materialize(castTensor<int64_t>(*constant));
  auto exponent = node.any(1);
  if (succeeded(exponent) && nn::holdsReals(exponent->getType()))
    return node.unsupported("an integer to a power that is none");
  return exponent;
}

/// Integers to a power from 0 to 63 by squares. The lowest six bits of any other one count: 64 bits
/// hold hardly any of these powers. A negative power is 0.
static LogicalResult importIntegerPow(Node &node) {
  auto base = node.any(0), exponent = getIntegerExponent(node);
  if (failed(base) || failed(exponent))
    return failure();
  Type type = getElementTypeOrSelf(*base), wide = node.builder().getI64Type();
  auto number = [&](StringRef role, int64_t value) -> MaybeValue {
    return node.materialize({node.proto.output(0) + "/" + role.str(), {}, std::vector{value}});
  };
  auto isBelow = [&](MaybeValue x, MaybeValue y) {
    return compare(node, nn::Predicate::less, x, y);
  };
  auto square = node.cast(base, wide), count = node.cast(exponent, wide);
  auto zero = number("zero", 0), one = number("one", 1);
  MaybeValue result = one;
  for (int i = 0; i < 6; ++i) {
    auto bit = node.compute<nn::AndOp>(count, number("bit", int64_t(1) << i));
    result = select(node, isBelow(zero, bit), node.compute<nn::MulOp>(result, square), result);
    square = node.compute<nn::MulOp>(square, square);
  }
  auto isQuotient = isBelow(count, zero);
  return node.setResult(node.cast(select(node, isQuotient, zero, result), type));
}

LogicalResult octet::onnx_import::importPow(Node &node) {
  if (node.entry(0).value && !nn::holdsReals(node.entry(0).value.getType()))
    return importIntegerPow(node);
  const HostTensor *constant = node.constant(1);
  if (!constant || constant->size() != 1 || constant->shape.size() > node.shape(0).size())
    return node.setSmallComputed(node.compute<nn::PowOp>(node.value(0), getExponent(node)));
  float power = castTensor<float>(*constant).floats()->front();
  return power == 0.5f ? importSqrt(node)
                       : node.setSmallComputed(raiseTo(node, node.value(0), power));
}

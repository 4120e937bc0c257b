//===- Signature.h - arguments of a kernel function -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_SIGNATURE_H
#define OCTET_LIB_CODEGEN_EMITTERS_SIGNATURE_H

#include "Packing.h"

namespace octet::codegen {

/// Collects a kernel's arguments while a step is planned; names them again inside the
/// body. A quantized tensor brings its parameters along: [scales..., reciprocals..., their
/// rests...], and [low, high, zero points...].
class Signature {
public:
  explicit Signature(ProgramEmitter &emitter) : emitter(emitter) {}

  /// The parameters that are added along with a quantized tensor.
  enum class Parameters { all, integers, none };
  /// Adds a tensor; returns its number.
  int addTensor(mlir::Value value, Parameters parameters = Parameters::all);
  /// Adds the parameters of a quantized tensor that lies in no memory of the program.
  int addParametersOf(mlir::RankedTensorType type) {
    return addTensor(type, /*memory=*/-1, Parameters::all);
  }
  /// Adds constant data; returns its number.
  template <typename T>
  int addWeights(llvm::StringRef key, llvm::function_ref<std::vector<T>()> make) {
    return add(emitter.getWeights<T>(key, make));
  }
  /// Adds parameters, one for each channel, in lanes of blocks of `block` channels, or, for 0, in
  /// natural order with a vector to spare, as lanes may lie behind the last channel; returns their
  /// number. All of a kernel have the same block, and are there when prepareParameters is called.
  int addParameters(llvm::ArrayRef<int32_t> perChannel, int64_t block) {
    return addPerChannel(perChannel, block);
  }
  int addParameters(llvm::ArrayRef<float> perChannel, int64_t block) {
    return addPerChannel(perChannel, block);
  }
  /// ParameterArrays::addShifted and addLeastProducts, of lanes in blocks.
  int addShifted(llvm::ArrayRef<int32_t> sums, bool beginAtLeast, int64_t block);
  int addLeastProducts();
  /// The same for both parts of the reciprocals (numerics::reciprocalRest) of the floats that were
  /// added last; returns the number of the first, behind which the other is.
  int addReciprocals(llvm::ArrayRef<float> perChannel, int64_t block);
  void prepareParameters();
  int add(KernelArgument argument) {
    arguments.push_back(argument);
    return arguments.size() - 1;
  }

  /// Inside the kernel body: a tensor or other argument by its number.
  TensorView getTensor(int number, mlir::ValueRange args) const;
  mlir::Value getValue(int number, mlir::ValueRange args) const { return args[number]; }

  ProgramEmitter &emitter;
  llvm::SmallVector<KernelArgument> arguments;

private:
  template <typename T> int addPerChannel(llvm::ArrayRef<T> perChannel, int64_t block) {
    if (!block)
      return addInNaturalOrder(perChannel);
    if (!parameters)
      parameters.emplace(block);
    parameters->add(perChannel);
    mlir::Builder b = emitter.getBuilder();
    return addArray(std::is_floating_point_v<T> ? (mlir::Type)b.getF32Type()
                                                : (mlir::Type)b.getI32Type());
  }
  template <typename T> int addInNaturalOrder(llvm::ArrayRef<T> perChannel) {
    constexpr size_t kSpare = 16;
    std::string key = "natural/" + std::string(reinterpret_cast<const char *>(perChannel.data()),
                                               perChannel.size() * sizeof(T));
    return addWeights<T>(key, [&] {
      std::vector<T> padded(perChannel.begin(), perChannel.end());
      padded.resize(perChannel.size() + kSpare, T(0));
      return padded;
    });
  }

  int addTensor(mlir::RankedTensorType type, int memory, Parameters parameters);

  /// An argument for the array that was added to the parameters last.
  int addArray(mlir::Type element) {
    arrays.push_back(add({{}, mlir::MemRefType::get({parameters->getPositions()}, element)}));
    return arrays.back();
  }

  struct Tensor {
    mlir::RankedTensorType type;
    int memory, scales = -1, zeroPoints = -1;
    int64_t axis = -1;
  };
  llvm::SmallVector<Tensor> tensors;
  std::optional<ParameterArrays> parameters;
  llvm::SmallVector<int> arrays; ///< the arguments for them, in order
};

/// Offset of the first zero point in the integer block of a quantized tensor.
inline constexpr int64_t kLow = 0, kHigh = 1, kZeroPoints = 2;

/// A scale, zero point or other per-tensor or per-channel parameter at an element: `block[base]` or
/// `block[base + indices[axis]]`, one per lane where the lanes run along the axis.
mlir::Value loadParameter(KernelBuilder &b, mlir::Value block, int64_t base, int64_t axis,
                          mlir::ValueRange indices, int64_t laneAxis);

/// [N.half] Floats of 16 bits (bfloat16, or float16) as f32, and the other way round.
mlir::Value widenHalf(KernelBuilder &b, mlir::Value bits, bool isBrain);
mlir::Value narrowToHalf(KernelBuilder &b, mlir::Value value, bool isBrain);

/// Storage values of `lanes` elements along `laneAxis`, extended to i32 (quantized) or, if they are
/// not quantized, as the laws have them: f32, i64 or i1.
mlir::Value loadRaw(KernelBuilder &b, const TensorView &view, mlir::ValueRange indices,
                    int64_t laneAxis);
void storeRaw(KernelBuilder &b, mlir::Value value, const TensorView &view,
              mlir::ValueRange indices);
/// The same of the first `count` lanes, or of all if there are fewer.
void storeFirst(KernelBuilder &b, int64_t count, mlir::Value value, const TensorView &view,
                mlir::ValueRange indices);
/// Real values: [N.dequantize] for quantized tensors.
mlir::Value loadReal(KernelBuilder &b, const TensorView &view, mlir::ValueRange indices,
                     int64_t laneAxis);
/// Whether sixteen lanes of a quantized tensor are stored by a saturating pack, which is the only
/// clamp.
bool storesPacked(KernelBuilder &b, const TensorView &view);
/// Stores a real value, [N.quantize] for quantized tensors.
void storeReal(KernelBuilder &b, mlir::Value value, const TensorView &view,
               mlir::ValueRange indices, int64_t laneAxis);
/// The storage bounds of bytes, applied behind a pack, where one instruction clamps four times as
/// many values as in front of it. If the zero point is the lower bound, as behind a relu, it is
/// added there to unsigned bytes, too.
struct ByteBounds {
  ByteBounds() = default;
  explicit ByteBounds(const QuantParams &params);

  /// What is packed is without its zero point, which is the lower bound.
  bool addsLow = false;

  /// Bytes from a pack; `bounds`: memory of [low, high].
  mlir::Value clampBytes(KernelBuilder &b, mlir::Value bytes, mlir::Value bounds) const;
  /// The same of i32 lanes that are stored without a pack.
  mlir::Value clampWords(KernelBuilder &b, mlir::Value words, mlir::Value bounds) const;

  /// The zero point, a number of the code where all are -128, as behind a relu of signed bytes.
  mlir::Value getZeroPoint(KernelBuilder &b, llvm::function_ref<mlir::Value()> load) const {
    return hasLeastZeroPoints ? b.constI(-128) : load();
  }

  bool hasLeastZeroPoints = false;
  bool isSigned = false;

private:
  int32_t least() const { return isSigned ? -128 : 0; }
  bool isLowLeast = false, isHighFull = false;
};

/// Parameters of [N.quantize], one per lane or all lanes alike.
struct QuantizeOperands {
  mlir::Value scale;
  std::pair<mlir::Value, mlir::Value> reciprocal; ///< in two parts; null: divide
  mlir::Value zeroPoint, low, high;
  bool isSmall = false;       ///< quotients are proven to be numbers within int32
  bool isWord = false;        ///< so they are, or clamped ones are, within i16, and the zero point
                              ///< may be added there
  bool packSaturates = false; ///< the bounds are the concern of a saturating pack (ByteBounds)
  bool addsZeroPoint = true;  ///< the pack does not (ByteBounds::addsLow)
};
/// [N.quantize] of real values; i32 storage values: clamped to the bounds, or proven to fit
/// (`isSmall`) and clamped behind the rounding or by the pack. With the reciprocal (r, r') of a
/// scale in [2^-80, 2^80], `rne(fma(x, r, fma(x, r', 2^-60)))` is `rne(x / scale)` for all x with
/// |x / scale| < 256, and greater x give integers beyond 255. (Without 2^-60, products of small x
/// would be subnormal, which some CPUs make in microcode; at levels whose CPUs do not, x * r' is
/// not added to it.) Source: Brisebarre and Muller,
/// "Correctly rounded multiplication by arbitrary precision constants", 2008. Proof: for quotients
/// from 1/4 on the sum is within 2^-46 of the quotient, relatively, before its last rounding, so
/// that both round to the same float unless the middle of two floats is that near; and two
/// neighbouring floats round to different integers beside n + 1/2 only. The unit test
/// Quantize.NoQuotientIsTooNearTheMiddleOfTwoFloats goes through all scales and x for which that
/// happens.
mlir::Value quantizeBy(KernelBuilder &b, mlir::Value value, const QuantizeOperands &by);
/// The parameters of a tensor at an element.
QuantizeOperands loadQuantizeOperands(KernelBuilder &b, const TensorView &view,
                                      mlir::ValueRange indices, int64_t laneAxis);
/// [N.quantize] with the parameters of a tensor; `packSaturates` as above.
mlir::Value quantize(KernelBuilder &b, mlir::Value value, const TensorView &view,
                     mlir::ValueRange indices, int64_t laneAxis, bool packSaturates = false);
/// Products with reciprocals in two parts round to the same integers as quotients (quantizeBy).
bool hasReciprocals(const QuantParams &params);
/// So that bytes are stored which, with and without their zero points, are i16 before a clamp that
/// follows one of quotients.
bool fitsInWords(const QuantParams &params);
/// [N.quantize] behind the division: clamp in f32, round, add the zero point; i32 storage values.
mlir::Value roundAndClamp(KernelBuilder &b, mlir::Value scaled, mlir::Value low, mlir::Value high,
                          mlir::Value zeroPoint);
/// 8-bit storage type of i32 lanes.
mlir::Value truncate(KernelBuilder &b, mlir::Value value);
/// Bytes as i32.
mlir::Value extendByte(KernelBuilder &b, mlir::Value byte, bool isSigned);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_SIGNATURE_H

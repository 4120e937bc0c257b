//===- KernelBuilder.h - writes kernel functions ----------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over ImplicitLocOpBuilder: index arithmetic that folds, values of one or of sixteen
// lanes under one spelling, loads and stores of strided tensors.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_KERNELBUILDER_H
#define OCTET_LIB_CODEGEN_KERNELBUILDER_H

#include "Buffers.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace octet::codegen {

/// A tensor inside a kernel function: its memory, shape and strides.
struct TensorView {
  mlir::Value memory; ///< 1-D memref of storage elements
  mlir::RankedTensorType type;
  Strides strides;
  /// Parameters of a quantized tensor as memrefs of one entry or one per channel (null for float
  /// tensors).
  mlir::Value scales, zeroPoints;
  int64_t axis = -1; ///< quantized axis or -1
  /// Where lanes run over several pixels of this many channels: what there is one of per channel
  /// repeats.
  int64_t period = 0;

  TensorView() = default;
  TensorView(mlir::Value memory, mlir::RankedTensorType type)
      : memory(memory), type(type), strides(getStrides(type)) {}
  mlir::ArrayRef<int64_t> shape() const { return type.getShape(); }
  bool isQuantized() const { return codegen::isQuantized(type); }
};

class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  KernelBuilder(mlir::Location loc, mlir::OpBuilder &builder, const CpuLevel &level,
                bool keepsStructure = false)
      : ImplicitLocOpBuilder(loc, builder), level(level), keepsStructure(keepsStructure) {}

  const CpuLevel &level;
  /// The kernel may become one with others that differ in bounds only (octet-merge-kernels): index
  /// arithmetic does not fold, and code that some bounds do not need is there for all.
  const bool keepsStructure;
  /// Lanes that helpers work on.
  int64_t lanes = 1;
  /// So many of `size` elements that lie side by side, at most sixteen, are computed at once.
  static int64_t getLanes(int64_t size) {
    return std::min<int64_t>(16, llvm::bit_floor<uint64_t>(size));
  }
  int64_t registerLanes = 4; ///< of a register that holds what is loaded again
  /// Operands of element-wise ops are known to be numbers (they come from integer accumulators).
  bool valuesAreFinite = false;
  /// The largest magnitude of what is quantized next, in steps, or infinity.
  float quotientBound = std::numeric_limits<float>::infinity();

  // Index arithmetic; constants fold unless the structure is to be kept.
  template <typename OpTy, typename... Args> mlir::Value createIndex(Args &&...args) {
    return keepsStructure ? OpTy::create(*this, args...).getResult() : createOrFold<OpTy>(args...);
  }
  mlir::Value index(int64_t value);
  mlir::Value addIndex(mlir::Value lhs, mlir::Value rhs);
  mlir::Value addIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value mulIndex(mlir::Value lhs, int64_t rhs);
  /// `base + sum of indices[i] * strides[i]`.
  mlir::Value linearIndex(mlir::ValueRange indices, llvm::ArrayRef<int64_t> strides, int64_t base);

  // Types and constants of the current lane count.
  mlir::Type ofLanes(mlir::Type element);
  mlir::Type f32() { return ofLanes(getF32Type()); }
  mlir::Type i32() { return ofLanes(getI32Type()); }
  mlir::Value constF(float value);
  mlir::Value constI(int32_t value);
  mlir::Value splat(mlir::Value scalar);
  /// Bits of an f32 constant.
  mlir::Value constBits(uint32_t bits);

  // Memory: `lanes` consecutive elements.
  mlir::Value load(mlir::Value memory, mlir::Value index);
  void store(mlir::Value value, mlir::Value memory, mlir::Value index);
  /// `load` of what an instruction overwrites, at levels that load it each time.
  mlir::Value reload(mlir::Value memory, mlir::Value index);
  /// Sixteen lanes: four elements each at `index`, `index + stride` and so on.
  mlir::Value loadQuarters(mlir::Value memory, mlir::Value index, int64_t stride);
  mlir::Value reloadQuarters(mlir::Value memory, mlir::Value index, int64_t stride);
  /// Memory of `count` elements for the time of the call.
  mlir::Value allocateOnStack(int64_t count, mlir::Type element);
  /// One element, repeated in all lanes.
  mlir::Value loadSplat(mlir::Value memory, mlir::Value index);
  /// Lane i: element `index + i % period`.
  mlir::Value loadRepeated(mlir::Value memory, mlir::Value index, int64_t period);
  mlir::Value reloadRepeated(mlir::Value memory, mlir::Value index, int64_t period);

  // Arithmetic of the law of numbers, lane by lane.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  /// `value` times a reciprocal in two parts (quantizeBy).
  mlir::Value mulReciprocal(mlir::Value value, mlir::Value reciprocal, mlir::Value rest);
  /// `a > b ? a : b` and `a < b ? a : b` (b where a is NaN).
  mlir::Value maxF(mlir::Value a, mlir::Value b);
  mlir::Value minF(mlir::Value a, mlir::Value b);
  mlir::Value selectLess(mlir::Value a, mlir::Value b, mlir::Value yes, mlir::Value no);
  mlir::Value round(mlir::Value value);   ///< f32 -> i32, ties to even
  mlir::Value toFloat(mlir::Value value); ///< i32 -> f32
  // Conversions by additions: f32 from 2^23 to 2^24 are the integers, with these in their low bits.
  // At levels that convert otherwise, as above.
  /// The middle of these floats and its bits.
  static constexpr float kMiddle = 0x1.8p23f;
  static constexpr int32_t kMiddleBits = 0x4b400000;
  /// Numbers below this magnitude are i16 when they are rounded, also with a zero point of a byte.
  static constexpr float kMostInWord = (1 << 15) - 512;
  /// i32 -> f32, of |value| <= 2^22.
  mlir::Value smallToFloat(mlir::Value value);
  /// f32 -> i32, ties to even, and `zeroPoint` (may be null) added, of values that fit in i16
  /// before and behind the addition; so narrowing them again is no instruction.
  mlir::Value roundToWord(mlir::Value value, mlir::Value zeroPoint);
  /// The same of any value that was computed: NaN gives zero, its low half (cpu.h).
  bool roundsNaNToZero() const { return level.convertsByAdding && lanes == 16; }
  mlir::Value roundNaNToWord(mlir::Value value, mlir::Value zeroPoint);
  /// `maxF` and `minF` of numbers, where a zero may be that of either sign.
  mlir::Value maxNumber(mlir::Value a, mlir::Value b);
  mlir::Value minNumber(mlir::Value a, mlir::Value b);
  mlir::Value bitcast(mlir::Value value, mlir::Type element);
  /// Elements [offset, offset + size) of a vector.
  mlir::Value slice(mlir::Value vector, int64_t offset, int64_t size);
  /// 64 bytes as two vectors of 32 i16: those at even places and the others.
  std::pair<mlir::Value, mlir::Value> widenBytes(mlir::Value bytes, bool isSigned);

  /// for (i = lower; i < upper; i += step)
  void loop(mlir::Value lower, mlir::Value upper, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  void loop(int64_t lower, int64_t upper, llvm::function_ref<void(mlir::Value)> body);
  /// Whole blocks over `size` elements, at least one block: the last one overlaps the one before
  /// where they do not divide.
  void loopOverBlocks(int64_t size, int64_t block, llvm::function_ref<void(mlir::Value)> body);
  /// `i * block`, at most `size - block`: where block i begins.
  mlir::Value getBlock(mlir::Value i, int64_t size, int64_t block);
  /// Of which of `parts` runs of `size` an index is, and where in it.
  std::pair<mlir::Value, mlir::Value> divideIndex(mlir::Value i, int64_t size, int64_t parts);
  /// The indices of element `i` of a shape, in row-major order.
  llvm::SmallVector<mlir::Value> splitIndex(mlir::Value i, llvm::ArrayRef<int64_t> shape);
  /// `first`, a multiple of `block`, or where the last whole block begins if that is before it (0
  /// if there is none).
  mlir::Value clampBlock(mlir::Value first, int64_t size, int64_t block);
  /// for (i = lower; i < upper; i += step) with carried values.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
};

/// Brings alike pieces of code into step: the first vector operation of each, then the second of
/// each, and so on; what is scalar, the places they are about, goes before. Of long chains one
/// behind the other, a CPU sees too few at once to be busy.
class Interleaving {
public:
  /// The first piece begins here.
  explicit Interleaving(mlir::OpBuilder &b) : b(b), end(getLast()) {}
  /// A piece ends here and the next one begins.
  void next();
  /// Reorders the pieces, if they are alike.
  void finish();

private:
  mlir::Operation *getLast() const;

  mlir::OpBuilder &b;
  mlir::Operation *end; ///< of the piece before; null: the block's beginning
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> pieces;
};

/// Vectors of equal type, one behind the other.
mlir::Value concatVectors(mlir::OpBuilder &b, mlir::Location loc,
                          llvm::ArrayRef<mlir::Value> parts);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_KERNELBUILDER_H

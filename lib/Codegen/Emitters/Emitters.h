//===- Emitters.h - one function per operator -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_EMITTERS_H
#define OCTET_LIB_CODEGEN_EMITTERS_EMITTERS_H

#include "Fused.h"

namespace octet::codegen {

#define OCTET_EMITTER(OpClass, function)                                                           \
  llvm::LogicalResult function(ProgramEmitter &emitter, OpClass op);
#include "Emitters.def"

/// out[i] = compute(in[i]...) on real values with broadcasting, in one lane or sixteen.
using PointwiseFn = llvm::function_ref<mlir::Value(KernelBuilder &, mlir::ValueRange values)>;
void emitPointwise(ProgramEmitter &emitter, mlir::Operation *op, const kernel::KernelRow &row,
                   llvm::ArrayRef<mlir::Value> inputs, mlir::Value result, PointwiseFn compute);
/// Gives a view the rank of the result, with stride zero where it is broadcast.
void alignView(TensorView &view, llvm::ArrayRef<int64_t> outShape);
/// A plain element-wise op, or a group without convolution or linear layer [N.elementwise].
llvm::LogicalResult emitFusedElementwise(ProgramEmitter &emitter, const FusedOp &fused);
/// Biases of the reference model have more bits; octet-lower evaluates their conversions.
llvm::LogicalResult expectSmall(mlir::Operation *op, mlir::Type quantizedTensor);
/// Loops over `shape` (the first dimension over [begin, end)); calls `body` with all indices.
void emitLoopNest(KernelBuilder &b, llvm::ArrayRef<int64_t> shape, mlir::Value begin,
                  mlir::Value end, llvm::function_ref<void(mlir::ValueRange)> body);
/// Joins an accumulator and an element.
using JoinFn = llvm::function_ref<mlir::Value(KernelBuilder &, mlir::Value acc, mlir::Value x)>;
/// The sixteen lanes of a vector by the tree of [N.lanes].
mlir::Value joinLanes(KernelBuilder &b, mlir::Value vector, JoinFn join);
/// How a reduction of real numbers joins elements, and what it begins with.
struct Fold {
  float neutral;
  mlir::Value (*join)(KernelBuilder &, mlir::Value acc, mlir::Value x);
};
/// Of a mean that of its sum.
Fold getFold(mlir::Operation *reduction);
/// Joins the elements of a row in sixteen lanes, each from `neutral` on, and the lanes by a tree
/// [N.lanes]. `element(k)` is element k, or with `inVectors` (and b.lanes 16) the elements from k
/// on.
mlir::Value foldRow(KernelBuilder &b, int64_t length, bool inVectors, float neutral,
                    llvm::function_ref<mlir::Value(mlir::Value k)> element, JoinFn join);
/// The same with b.lanes 16, of several rows of sixteen elements or more: `elements(k)` are those
/// of each row from k on. The last sixteen overlap the ones before, so it must not matter that it
/// is called for some twice.
using RowElementsFn = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value k)>;
llvm::SmallVector<mlir::Value> foldVectors(KernelBuilder &b, int64_t length, int64_t rows,
                                           float neutral, RowElementsFn elements, JoinFn join);
/// Elements of a row that are loaded together where lanes are rows.
inline constexpr int64_t kElementsTogether = 4;
/// These of b.lanes rows (4 or 16) of floats, `step` apart: from `first` on, that of the first row,
/// a vector with a lane for each row.
llvm::SmallVector<mlir::Value> loadRowsAsLanes(KernelBuilder &b, mlir::Value memory,
                                               mlir::Value first, int64_t step);
/// Rows that are folded together, so that a CPU is busy while one waits for its own result.
inline constexpr int64_t kRowsTogether = 4;
/// Either of them, as b.lanes says, of several rows; `element` may be called for some twice.
llvm::SmallVector<mlir::Value>
foldRows(KernelBuilder &b, int64_t length, int64_t rows, float neutral,
         llvm::function_ref<mlir::Value(int64_t row, mlir::Value k)> element, JoinFn join);
/// [N.softmax] of rows whose exponentials lie `pitch` apart in `memory` in between. `number` is
/// called for each element first, then `again`, and `take` with its part of the sum.
void emitSoftmaxOfRows(KernelBuilder &b, int64_t length, int64_t rows, mlir::Value memory,
                       int64_t pitch,
                       llvm::function_ref<mlir::Value(int64_t row, mlir::Value k)> number,
                       llvm::function_ref<mlir::Value(int64_t row, mlir::Value k)> again,
                       llvm::function_ref<void(int64_t row, mlir::Value k, mlir::Value part)> take);
/// The operands of a tile of a product of two values in floats: rows `lhsRow` apart, vectors of
/// columns where `columns` say. Along the dimension that is summed over, elements of a row are
/// `lhsInner` apart and those of a column `rhsInner`.
struct FloatTile {
  mlir::Value lhs, lhsAt, rhs;
  int64_t rows, lhsRow, lhsInner, rhsInner, depth;
  llvm::SmallVector<mlir::Value> columns;
};
/// [N.matmul] Its sums, row by row.
llvm::SmallVector<mlir::Value> multiplyFloatTile(KernelBuilder &b, const FloatTile &tile);
/// Copies `size` elements that lie side by side: whole vectors, then what is left by a smaller or
/// overlapping one.
void copyRun(KernelBuilder &b, mlir::Value from, mlir::Value fromAt, mlir::Value to,
             mlir::Value toAt, int64_t size);
/// [N.gather] A position from an index that may count from the end. One outside of `size` elements
/// is reported, and 0 stands for it.
mlir::Value getPosition(KernelBuilder &b, mlir::Value index, int64_t size, mlir::Value status);
/// A group of octet.dequantize_weights and the operator that reads the weights as they are stored.
llvm::LogicalResult emitStored(ProgramEmitter &emitter, GroupOp group);
/// Copies a tensor to another one of the same shape.
void emitWholeCopy(ProgramEmitter &emitter, mlir::Operation *op, mlir::Value input,
                   mlir::Value result);
/// Nearest resampling by whole factors as one copy; false for any other.
bool emitRepeat(ProgramEmitter &emitter, nn::ResizeOp op);
/// Fills the border of a padded result with what padding stands for; nothing if it has none.
void emitBorder(ProgramEmitter &emitter, mlir::Operation *op, mlir::Value result);
/// Convolution or linear layer with a fused body: the first kernel of Kernels.def that takes it.
llvm::LogicalResult emitProduct(ProgramEmitter &emitter, const FusedOp &fused);
/// The kernel of one row, whose elements are those of `fused`; false if it does not take the shape.
template <const kernel::KernelRow &row>
bool emitProductAs(ProgramEmitter &emitter, const FusedOp &fused);
#define OCTET_PRODUCT_KERNEL(name, ...)                                                            \
  template <>                                                                                      \
  bool emitProductAs<kernel::Kernels::name>(ProgramEmitter & emitter, const FusedOp &fused);
#include "octet/Dialect/Kernel/Kernels.def"
/// A product of two floats with few columns; false if the shapes are not its.
bool emitMatmulOfColumns(ProgramEmitter &emitter, nn::MatmulOp op);
/// A product of two quantized values.
llvm::LogicalResult emitMatmulOfBytes(ProgramEmitter &emitter, nn::MatmulOp op);
/// A group that octet-fuse-attention made; false if it is none.
bool emitAttention(ProgramEmitter &emitter, GroupOp group);
/// A softmax between two products that octet-fuse-softmax joined; false if it is none.
bool emitFloatAttention(ProgramEmitter &emitter, GroupOp group);
/// A group that octet-fuse-softmax made; false if it is none.
bool emitSoftmaxGroup(ProgramEmitter &emitter, GroupOp group);
/// A group that octet-fuse-rows made.
void emitRowGroup(ProgramEmitter &emitter, GroupOp group);
/// Dense NCHW floats to NHWC bytes; false if the shapes are not its.
bool emitQuantizePlanes(ProgramEmitter &emitter, QuantizeOp op);
bool emitQuantizePlanes(ProgramEmitter &emitter, QuantizeDynamicOp op);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_EMITTERS_H

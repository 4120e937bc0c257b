//===- Kernels.h - the rows of Kernels.def ----------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_KERNEL_KERNELS_H
#define OCTET_DIALECT_KERNEL_KERNELS_H

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "octet/Dialect/NN/NN.h"

namespace octet::kernel {

enum class Storage { none, ui8, si8, ui8_or_16, small };
enum class ZeroPoints { any, zero };
enum class Scales { one, several, output, depthwise, image };

/// Types of a quantized operand.
struct FormRow {
  Storage storage;
  ZeroPoints zeroPoints;
  Scales scales;
};

enum class Layout { any, channels_last };

/// Operators that are lowered alike.
struct OperatorRow {
  FormRow input, weights, result;
  Layout layout;
};

struct Forms {
#define OCTET_FORM(name, storage, zero_points, scales)                                             \
  static constexpr FormRow name{Storage::storage, ZeroPoints::zero_points, Scales::scales};
#include "octet/Dialect/Kernel/Kernels.def"
};

struct Operators {
#define OCTET_OPERATOR(name, operators, input, weights, result, layout)                            \
  static constexpr OperatorRow name{Forms::input, Forms::weights, Forms::result, Layout::layout};
#include "octet/Dialect/Kernel/Kernels.def"
};

/// The row of an nn operator.
const OperatorRow &getOperatorRow(mlir::Operation *op);

/// Whether an operand fits a form: its storage, and which elements share a scale.
enum class Fit { yes, other_storage, other_granularity };
/// Of a quantized operand or result of `op`, which may be null where no form is for its kind only.
Fit matchForm(const FormRow &form, mlir::quant::QuantizedType type, mlir::Operation *op);
/// Whether activations may be stored in so many bits.
bool isActivationWidth(unsigned bits);
/// Whether the owner of `use` has kernels that read weights of this type, an integer or a float, as
/// they are stored.
bool readsStored(mlir::OpOperand &use, mlir::Type element);

enum class Elements { any, bytes, reals };
enum class Bounds { constants, arguments, by_weights };
enum class Code { fast, compact, smallest };
enum class Levels { all, tiles };

/// A kind of functions that steps call.
struct KernelRow {
  llvm::StringLiteral name;
  Elements elements;
  Bounds bounds;
  Code code;
  Levels levels;
};

struct Kernels {
#define OCTET_KERNEL(name, operator, elements, bounds, code, levels)                               \
  static constexpr KernelRow name{#name, Elements::elements, Bounds::bounds, Code::code,           \
                                  Levels::levels};
#include "octet/Dialect/Kernel/Kernels.def"
};

} // namespace octet::kernel

#endif // OCTET_DIALECT_KERNEL_KERNELS_H

//===- Kernel.h - the kernel dialect ----------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_KERNEL_KERNEL_H
#define OCTET_DIALECT_KERNEL_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace octet::kernel {
/// A one-dimensional vector of this many lanes of integers or floats of this width.
bool isVector(mlir::Type type, int64_t lanes, unsigned width, bool isFloat);
/// Of a vector of 32-bit lanes, the vector of their bytes.
mlir::Type getBytesOfLanes(mlir::Type type);
} // namespace octet::kernel

#include "octet/Dialect/Kernel/KernelDialect.h.inc"
#include "octet/Dialect/Kernel/KernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "octet/Dialect/Kernel/KernelAttrs.h.inc"

#define GET_OP_CLASSES
#include "octet/Dialect/Kernel/KernelOps.h.inc"

#endif // OCTET_DIALECT_KERNEL_KERNEL_H

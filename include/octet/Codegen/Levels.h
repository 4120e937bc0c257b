//===- Levels.h - CPU levels ------------------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_CODEGEN_LEVELS_H
#define OCTET_CODEGEN_LEVELS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace octet {

namespace codegen {
class TileProducts;
/// How tiles multiply bytes (lib/Codegen/Products): four at a time, four signed ones by those of a
/// lane, these in i16, four signed ones in all of a register's lanes, eight bytes of two rows by
/// those of two columns (in registers of 128 or 256 bits), as pairs of i16, or these beside pairs
/// of bytes whose products fit in i16.
const TileProducts *getByteProducts();
const TileProducts *getLaneProducts();
const TileProducts *getPairedLaneProducts();
const TileProducts *getRepeatedProducts();
const TileProducts *getMatrixProducts();
const TileProducts *getMatrix256Products();
const TileProducts *getPairProducts();
const TileProducts *getMixedPairProducts();
} // namespace codegen

/// A CPU level: a row of octet/Runtime/Levels.def.
struct CpuLevel {
  llvm::StringRef name;
  llvm::StringRef arch;     ///< "x86_64", "aarch64" or "any"
  llvm::StringRef features; ///< of the target beyond its baseline:
                            ///< comma-separated, with signs
  llvm::StringRef tuning;   ///< what is fast, not what is there: such features, or a core
  int64_t registerBits = 128;
  int64_t scalableBits = 0;   ///< the length that SVE's registers have; 0: they are not used
  int64_t accumulators = 1;   ///< of sixteen 32-bit lanes, that fit in registers beside operands
  int64_t floatSums = 0;      ///< the same of floats, if not so many
  int64_t floatPanelSums = 0; ///< of floats beside sixteen weights, if more
  /// How tiles multiply; null: there are no tiles, this is the reference path
  /// of scalar loops.
  const codegen::TileProducts *products = nullptr;
  bool hasFma = false; ///< fused multiply-add is an instruction
  /// Small numbers are converted between i32 and f32 by additions: the instructions for it are
  /// slower. The low half of a sum with NaN is zero (DEFAULT_FP_CONTROL).
  bool convertsByAdding = false;
  bool hasFastSubnormals = false; ///< such results take as long as others
  /// Instructions overwrite an operand, and loading it again takes less than copying it before.
  bool reloadsOperands = false;
  bool hasMinMax = false; ///< of floats, NaN where one is NaN, are instructions
  /// Kernels of products, too, become one where they differ in bounds only:
  /// less code, some percent slower.
  bool mergesKernels = false;
  /// Kernels that other such levels have as well are one function: features are instructions that
  /// kernels ask for, and the compiler makes the same of everything else.
  bool sharesKernels = false;
  /// Libraries have it without being told so. Each level makes them larger.
  bool isDefault = true;

  bool isScalar() const { return !products; }
  /// Whether code for the triple's architecture may have this level.
  bool suits(llvm::StringRef triple) const { return arch == "any" || triple.starts_with(arch); }
  /// Whether `feature`, without a sign, is among the features.
  bool hasFeature(llvm::StringRef feature) const;
  /// Whether the CPU and the operating system of this process run the level's
  /// code.
  bool runsHere() const;
};

/// All levels, best first within each architecture.
llvm::ArrayRef<CpuLevel> getCpuLevels();
/// The level of this name, or null.
const CpuLevel *lookupCpuLevel(llvm::StringRef name);
/// One line for each level, under a line of titles: name, architecture, whether
/// libraries have it by default, whether it runs here, features.
std::string listCpuLevels();

} // namespace octet

#endif // OCTET_CODEGEN_LEVELS_H

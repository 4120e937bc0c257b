//===- DepthwiseShape.h - what a depthwise kernel walks over ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_DEPTHWISESHAPE_H
#define OCTET_LIB_CODEGEN_EMITTERS_DEPTHWISESHAPE_H

#include "Fused.h"
#include "llvm/Support/MathExtras.h"

namespace octet::codegen {

/// Channels of a block, or so many bytes of a row across pixels. `rows8`: eight channels of two
/// output rows are the lanes of one vector.
enum class BlockKind { channels64, channels16, rows8, flat64, flat16 };

/// The images, kernel and blocks that a depthwise kernel walks over.
struct DepthwiseShape {
  int64_t channels;   ///< of the result
  int64_t multiplier; ///< channels of the result that read one of the input, 1 to 8
  int64_t kernelRows, kernelColumns, rowStride, columnStride, rowDilation, columnDilation;
  int64_t rows, columns; ///< of the result
  int64_t inRow, inPixel, inBase, outRow, outPixel, outBase;
  int64_t images, inImage, outImage; ///< elements from one image to the next
  int64_t strip;                     ///< output rows computed together
  BlockKind kind;
  int64_t parts;             ///< of a block, computed one after the other
  bool isTransposed = false; ///< rows are the tensors' columns

  bool isFlat() const { return kind == BlockKind::flat64 || kind == BlockKind::flat16; }
  int64_t blockSize() const {
    if (kind == BlockKind::rows8)
      return 8;
    return kind == BlockKind::channels16 || kind == BlockKind::flat16 ? 16 : 64;
  }
  /// Of parameters per channel.
  int64_t parameterBlock() const { return std::max<int64_t>(blockSize(), 16); }
  /// Pixels from one block of a row to the next.
  int64_t pixelsPerBlock() const { return isFlat() ? blockSize() / channels : 1; }
  int64_t partSize() const { return blockSize() / parts; }
  int64_t vectors() const { return std::max<int64_t>(partSize() / 16, 1); }
  /// Rows of the strip with vectors of their own.
  int64_t vectorRows() const { return kind == BlockKind::rows8 ? 1 : strip; }
  int64_t inputRows() const { return (strip - 1) * rowStride + kernelRows; }
  int64_t quads() const { return llvm::divideCeil(inputRows(), 4); }
  /// Blocks along the channels (one for flat rows).
  int64_t blocks() const { return isFlat() ? 1 : llvm::divideCeil(channels, blockSize()); }
  /// First channel of a block; the last block overlaps the one before where channels do not divide.
  int64_t firstChannel(int64_t block) const {
    return std::max<int64_t>(0, std::min(block * blockSize(), channels - blockSize()));
  }

  /// Which element of a row of the input the result's element `i` reads.
  mlir::Value getInput(KernelBuilder &b, mlir::Value i) const;
  /// Each of the input's channels in `loaded` as often as channels of the result read it.
  mlir::Value repeatChannels(KernelBuilder &b, mlir::Value loaded) const;
};

/// The shape of a convolution with one input and 1, 2, 4 or 8 output channels per group, NHWC on
/// both sides; else nothing.
std::optional<DepthwiseShape> getDepthwiseShape(const FusedOp &fused, const CpuLevel &level);

/// An argument for a constant's depthwise weights, which lie once in the library, [channel][kernel
/// row][kernel column], as the kernel reads them: [block][part][output row of the strip][kernel
/// column][four input rows][vector][lane][input row], with zeros where an input row is none of the
/// output row's; if the last four are two only, the second is at the third place, so that both are
/// even ones. `rows8`: [block][kernel column][output row][lane of eight][input row]. `asI16`: as
/// widenToI16 does. Lanes of a block are in the order of getLaneChannel or,
/// in several parts, natural.
KernelArgument getDepthwiseWeights(ProgramEmitter &emitter, nn::ConstantOp weights,
                                   const DepthwiseShape &shape, bool asI16);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_DEPTHWISESHAPE_H

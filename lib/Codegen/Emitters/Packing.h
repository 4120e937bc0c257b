//===- Packing.h - weights and parameters in the order of lanes -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights of dense products lie in panels [panel][kernel row][run][16][4 bytes] (float: [16]); a
// run is what lies side by side in an NHWC row under one kernel row. Where outputs do not fill the
// last panel, it overlaps the one before (getLaneChannel).
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_PACKING_H
#define OCTET_LIB_CODEGEN_EMITTERS_PACKING_H

#include "../Code.h"
#include "../ProgramEmitter.h"

namespace octet::codegen {

inline constexpr int64_t kPanelOutputs = 16;

/// The channel at a position of lanes. Channels lie in blocks of sixteen, or of 64 in the order
/// that unpacking bytes inside 16-byte lanes gives: lane l of vector v is channel 16 * (l / 4) + 4
/// * v + l % 4. The last block ends with the last channel, so that kernels need no other code for
/// it; lanes that are left over begin again with the first channel.
template <typename Code, typename Index>
Index getLaneChannel(Code &c, Index channels, Index block, Index position) {
  Index inBlock = position & (block - 1), lane = inBlock % 16;
  Index first = c.min(position - inBlock, c.max(channels, block) - block);
  return (lane / 4 * (block / 4) + inBlock / 16 * 4 + lane % 4 + first) % channels;
}

/// A filter [output][channel][tap] that lies in panels: `tapsPerRun` taps of `pitch` elements are
/// side by side in a row of the input, `taps / tapsPerRun` times.
struct PanelOrder {
  int64_t outputs, channels, pitch, taps, tapsPerRun;

  /// Elements of the panels, of a type of which four bytes hold `perLane`.
  int64_t countElements(int64_t perLane) const;
};

/// An argument for a constant's dense weights in panels; `asI16`: as kernel.dot2 takes them.
/// Where integers take notably less room without the panels' padding, the library holds them so,
/// and a model makes the panels. Of weights with more outputs than the order has, every so many are
/// panels of their own; of those with fewer channels, each so many outputs have the channels behind
/// the ones before, and zeros elsewhere.
KernelArgument getPanels(ProgramEmitter &emitter, nn::ConstantOp weights, PanelOrder order,
                         bool asI16);

/// The bytes of such panels.
std::vector<int8_t> makeBytePanels(nn::ConstantOp weights, const PanelOrder &order);

/// An argument for the same bytes as i16: of every 64, those at even places before the
/// others, as the operands of two `kernel.dot2`. A kernel would widen the same weights for every
/// few pixels otherwise.
KernelArgument widenToI16(ProgramEmitter &emitter, KernelArgument bytes);

/// An argument for panels of which, in every run of so many steps, two steps each are one of eight
/// bytes a lane; what the last one lacks is zero.
KernelArgument joinSteps(ProgramEmitter &emitter, KernelArgument panels, int64_t stepsPerRun);

/// Parameters of a kernel's output channels (folded biases, multipliers, scales), one value each.
class ParameterArrays {
public:
  /// For channels in blocks of 16 or 64.
  explicit ParameterArrays(int64_t block) : block(block) {}

  void add(llvm::ArrayRef<int32_t> perChannel);
  void add(llvm::ArrayRef<float> perChannel);
  /// Both parts of the reciprocals (numerics::reciprocalRest) of the floats that were added last.
  void addReciprocals();
  /// The floats that were added last, times -2^23.
  void addLeastProducts();
  /// Integers, to which ShiftedSums::getFirstBits are added.
  void addShifted(llvm::ArrayRef<int32_t> sums, bool beginAtLeast);
  /// Values of an array in whole blocks.
  int64_t getPositions() const;
  /// An argument for all arrays, one behind the other, in the order of lanes, four bytes a value.
  KernelArgument prepare(ProgramEmitter &emitter);

private:
  void addArray(int64_t kind, int64_t channels);
  void appendIntegers(llvm::ArrayRef<int32_t> perChannel, int64_t size);

  int64_t block, channels = 0;
  llvm::SmallVector<int64_t> arrays; ///< their kinds
  std::vector<char> values;
};

/// Initial values of integer accumulators: bias - sum of zero point * weight, for each output.
/// `channels` are the filter's, of the group of `outputsPerGroup` outputs.
std::vector<int32_t> makeInitialSums(int64_t outputs, const QuantParams &input,
                                     llvm::ArrayRef<int8_t> filter, llvm::ArrayRef<int32_t> bias,
                                     int64_t channels, int64_t taps, int64_t outputsPerGroup);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_PACKING_H

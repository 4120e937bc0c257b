//===- Packing.h - what panels of weights look like -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights of dense products lie in panels [panel][kernel row][run][16][4 bytes] (float: [16]); a run is what lies side by side in an NHWC
// row under one kernel row. Where outputs do not fill the last panel, it overlaps the one before (octet_lane_channel).
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_PACKING_H
#define OCTET_LIB_CODEGEN_EMITTERS_PACKING_H

#include "../Buffers.h"

namespace octet::codegen {

inline constexpr int64_t kPanelOutputs = 16;

/// What integer accumulators start with: bias - sum of zero point * weight, for each output. `channels` are the filter's,
/// of the group of `outputsPerGroup` outputs.
std::vector<int32_t> makeStart(int64_t outputs, const QuantParams &input, llvm::ArrayRef<int8_t> filter,
                               llvm::ArrayRef<int32_t> bias, int64_t channels, int64_t taps, int64_t outputsPerGroup);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_PACKING_H

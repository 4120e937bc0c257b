/*===- panels.h - weights and parameters in the order of lanes -------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * The one definition of that order: the compiler writes panels into the library with these functions, and the runtime
 * writes into a model's memory what a library holds without padding (octet_dense_filter, octet_parameters).
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_RUNTIME_PANELS_H
#define OCTET_RUNTIME_PANELS_H

#include "octet/Runtime/octet.h"
#include <string.h>

/* The channel at a position of lanes. Channels lie in blocks of sixteen, or of 64 in the order that unpacking bytes inside
   16-byte lanes gives: lane l of vector v is channel 16 * (l / 4) + 4 * v + l % 4. The last block ends with the last channel, so
   that kernels need no other code for it; lanes that are left over begin again with the first channel. */
static inline uint32_t octet_lane_channel(uint32_t channels, uint32_t block, uint32_t position) {
  uint32_t in_block = position & (block - 1), first = position - in_block, last = channels > block ? channels - block : 0;
  uint32_t lane = in_block % 16, channel = lane / 4 * (block / 4) + in_block / 16 * 4 + lane % 4 + (first < last ? first : last);
  return channel < channels ? channel : channel % channels;
}

/* Bytes from one run of a panel to the next, for elements of `size` bytes: 1 or 4. */
static inline uint64_t octet_run_bytes(const octet_dense_filter *f, uint32_t size) {
  return ((uint64_t)(f->kernel_columns / f->runs) * f->pitch * size + 3) / 4 * 64;
}

static inline uint64_t octet_panels_bytes(const octet_dense_filter *f, uint32_t size) {
  return ((uint64_t)f->outputs + 15) / 16 * f->kernel_rows * f->runs * octet_run_bytes(f, size);
}

/* Writes the panels of a filter whose elements have `size` bytes; what a run has beyond its elements stays as it is. */
static inline void octet_write_panels(const octet_dense_filter *f, uint32_t size, const char *filter, char *panels) {
  uint32_t taps = f->kernel_rows * f->kernel_columns, taps_per_run = f->kernel_columns / f->runs, outputs = f->outputs;
  uint64_t run_bytes = octet_run_bytes(f, size), panel_bytes = run_bytes * f->runs * f->kernel_rows;
  for (uint32_t position = 0; position < (outputs + 15) / 16 * 16; ++position) {
    const char *from = filter + (uint64_t)octet_lane_channel(outputs, 16, position) * f->channels * taps * size;
    char *lane = panels + position / 16 * panel_bytes + position % 16 * 4;
    for (uint32_t tap = 0; tap < taps; ++tap) {
      uint64_t at = (uint64_t)(tap % taps_per_run) * f->pitch * size;
      char *run = lane + tap / taps_per_run * run_bytes;
      uint32_t c = 0;
      for (; taps == 1 && c + 4 / size <= (uint32_t)f->channels; c += 4 / size, at += 4) /* most weights, and side by side */
        memcpy(run + at * 16, from + at, 4);
      for (; c < (uint32_t)f->channels; ++c, at += size)
        memcpy(run + at / 4 * 64 + at % 4, from + ((uint64_t)c * taps + tap) * size, size);
    }
  }
}

/* Positions of all blocks of an array of parameters. */
static inline uint32_t octet_count_positions(uint32_t channels, uint32_t block) { return (channels + block - 1) / block * block; }

/* What f32(1 / x) leaves out of 1 / x. Products with both are as good as a division where they are rounded to an integer. */
static inline float octet_reciprocal_rest(float x) { return (float)(1.0 / (double)x - (double)(1.0f / x)); }

static inline void octet_write_parameters(const octet_parameters *p, const char *values, char *panels) {
  uint32_t positions = octet_count_positions(p->channels, p->block), channels = p->channels;
  for (uint32_t kinds = p->kinds; kinds; kinds >>= 4, panels += positions * 4) {
    uint32_t kind = kinds % 16, divides = kind >= OCTET_RECIPROCALS, size = divides ? 4 : kind, sign = kind > 1 ? 32 - 8 * size : 0;
    if (divides)
      values -= channels * 4;
    for (uint32_t position = 0; position < positions; ++position) {
      const char *from = values + octet_lane_channel(channels, p->block, position) * size;
      uint32_t word = 0;
      for (uint32_t byte = 0; byte < size; ++byte)
        word |= (uint32_t)(uint8_t)from[byte] << 8 * byte;
      word = (uint32_t)((int32_t)(word << sign) >> sign);
      memcpy(panels + position * 4, &word, 4);
    }
    values += channels * size;
    /* By itself: words that are no floats take long to divide, if that is done before it is known to be wanted. */
    for (uint32_t i = 0; divides && i < positions; ++i) {
      float value;
      memcpy(&value, panels + i * 4, 4);
      value = kind == OCTET_RECIPROCALS ? 1.0f / value : octet_reciprocal_rest(value);
      memcpy(panels + i * 4, &value, 4);
    }
  }
}

#endif /* OCTET_RUNTIME_PANELS_H */

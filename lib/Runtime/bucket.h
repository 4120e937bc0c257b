/*===- bucket.h - the buckets of a network --------------------------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_LIB_RUNTIME_BUCKET_H
#define OCTET_LIB_RUNTIME_BUCKET_H

#include "octet/Runtime/records.h"

extern const octet_network octet_model_network;

/* These are constants of the library: the optimizer removes the code that one bucket does not need.
 */
static const octet_buckets *get_buckets(void) { return octet_model_network.descriptor.buckets; }

static int32_t count_buckets(void) { return get_buckets() ? get_buckets()->count : 1; }

static const octet_level *get_levels(int32_t bucket) {
  return get_buckets() ? get_buckets()->list[bucket].levels : octet_model_network.descriptor.levels;
}

/* Whether values of a shape fit into an input. */
static int holds(const octet_tensor *input, const int64_t *shape) {
  for (int32_t axis = 0; axis < input->rank; ++axis)
    if (shape[axis] > input->shape[axis])
      return 0;
  return 1;
}

static int holds_all(const octet_bucket *bucket, const int64_t *const *shapes) {
  for (int32_t i = 0; i < octet_model_network.descriptor.num_inputs; ++i)
    if ((!shapes[i] && bucket->inputs[i].rank) || !holds(&bucket->inputs[i], shapes[i]))
      return 0;
  return 1;
}

#endif /* OCTET_LIB_RUNTIME_BUCKET_H */

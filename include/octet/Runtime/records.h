/*===- records.h - what a library holds for its own runtime ----------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * Written by Emit and read by the runtime that is linked into the same library: no interface.
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_RUNTIME_RECORDS_H
#define OCTET_RUNTIME_RECORDS_H

#include "octet/Runtime/octet.h"

/* What an argument of a step points into: the model's memory, the library's weights, or an input or
 * output. */
enum octet_space {
  OCTET_ARENA = 0,
  OCTET_WEIGHTS = 1,
  OCTET_STATE = 2,
  OCTET_PREPARED = 3,
  OCTET_INPUT = 4,
  OCTET_OUTPUT = 5,
};

/* An address has 32 bits: the space in the lowest ones, above them the number of an input
   or output, or an offset in units of so many bytes. */
enum octet_address { OCTET_SPACE_BITS = 3, OCTET_WEIGHTS_UNIT = 4, OCTET_MEMORY_UNIT = 64 };

/* A step as it lies in the library, where the loader has nothing to relocate: it calls
   `kernel(addresses..., bounds..., begin, end)` for parts [begin, end) of the range. Kernel and
   name are given by their distance in bytes from the record, addresses and bounds by where their
   lists begin among the network's. */
typedef struct octet_step_record {
  int32_t kernel, name, range, addresses, bounds;
} octet_step_record;

/* What the library holds for one CPU level; create makes its octet_program. */
typedef struct octet_program_record {
  const octet_step_record *steps; /* the rest of the prologue, then what every run does */
  int64_t prepared_bytes;
  int32_t num_shared;   /* of the network's prologue: steps that run before the program's own */
  int32_t num_prologue; /* of the program's own steps */
} octet_program_record;

/* All about a network; `programs` has one record for each of the descriptor's levels. The steps of
   a prologue run once, when a model is made; `prologue` has those with which several levels begin.
   In `lists` the arguments of all steps lie, each list as its length and that many entries of 32
   bits. `calls[n]` is the distance in bytes from `calls` to a function `(kernel, arguments, begin,
   end)` that calls a kernel with n arguments of 64 bits from an array, begin and end. */
typedef struct octet_network {
  octet_descriptor descriptor;
  const octet_program_record *programs;
  const octet_step_record *prologue;
  const int32_t *lists, *calls;
} octet_network;

#endif /* OCTET_RUNTIME_RECORDS_H */

/*===- records.h - what a library holds for its own runtime ----------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * Written by Emit and read by the runtime that is linked into the same library. Not an interface.
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_RUNTIME_RECORDS_H
#define OCTET_RUNTIME_RECORDS_H

#include "octet/Runtime/octet.h"

/* The memory that an argument of a step points into: a part of the model's memory, the library's
 * weights, an input or output, or the 64 bits that a kernel sets if it meets a value with which the
 * network cannot run. */
enum octet_space {
  OCTET_ARENA = 0,
  OCTET_WEIGHTS = 1,
  OCTET_STATE = 2,
  OCTET_PREPARED = 3,
  OCTET_INPUT = 4,
  OCTET_OUTPUT = 5,
  OCTET_STATUS = 6,
};

/* An address is an int32_t: the space in the lowest bits, above them the number of an input or
   output (0: the status), or an offset in units of the given number of bytes. */
enum octet_address { OCTET_SPACE_BITS = 3, OCTET_WEIGHTS_UNIT = 4, OCTET_MEMORY_UNIT = 64 };

/* A step in the library, without pointers that the loader would relocate: a call of
   `kernel(addresses..., bounds..., begin, end)` for parts [begin, end) of the range. `kernel` and
   `name` are distances in bytes from the record; `addresses` and `bounds` are indices of the first
   elements of lists in the network's `lists`. */
typedef struct octet_step_record {
  int32_t kernel, name, range, addresses, bounds;
} octet_step_record;

/* The record of one CPU level, from which `create` makes the octet_program. */
typedef struct octet_program_record {
  const octet_step_record *steps; /* the rest of the prologue, then the steps of a run */
  int64_t prepared_bytes;
  int32_t num_shared;   /* steps of the network's prologue, which run before the program's own */
  int32_t num_prologue; /* how many of the program's own steps belong to the prologue */
} octet_program_record;

/* All records of a network; `programs` has one for each of the descriptor's levels. The steps of a
   prologue run once, when a model is created; `prologue` holds the first steps that several levels
   have in common. `lists` holds the arguments of all steps; each list is its length and that many
   elements. `calls[n]` is the distance in bytes from `calls` to a function `(kernel, arguments,
   begin, end)` that calls a kernel with begin, end and n arguments of 64 bits from an array. */
typedef struct octet_network {
  octet_descriptor descriptor;
  const octet_program_record *programs;
  const octet_step_record *prologue;
  const int32_t *lists, *calls;
} octet_network;

#endif /* OCTET_RUNTIME_RECORDS_H */

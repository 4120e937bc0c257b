/*===- octet.h - the C interface of a compiled network ---------------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * A compiled network is a library or an object file that needs nothing but libc. Every symbol it exports begins with the
 * network's name, so that several networks fit into one program. For a network called `net`:
 *
 *   octet_model *net_create(int32_t threads, const char *level, char *error, size_t error_bytes);
 *   int32_t net_run(octet_model *model, const void *const *inputs, void *const *outputs);
 *   void net_destroy(octet_model *model);
 *   const octet_model_api *net_octet_model_v1(void);
 *
 * The header that the compiler writes beside an object file contains this text and those declarations. A program that
 * loads networks it does not know looks for the one exported symbol that ends in OCTET_ENTRY_SUFFIX and calls it.
 *
 * Threads: one model runs in one thread at a time; different models, also of the same network, may run at the same time.
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_RUNTIME_OCTET_H
#define OCTET_RUNTIME_OCTET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the structures below; a library with another number is refused. */
#define OCTET_ABI 5
#define OCTET_ENTRY_SUFFIX "_octet_model_v1"

/* Element types of inputs and outputs (octet_tensor.dtype). */
enum octet_dtype { OCTET_F32 = 0, OCTET_U8 = 1, OCTET_I8 = 2, OCTET_I32 = 3, OCTET_I64 = 4 };

/* An input or output: row-major, no padding between elements. A quantized one stands for (q - zero_point) * scale;
   one that is not has scale 0. */
typedef struct octet_tensor {
  const char *name;
  int32_t dtype;
  int32_t rank;
  const int64_t *shape;
  int64_t bytes;
  float scale;
  int32_t zero_point;
} octet_tensor;

/* What steps work on beside inputs and outputs; all of it is aligned to 64 bytes. */
typedef struct octet_frame {
  void *arena;
  const void *weights;
  void *state;
  void *prepared;
  void *panels;
} octet_frame;

/* Steps run in order; each may be split over [0, range) among threads. `name` is the operator's. */
typedef struct octet_step {
  int64_t range;
  const char *name;
} octet_step;

/* A depthwise convolution's weights lie once in the library, [channel][kernel row][kernel column], and are written into
   `prepared` when a model is made, as the kernel reads them: [block][part][output row of the strip][kernel column]
   [four input rows][vector][lane][input row], with zeros where an input row is none of the output row's; if the last four are
   two only, the second is at the third place, so that both are even ones (octet_widening). Lane l of vector v
   is channel `l / 4 * 4 * vectors + 4 * v + l % 4` of its part of `16 * vectors`; the last block ends with the last channel,
   and a block longer than all channels begins again with the first. `source` and `target` are byte offsets. */
typedef struct octet_depthwise_filter {
  int32_t source, target;
  int32_t channels, blocks, parts, vectors;
  int32_t strip, row_stride;
  int32_t kernel_rows, kernel_columns;
} octet_depthwise_filter;

/* Levels that multiply 16-bit words read weights as such. When a model is made, each of `groups` times 64 bytes at `source`
   (an octet_address) becomes 64 words in `prepared`, those of the even bytes before the others. `target` is in units of
   OCTET_MEMORY_UNIT. */
typedef struct octet_widening {
  int32_t source, target, groups;
} octet_widening;

/* Dense weights lie in the library as kernels read them, in panels: [panel of 16 outputs][kernel row][run][16][4 bytes], where
   a run is `kernel_columns / runs` taps of `pitch` elements, side by side in a row of the input, four bytes at a time.
   Where that takes notably more room than the weights, they lie there as [output][channel][kernel row][kernel column], and
   are written into `panels` when a model is made (octet_write_panels). `source` and `target` are byte offsets. */
typedef struct octet_dense_filter {
  int32_t source, target;
  int32_t outputs, channels, pitch;
  int32_t kernel_rows, kernel_columns, runs;
} octet_dense_filter;

/* Parameters of output channels (starts, multipliers, scales) lie in the library as arrays of one value a channel, one array
   behind the other, and are written into `panels` in the order of lanes when a model is made (octet_lane_channel), four
   bytes a value. Integers take as few bytes as all of an array need: one without a sign, two, three or four with it.
   Reciprocals, and what these leave out of 1 / x, take none: they are those of the floats before. `source` and `target` are
   byte offsets. */
enum octet_parameter_kind {
  OCTET_BYTES = 1,
  OCTET_HALVES = 2,
  OCTET_TRIPLES = 3,
  OCTET_WORDS = 4,
  OCTET_RECIPROCALS = 5,
  OCTET_RECIPROCAL_RESTS = 6
};

typedef struct octet_parameters {
  int32_t source, target;
  int32_t channels;
  int32_t block;  /* channels whose lanes are in one order: 16 or 64 */
  uint32_t kinds; /* of the arrays, four bits each, the lowest first */
} octet_parameters;

/* The network for one CPU level. */
typedef struct octet_program {
  const char *level;
  const octet_step *steps;
  int64_t count;
} octet_program;

/* What an argument of a step points into: the model's memory, the library's weights, or an input or output. */
enum octet_space {
  OCTET_ARENA = 0,
  OCTET_WEIGHTS = 1,
  OCTET_STATE = 2,
  OCTET_PREPARED = 3,
  OCTET_PANELS = 4,
  OCTET_INPUT = 5,
  OCTET_OUTPUT = 6,
};

/* An address is a word of 32 bits: the space in the lowest ones, above them the number of an input or output, or an offset
   in units of so many bytes. */
enum octet_address { OCTET_SPACE_BITS = 3, OCTET_WEIGHTS_UNIT = 4, OCTET_MEMORY_UNIT = 64 };

/* A step as it lies in the library, where the loader has nothing to relocate: it calls
   `kernel(addresses..., bounds..., begin, end)` for parts [begin, end) of the range. Kernel and name are given by their
   distance in bytes from the record, addresses and bounds by where their lists begin among the descriptor's. */
typedef struct octet_step_record {
  int32_t kernel, name, range, addresses, bounds;
} octet_step_record;

/* What the library holds for one CPU level; create makes its octet_program. */
typedef struct octet_program_record {
  const char *level;
  const octet_step_record *steps;
  int64_t count;
  int64_t prepared_bytes;
  const octet_depthwise_filter *filters;
  int64_t num_filters;
  const octet_widening *widenings; /* made last */
  int64_t num_widenings;
} octet_program_record;

/* Everything that is known about a network; `programs` has the best level first. In `lists` the arguments of all steps lie,
   each list as its length and that many words. `calls[n]` is the distance in bytes from `calls` to a function
   `(kernel, arguments, begin, end)` that calls a kernel with n arguments of 64 bits from an array, begin and end. */
typedef struct octet_descriptor {
  int32_t abi;
  const char *name;
  int64_t arena_bytes, state_bytes, weights_bytes;
  const void *weights;
  int32_t num_inputs, num_outputs, num_programs;
  const octet_tensor *inputs, *outputs;
  const octet_program_record *programs;
  const int32_t *lists, *calls;
  const char *report_json;
  int64_t panels_bytes;
  const octet_dense_filter *filters; /* for all levels */
  int64_t num_filters;
  const octet_parameters *parameters;
  int64_t num_parameters;
} octet_descriptor;

/* A network made ready to run: its memory, its level, its threads. */
typedef struct octet_model octet_model;

/* Called after every step of a run, in the thread that called run, with the time it took. */
typedef void (*octet_step_hook)(void *user, int64_t step, uint64_t nanoseconds);

typedef struct octet_model_api {
  int32_t abi;
  const octet_descriptor *descriptor;

  /* Makes a model, or returns a null pointer and writes the reason into `error` (cut to `error_bytes`; may be null).
     `threads`: at least 1; with 1 no thread is created. `level`: one of the levels below, or null, which means the
     environment variable OCTET_CPU_LEVEL if it is set and not empty, else the best that this CPU can run.
       x86-64: avx512vnni, avx2, sse2    AArch64: dotprod, neon    both: reference (scalar code)
     A level that the network was not compiled for or that this CPU cannot run is an error.
     All memory is allocated here; `state` starts as zeros. The caller's floating-point control register does not matter. */
  octet_model *(*create)(int32_t threads, const char *level, char *error, size_t error_bytes);

  /* Runs the network once: `inputs` and `outputs` are arrays of pointers in the descriptor's order. No output may overlap an
     input or another output; none needs alignment beyond the element's. Allocates nothing, takes no lock. Returns 0, or 1
     without running if a pointer is null. The caller's floating-point control register is saved, set to the default and restored. */
  int32_t (*run)(octet_model *model, const void *const *inputs, void *const *outputs);

  /* Like run, but for the steps [begin, end) only, after those before them have run in this model. Returns 1 also if there
     are no such steps. */
  int32_t (*run_steps)(octet_model *model, const void *const *inputs, void *const *outputs, int64_t begin, int64_t end);

  /* Ends the threads and frees the memory. A null pointer is allowed. */
  void (*destroy)(octet_model *model);

  /* The program in use: its level and its steps. */
  const octet_program *(*program)(const octet_model *model);

  int32_t (*threads)(const octet_model *model);

  /* The model's memory. Its `state`, `state_bytes` long, holds the statistics gathered by observers; it may be read and
     written between runs. */
  const octet_frame *(*frame)(const octet_model *model);

  /* Sets the hook that is told the time of every step; a null pointer removes it. */
  void (*set_step_hook)(octet_model *model, octet_step_hook hook, void *user);

  /* 1 if this CPU can run the level, else 0 (also for a name that is no level). */
  int32_t (*supports)(const char *level);
} octet_model_api;

/* The type of `net_octet_model_v1`. */
typedef const octet_model_api *(*octet_entry_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_RUNTIME_OCTET_H */

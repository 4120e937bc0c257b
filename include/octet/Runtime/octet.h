/*===- octet.h - the C interface of a compiled network ---------------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * A compiled network is a library or an object file that needs nothing but libc. Every symbol that
 * it exports begins with the network's name, so that several networks fit into one program. For a
 * network called `net`:
 *
 *   octet_model *net_create(int32_t threads, const char *level, char *error, size_t error_bytes);
 *   int32_t net_run(octet_model *model, const void *const *inputs, void *const *outputs);
 *   void net_destroy(octet_model *model);
 *   const octet_model_api *net_octet_model_v1(void);
 *
 * The header that the compiler writes beside an object file contains this file and those
 * declarations. A network with buckets (octet_buckets) has one function more:
 *
 *   int32_t net_select(octet_model *model, const int64_t *const *shapes);
 *
 * A program that loads a network whose name it does not know looks for the one
 * exported symbol that ends in OCTET_ENTRY_SUFFIX and calls it.
 *
 * Threads: one model runs in one thread at a time; different models, also of the same network, may
 * run at the same time.
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_RUNTIME_OCTET_H
#define OCTET_RUNTIME_OCTET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the structures below; a library with another number is refused. */
#define OCTET_ABI 9
#define OCTET_ENTRY_SUFFIX "_octet_model_v1"

/* Element types of inputs and outputs (octet_tensor.dtype). Truth values are bytes: 0, or any other
   for true; outputs hold 0 and 1. */
enum octet_dtype {
  OCTET_F32 = 0,
  OCTET_U8 = 1,
  OCTET_I8 = 2,
  OCTET_I32 = 3,
  OCTET_I64 = 4,
  OCTET_BOOL = 5,
  OCTET_U16 = 6,
  OCTET_I16 = 7,
  OCTET_U32 = 8,
  OCTET_F16 = 9,
  OCTET_BF16 = 10,
  OCTET_F64 = 11
};

/* An input or output: row-major, no padding between elements. An element q of a quantized tensor
   represents (q - zero_point) * scale; the scale of any other tensor is 0. */
typedef struct octet_tensor {
  const char *name;
  int32_t dtype;
  int32_t rank;
  const int64_t *shape;
  int64_t bytes;
  float scale;
  int32_t zero_point;
} octet_tensor;

/* The memory of steps beside inputs and outputs; each part is aligned to 64 bytes. */
typedef struct octet_frame {
  void *arena;
  const void *weights;
  void *state;
  void *prepared; /* weights in the order of kernels, written when a model is created */
} octet_frame;

/* Steps run in order; the range [0, range) of a step may be split among threads. `name` is the
   operator's name. */
typedef struct octet_step {
  int64_t range;
  const char *name;
} octet_step;

/* The network for one CPU level. */
typedef struct octet_program {
  const char *level;
  const octet_step *steps;
  int64_t count;
} octet_program;

/* A CPU level that a network was compiled for. */
typedef struct octet_level {
  const char *name;
  int64_t num_steps;
} octet_level;

/* The network for inputs of one set of shapes. The names and types of inputs and outputs are the
   same in all buckets; `levels` are the descriptor's with the bucket's number of steps. */
typedef struct octet_bucket {
  const octet_tensor *inputs, *outputs;
  const octet_level *levels;
} octet_bucket;

/* The buckets of a network, which share their weights, code, memory and states: the largest one,
   whose shapes are the descriptor's, first, the one with the fewest elements in its inputs last.
   `paddings` has a number for each input with which values that are smaller than a bucket are
   filled up behind their ends, or NaN where that has no meaning; it is null if no input has one.
   The caller does the filling. */
typedef struct octet_buckets {
  int32_t count;
  const octet_bucket *list;
  const double *paddings;
} octet_buckets;

/* The properties of a network; `levels` has the best one first. `buckets` is null if the network
   has only the shapes given here. */
typedef struct octet_descriptor {
  int32_t abi;
  const char *name;
  int64_t arena_bytes, state_bytes, weights_bytes;
  const void *weights;
  int32_t num_inputs, num_outputs, num_levels;
  const octet_tensor *inputs, *outputs;
  const octet_level *levels;
  const char *report_json;
  const octet_buckets *buckets;
} octet_descriptor;

/* A network that is ready to run: its memory, its level, its threads. */
typedef struct octet_model octet_model;

/* Called after every step of a run, in the thread that called run, with the time that the step
   took. */
typedef void (*octet_step_hook)(void *user, int64_t step, uint64_t nanoseconds);

typedef struct octet_model_api {
  int32_t abi;
  const octet_descriptor *descriptor;

  /* Creates a model, or returns a null pointer and writes the reason into `error` (cut to
     `error_bytes`; may be null). `threads`: at least 1; with 1 no thread is created. `level`: the
     name of one of the descriptor's levels, or null, which means the environment variable
     OCTET_CPU_LEVEL if it is set and not empty, else the best that this CPU can run. A level that
     the network was not compiled for or that this CPU cannot run is an error. All memory is
     allocated here; every model has states of its own, which start as zeros. The caller's
     floating-point control register does not matter. */
  octet_model *(*create)(int32_t threads, const char *level, char *error, size_t error_bytes);

  /* Runs the network once: `inputs` and `outputs` are arrays of pointers in the descriptor's order.
     No output may overlap an input or another output; none needs alignment beyond the element's.
     Allocates nothing, takes no lock. Returns 0, or 1 without running if a pointer is null; only
     an empty array, such as `inputs` of a network without inputs, may be null. Returns 2 + i if
     step i met an index outside of the tensor that it points into: the outputs are then undefined;
     no memory but the network's and the outputs was touched, the states are as before, and the
     model can run again. The
     caller's floating-point control register is saved, set to the default and restored. */
  int32_t (*run)(octet_model *model, const void *const *inputs, void *const *outputs);

  /* Like run, but for the steps [begin, end) only, after those before them have run in this model.
     Returns 1 also if the program does not have these steps. */
  int32_t (*run_steps)(octet_model *model, const void *const *inputs, void *const *outputs,
                       int64_t begin, int64_t end);

  /* Ends the threads and frees the memory. A null pointer is allowed. */
  void (*destroy)(octet_model *model);

  /* The program in use: its level and its steps. */
  const octet_program *(*program)(const octet_model *model);

  int32_t (*threads)(const octet_model *model);

  /* The model's memory. Its `state`, `state_bytes` long, holds what the network keeps from run to
     run: its states in the order of its inputs, each at a multiple of 64 bytes, and behind them the
     statistics gathered by observers. It may be read and written between runs. */
  const octet_frame *(*frame)(const octet_model *model);

  /* Sets the hook that is called after every step; a null pointer removes it. */
  void (*set_step_hook)(octet_model *model, octet_step_hook hook, void *user);

  /* 1 if this CPU can run the level, else 0 (also for a name that is no level). */
  int32_t (*supports)(const char *level);

  /* Sets `state` to zeros, as in a new model. Not while the model runs; a null pointer is
     allowed. */
  void (*reset)(octet_model *model);

  /* Null if the descriptor has no `buckets`. Makes the smallest bucket that holds values of these
     shapes, one for each input and each of the input's rank, the one that `run`, `run_steps` and
     `program` are about, and returns its number; a new model has bucket 0. Returns -1, and keeps
     the bucket, if a shape is beyond all buckets or a pointer is null. States stay as they are. Not
     while the model runs. */
  int32_t (*select)(octet_model *model, const int64_t *const *shapes);
} octet_model_api;

/* The type of `net_octet_model_v1`. */
typedef const octet_model_api *(*octet_entry_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_RUNTIME_OCTET_H */

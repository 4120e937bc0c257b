/*===- model.c - the runtime that is built into every compiled network -----===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * Compiled to bitcode when Octet is built and linked into each network by Emit, which provides
 * `octet_model_network`, gives the functions named octet_model_* the network's prefix and makes
 * everything else internal.
\*===----------------------------------------------------------------------===*/

#include "bucket.h"
#include "level.h"
#include "octet/Runtime/records.h"
#include "pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An argument of a step that is an input or output. */
typedef struct binding {
  int64_t *argument;
  int32_t address;
} binding;

/* The steps of one bucket. */
typedef struct plan {
  octet_program program;
  octet_step *steps;  /* the program's */
  ready_step *ready;  /* the same steps with their arguments */
  int64_t *arguments; /* all steps' */
  binding *bindings;
  int64_t num_bindings;
} plan;

struct octet_model {
  octet_frame frame;
  plan plan; /* in use */
  pool *workers;
  int64_t status; /* not 0: a kernel met a value with which the network cannot run */
  octet_step_hook hook;
  void *hook_user;
  struct plan plans[]; /* of all buckets, if there are several */
};

int32_t octet_model_supports(const char *level) { return level && supports_level(level); }

const octet_program *octet_model_program(const octet_model *model) { return &model->plan.program; }

int32_t octet_model_threads(const octet_model *model) {
  return model->workers ? (int32_t)model->workers->num_workers + 1 : 1;
}

const octet_frame *octet_model_frame(const octet_model *model) { return &model->frame; }

void octet_model_set_step_hook(octet_model *model, octet_step_hook hook, void *user) {
  model->hook = hook;
  model->hook_user = user;
}

/* Zeroed memory, aligned to 64 bytes; never null because of size 0. */
static void *allocate(int64_t bytes) {
  void *memory;
  size_t size = bytes > 0 ? ((size_t)bytes + 63) & ~(size_t)63 : 64;
  if (posix_memalign(&memory, 64, size))
    return NULL;
  return memset(memory, 0, size);
}

static void free_plan(const plan *plan) {
  free(plan->steps);
  free(plan->ready);
  free(plan->arguments);
  free(plan->bindings);
}

void octet_model_destroy(octet_model *model) {
  if (!model)
    return;
  destroy_pool(model->workers);
  if (count_buckets() > 1)
    for (int32_t i = 0; i < count_buckets(); ++i)
      free_plan(&model->plans[i]);
  else
    free_plan(&model->plan);
  free(model->frame.arena);
  free(model->frame.state);
  free(model->frame.prepared);
  free(model);
}

void octet_model_reset(octet_model *model) {
  if (model)
    memset(model->frame.state, 0, (size_t)octet_model_network.descriptor.state_bytes);
}

static octet_model *fail(octet_model *model) {
  octet_model_destroy(model);
  return NULL;
}

static int32_t get_space(int32_t address) { return address & ((1 << OCTET_SPACE_BITS) - 1); }

static uint32_t get_number(int32_t address) { return (uint32_t)address >> OCTET_SPACE_BITS; }

static int64_t resolve_address(const octet_model *model, int32_t address) {
  const void *const bases[] = {[OCTET_ARENA] = model->frame.arena,
                               [OCTET_WEIGHTS] = model->frame.weights,
                               [OCTET_STATE] = model->frame.state,
                               [OCTET_PREPARED] = model->frame.prepared,
                               [OCTET_STATUS] = &model->status};
  int32_t space = get_space(address),
          unit = space == OCTET_WEIGHTS ? OCTET_WEIGHTS_UNIT : OCTET_MEMORY_UNIT;
  return (intptr_t)bases[space] + (int64_t)get_number(address) * unit;
}

static int is_callers(int32_t address) {
  return get_space(address) == OCTET_INPUT || get_space(address) == OCTET_OUTPUT;
}

static int64_t count_arguments(const octet_step_record *record) {
  const int32_t *lists = octet_model_network.lists;
  return lists[record->addresses] + lists[record->bounds];
}

/* Writes a step's arguments; those that are inputs and outputs are left to each run. Returns the
 * place behind them. */
static int64_t *make_arguments(octet_model *model, const octet_step_record *record, int64_t *to) {
  const int32_t *lists = octet_model_network.lists, *addresses = lists + record->addresses,
                *bounds = lists + record->bounds;
  for (int32_t i = 1; i <= addresses[0]; ++i, ++to)
    if (is_callers(addresses[i]))
      model->plan.bindings[model->plan.num_bindings++] = (binding){to, addresses[i]};
    else
      *to = resolve_address(model, addresses[i]);
  for (int32_t i = 1; i <= bounds[0]; ++i)
    *to++ = bounds[i];
  return to;
}

static ready_step make_ready(octet_model *model, const octet_step_record *record,
                             int64_t *arguments) {
  const int32_t *calls = octet_model_network.calls;
  int64_t number = make_arguments(model, record, arguments) - arguments;
  return (ready_step){(call_fn)((uintptr_t)calls + calls[number]),
                      (kernel_fn)((uintptr_t)record + record->kernel), arguments, record->range};
}

/* The tables with pointers, from the records. */
static void make_steps(octet_model *model, const octet_step_record *records) {
  int64_t *arguments = model->plan.arguments;
  for (int64_t i = 0; i < model->plan.program.count; ++i) {
    const octet_step_record *record = &records[i];
    model->plan.steps[i] =
        (octet_step){record->range, (const char *)((uintptr_t)record + record->name)};
    model->plan.ready[i] = make_ready(model, record, arguments);
    arguments += count_arguments(record);
  }
  model->plan.program.steps = model->plan.steps;
}

/* Writes the prepared memory. The steps have no inputs and outputs, and the memory of their
 * arguments is used again. */
static void run_prologue(octet_model *model, const octet_step_record *records, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    ready_step step = make_ready(model, &records[i], model->plan.arguments);
    step.call(step.kernel, step.arguments, 0, step.range);
  }
}

static void prepare_weights(octet_model *model, const octet_program_record *program) {
  fp_control callers = get_fp_control();
  set_fp_control(DEFAULT_FP_CONTROL);
  run_prologue(model, octet_model_network.prologue, program->num_shared);
  run_prologue(model, program->steps, program->num_prologue);
  set_fp_control(callers);
}

/* Counts the arguments of some steps, and the inputs and outputs among them. */
static void count_members(const octet_step_record *records, int32_t count, int64_t *num_arguments,
                          int64_t *num_bindings) {
  for (int32_t i = 0; i < count; ++i) {
    const int32_t *addresses = octet_model_network.lists + records[i].addresses;
    *num_arguments += count_arguments(&records[i]);
    for (int32_t k = 1; k <= addresses[0]; ++k)
      *num_bindings += is_callers(addresses[k]);
  }
}

/* Zeroed memory for what all buckets share; returns 0 if there is not enough. */
static int allocate_frame(octet_frame *frame, const octet_program_record *program) {
  const octet_descriptor *network = &octet_model_network.descriptor;
  frame->weights = network->weights;
  frame->arena = allocate(network->arena_bytes);
  frame->state = allocate(network->state_bytes);
  frame->prepared = allocate(program->prepared_bytes);
  return frame->arena && frame->state && frame->prepared;
}

/* Zeroed memory for the steps of a bucket; the first one has the arguments of the prologue, too.
 * Returns 0 if there is not enough. */
static int allocate_plan(plan *plan, const octet_program_record *program,
                         const octet_step_record *records, int is_first) {
  int64_t num_arguments = 0, num_bindings = 0, count = plan->program.count;
  int32_t prologue = is_first ? program->num_prologue : 0;
  if (is_first)
    count_members(octet_model_network.prologue, program->num_shared, &num_arguments, &num_bindings);
  count_members(records - prologue, prologue + (int32_t)count, &num_arguments, &num_bindings);
  plan->steps = allocate(count * (int64_t)sizeof(octet_step));
  plan->ready = allocate(count * (int64_t)sizeof(ready_step));
  plan->arguments = allocate(num_arguments * (int64_t)sizeof(int64_t));
  plan->bindings = allocate(num_bindings * (int64_t)sizeof(binding));
  return plan->steps && plan->ready && plan->arguments && plan->bindings;
}

/* Makes a bucket's steps the model's; returns 0 if there is not enough memory. */
static int make_plan(octet_model *model, int32_t level, int32_t bucket,
                     const octet_step_record *records) {
  const octet_program_record *program = &octet_model_network.programs[level];
  model->plan.program.level = get_levels(bucket)[level].name;
  model->plan.program.count = get_levels(bucket)[level].num_steps;
  if (!allocate_plan(&model->plan, program, records, bucket == 0))
    return 0;
  if (bucket == 0)
    prepare_weights(model, program);
  make_steps(model, records);
  return 1;
}

/* The same for all buckets, the first of which is left in use. */
static int make_plans(octet_model *model, int32_t level, const octet_step_record *records) {
  if (count_buckets() == 1) /* a loop of one round would cost code */
    return make_plan(model, level, 0, records);
  int is_made = 1;
  for (int32_t i = 0; i < count_buckets() && is_made; ++i) {
    model->plan = (plan){0};
    is_made = make_plan(model, level, i, records);
    model->plans[i] = model->plan;
    records += model->plan.program.count;
  }
  model->plan = model->plans[0];
  return is_made;
}

octet_model *octet_model_create(int32_t threads, const char *level, char *error,
                                size_t error_bytes) {
  char ignored[1];
  if (!error || !error_bytes) {
    error = ignored;
    error_bytes = sizeof(ignored);
  }
  const char *variable = getenv("OCTET_CPU_LEVEL");
  int from_environment = !level && variable && *variable;
  if (from_environment)
    level = variable;
  int32_t number = find_level(level);
  if (number < 0) {
    report_level(error, error_bytes, level, from_environment);
    return NULL;
  }
  if (threads < 1 || threads > MAX_THREADS) {
    snprintf(error, error_bytes, "expected 1 to %d threads, but got %d", MAX_THREADS, (int)threads);
    return NULL;
  }
  const octet_descriptor *network = &octet_model_network.descriptor;
  const octet_program_record *program = &octet_model_network.programs[number];
  octet_model *model =
      allocate((int64_t)sizeof(octet_model) +
               (count_buckets() > 1 ? count_buckets() : 0) * (int64_t)sizeof(plan));
  if (!model || !allocate_frame(&model->frame, program) ||
      !make_plans(model, number, program->steps + program->num_prologue)) {
    int64_t bytes = network->arena_bytes + network->state_bytes + program->prepared_bytes;
    snprintf(error, error_bytes, "out of memory: the network needs %lld bytes", (long long)bytes);
    return fail(model);
  }
  if (threads > 1 && !(model->workers = create_pool((uint32_t)threads - 1))) {
    snprintf(error, error_bytes, "cannot start %d threads", (int)threads);
    return fail(model);
  }
  return model;
}

static uint64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run_step(octet_model *model, const ready_step *step) {
  if (model->workers && step->range > 1)
    run_parallel(model->workers, step);
  else
    step->call(step->kernel, step->arguments, 0, step->range);
}

static void run_timed(octet_model *model, int64_t i) {
  uint64_t start = nanoseconds();
  run_step(model, &model->plan.ready[i]);
  model->hook(model->hook_user, i, nanoseconds() - start);
}

/* The first step that cannot run, or `end`. */
static int64_t run_until(octet_model *model, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (model->status = 0; i < end; ++i) {
    if (model->hook)
      run_timed(model, i);
    else
      run_step(model, &model->plan.ready[i]);
    if (model->status)
      break;
  }
  return i;
}

static void bind(octet_model *model, const void *const *inputs, void *const *outputs) {
  const plan *plan = &model->plan;
  for (const binding *b = plan->bindings; b != plan->bindings + plan->num_bindings; ++b) {
    uint32_t number = get_number(b->address);
    *b->argument =
        (intptr_t)(get_space(b->address) == OCTET_INPUT ? inputs[number] : outputs[number]);
  }
}

static int32_t run_part(octet_model *model, const void *const *inputs, void *const *outputs,
                        int64_t begin, int64_t end) {
  const octet_descriptor *network = &octet_model_network.descriptor;
  if ((!inputs && network->num_inputs) || (!outputs && network->num_outputs) || begin < 0 ||
      begin > end || end > model->plan.program.count)
    return 1;
  for (int32_t i = 0; i < network->num_inputs; ++i)
    if (!inputs[i])
      return 1;
  for (int32_t i = 0; i < network->num_outputs; ++i)
    if (!outputs[i])
      return 1;
  fp_control callers = get_fp_control();
  set_fp_control(DEFAULT_FP_CONTROL);
  bind(model, inputs, outputs);
  int64_t done = run_until(model, begin, end);
  set_fp_control(callers);
  return done == end ? 0 : 2 + (int32_t)done;
}

int32_t octet_model_run(octet_model *model, const void *const *inputs, void *const *outputs) {
  return model ? run_part(model, inputs, outputs, 0, model->plan.program.count) : 1;
}

int32_t octet_model_run_steps(octet_model *model, const void *const *inputs, void *const *outputs,
                              int64_t begin, int64_t end) {
  return model ? run_part(model, inputs, outputs, begin, end) : 1;
}

int32_t octet_model_select(octet_model *model, const int64_t *const *shapes) {
  if (model && shapes)
    for (int32_t i = count_buckets(); i-- > 0;)
      if (holds_all(&get_buckets()->list[i], shapes)) {
        if (count_buckets() > 1)
          model->plan = model->plans[i];
        return i;
      }
  return -1;
}

const octet_model_api *octet_model_octet_model_v1(void) {
  static const octet_model_api api = {
      OCTET_ABI,
      &octet_model_network.descriptor,
      octet_model_create,
      octet_model_run,
      octet_model_run_steps,
      octet_model_destroy,
      octet_model_program,
      octet_model_threads,
      octet_model_frame,
      octet_model_set_step_hook,
      octet_model_supports,
      octet_model_reset,
      octet_model_select,
  };
  return &api;
}

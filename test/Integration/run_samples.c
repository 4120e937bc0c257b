/*===- run_samples.c - runs a compiled network on a file of samples --------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 *   run_samples LIBRARY ENTRY LEVEL THREADS INPUTS OUTPUTS
 *
 * ENTRY is the library's exported symbol that ends in _octet_model_v1. INPUTS holds sample after
 * sample, each with the network's inputs one behind the other; OUTPUTS gets its outputs likewise.
 * For CPUs that Python does not run on.
\*===----------------------------------------------------------------------===*/

#include "octet/Runtime/octet.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

static void **allocate(const octet_tensor *tensors, int32_t count) {
  void **buffers = malloc(sizeof(void *) * count);
  for (int32_t i = 0; i < count; ++i)
    buffers[i] = malloc(tensors[i].bytes);
  return buffers;
}

/* Whether all of one sample's inputs could be read. */
static int readSample(FILE *file, const octet_tensor *tensors, int32_t count, void **buffers) {
  for (int32_t i = 0; i < count; ++i)
    if (fread(buffers[i], 1, tensors[i].bytes, file) != (size_t)tensors[i].bytes)
      return 0;
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 7)
    return fail(argv[0], "expected LIBRARY ENTRY LEVEL THREADS INPUTS OUTPUTS");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(argv[1], dlerror());
  octet_entry_fn entry = (octet_entry_fn)dlsym(library, argv[2]);
  if (!entry)
    return fail(argv[2], dlerror());
  const octet_model_api *api = entry();
  char error[512] = "";
  octet_model *model = api->create(atoi(argv[4]), argv[3], error, sizeof(error));
  if (!model)
    return fail(argv[3], error);
  FILE *in = fopen(argv[5], "rb"), *out = fopen(argv[6], "wb");
  if (!in || !out)
    return fail(in ? argv[6] : argv[5], "cannot be opened");
  const octet_descriptor *net = api->descriptor;
  void **inputs = allocate(net->inputs, net->num_inputs),
       **outputs = allocate(net->outputs, net->num_outputs);
  while (readSample(in, net->inputs, net->num_inputs, inputs)) {
    if (api->run(model, (const void *const *)inputs, outputs))
      return fail(argv[1], "run failed");
    for (int32_t i = 0; i < net->num_outputs; ++i)
      fwrite(outputs[i], 1, net->outputs[i].bytes, out);
  }
  api->destroy(model);
  return fclose(out) ? fail(argv[6], "cannot be written") : 0;
}

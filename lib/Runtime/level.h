/*===- level.h - the choice of a CPU level --------------------------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_LIB_RUNTIME_LEVEL_H
#define OCTET_LIB_RUNTIME_LEVEL_H

#include "cpu.h"
#include "octet/Runtime/records.h"
#include <stdio.h>
#include <string.h>

extern const octet_network octet_model_network;

/* The number of the best level that runs here and, if `level` is given, has that name; -1 if there
 * is none. */
static int32_t find_level(const char *level) {
  const octet_descriptor *network = &octet_model_network.descriptor;
  for (int32_t i = 0; i < network->num_levels; ++i) {
    const char *name = network->levels[i].name;
    if (supports_level(name) && (!level || !strcmp(level, name)))
      return i;
  }
  return -1;
}

/* Appends to a text of `size` bytes, cutting what does not fit. */
static void append(char *text, size_t size, const char *more) {
  size_t length = strlen(text);
  if (length < size)
    snprintf(text + length, size - length, "%s", more);
}

static void describe_levels(char *text, size_t size, int only_supported) {
  int any = 0;
  for (int32_t i = 0; i < octet_model_network.descriptor.num_levels; ++i) {
    const char *level = octet_model_network.descriptor.levels[i].name;
    if (only_supported && !supports_level(level))
      continue;
    append(text, size, any++ ? ", " : "");
    append(text, size, level);
  }
  if (!any)
    append(text, size, "none");
}

static void report_level(char *text, size_t size, const char *level, int from_environment) {
  if (level)
    snprintf(text, size, "CPU level '%s'%s cannot be used", level,
             from_environment ? " (from OCTET_CPU_LEVEL)" : "");
  else
    snprintf(text, size, "no CPU level can be used");
  append(text, size, ": the network was compiled for ");
  describe_levels(text, size, 0);
  append(text, size, "; possible on this CPU: ");
  describe_levels(text, size, 1);
}

#endif /* OCTET_LIB_RUNTIME_LEVEL_H */

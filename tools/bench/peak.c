/*===- peak.c - the int8 peak of one core ----------------------------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * Prints the multiply-adds per second of independent 512-bit VPDPBUSD in a loop: the limit that a
 * network's time is compared with. clang -O2 -mavx512f -mavx512vnni peak.c
\*===----------------------------------------------------------------------===*/

#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { chains = 24, steps = 200000, rounds = 15, macs_per_step = 64 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Multiply-adds per second of one round. 24 chains hide the latency; the assembly keeps them apart.
 */
static double measure(__m512i *accumulators) {
  __m512i a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2), acc[chains];
  for (int i = 0; i < chains; ++i)
    acc[i] = accumulators[i];
  double start = seconds();
  for (int step = 0; step < steps; ++step)
#pragma clang loop unroll(full)
    for (int i = 0; i < chains; ++i)
      __asm__ volatile("vpdpbusd %2, %1, %0" : "+v"(acc[i]) : "v"(a), "v"(b));
  double elapsed = seconds() - start;
  for (int i = 0; i < chains; ++i)
    accumulators[i] = acc[i];
  return (double)steps * chains * macs_per_step / elapsed;
}

int main(void) {
  __m512i accumulators[chains] = {0};
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    double rate = measure(accumulators);
    best = rate > best ? rate : best;
  }
  printf("%.6g\n", best);
  return 0;
}

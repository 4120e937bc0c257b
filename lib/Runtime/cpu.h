/*===- cpu.h - CPU levels and the floating-point control register ----------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_RUNTIME_CPU_H
#define OCTET_RUNTIME_CPU_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>

/* Does the operating system save the registers of AVX (ymm) and of AVX-512 (opmask, zmm)? Without
 * OSXSAVE xgetbv traps. */
static uint64_t saved_registers(void) {
  unsigned a, b, c, d;
  uint32_t low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
    return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static int has_avx2(void) {
  const unsigned leaf1 = bit_FMA | bit_AVX | bit_F16C | bit_MOVBE | bit_POPCNT,
                 leaf7 = bit_BMI | bit_AVX2 | bit_BMI2;
  unsigned a, b, c, d, c_extended;
  if ((saved_registers() & 0x6) != 0x6)
    return 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & leaf1) != leaf1)
    return 0;
  if (!__get_cpuid(0x80000001, &a, &b, &c_extended, &d) || !(c_extended & bit_LZCNT))
    return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & leaf7) == leaf7;
}

static int has_avx512vnni(void) {
  const unsigned leaf7 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  unsigned a, b, c, d;
  if (!has_avx2() || (saved_registers() & 0xe6) != 0xe6)
    return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & leaf7) == leaf7 && (c & bit_AVX512VNNI);
}

static int has_avxvnni(void) {
  unsigned a, b, c, d;
  return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & bit_AVXVNNI);
}

static int has_sse2(void) { return 1; }

typedef unsigned fp_control;
static fp_control get_fp_control(void) { return _mm_getcsr(); }
static void set_fp_control(fp_control value) { _mm_setcsr(value); }
/* All exceptions masked, round to nearest even, subnormals kept. */
#define DEFAULT_FP_CONTROL 0x1f80u

static void relax(void) { _mm_pause(); }

#elif defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>

static int has_dotprod(void) {
  return (getauxval(AT_HWCAP) & (1ul << 20 /* HWCAP_ASIMDDP */)) != 0;
}
static int has_i8mm(void) {
  return has_dotprod() && (getauxval(AT_HWCAP2) & (1ul << 13 /* HWCAP2_I8MM */)) != 0;
}
static int has_neon(void) { return 1; }
/* SVE with registers of exactly so many bits; an error where there is none. */
static int has_sve(int bits) {
  int length = prctl(PR_SVE_GET_VL);
  return length >= 0 && 8 * (length & PR_SVE_VL_LEN_MASK) == bits;
}
static int has_sve256(void) {
  return has_i8mm() && has_sve(256) &&
         (getauxval(AT_HWCAP2) & (1ul << 9 /* HWCAP2_SVEI8MM */)) != 0;
}
static int has_sve512(void) { return has_sve(512); }

typedef uint64_t fp_control;
static fp_control get_fp_control(void) {
  fp_control value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
static void set_fp_control(fp_control value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
/* As x86's; all NaN that are computed are one, whose low half is zero: kernels round it to that. */
#define DEFAULT_FP_CONTROL (1ull << 25 /* FPCR.DN */)

static void relax(void) { __asm__ volatile("yield"); }

#else
#error "no CPU levels for this architecture"
#endif

/* The levels of this architecture, and whether this CPU runs them: it must have every target
 * feature of the row. */
typedef struct cpu_level {
  const char *name;
  int (*supported)(void);
} cpu_level;

static int has_reference(void) { return 1; }

#if defined(__x86_64__)
#define LEVEL_OF_x86_64(name) {#name, has_##name},
#define LEVEL_OF_aarch64(name)
#else
#define LEVEL_OF_x86_64(name)
#define LEVEL_OF_aarch64(name) {#name, has_##name},
#endif
#define LEVEL_OF_any(name) {#name, has_##name},

static const cpu_level cpu_levels[] = {
#define OCTET_LEVEL(name, arch, ...) LEVEL_OF_##arch(name)
#include "octet/Runtime/Levels.def"
};

static int supports_level(const char *name) {
  for (size_t i = 0; i < sizeof(cpu_levels) / sizeof(cpu_levels[0]); ++i)
    if (!strcmp(cpu_levels[i].name, name))
      return cpu_levels[i].supported();
  return 0;
}

#endif

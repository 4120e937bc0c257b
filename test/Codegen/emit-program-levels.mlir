// RUN: not octet-opt %s --octet-emit-program=levels=sse2,avx2,sse2 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not octet-opt %s --octet-emit-program=levels=mmx 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// TWICE: error: expected each CPU level once, but got 'sse2' again
// UNKNOWN: error: unknown CPU level 'mmx'
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx2,sse2,reference | FileCheck %s

// Weights that panels would make notably larger (20 outputs in two panels of 16) lie in the library as they are, once, and
// are put into panels when a model is made, the same for all levels. Those that fill their panels are there as panels.
// Parameters lie there once a channel, integers in as few bytes as they need: starts (-128 * 32 and -256 * 20) and multipliers.
!x = tensor<1x32x!quant.uniform<u8:f32, 0.5:128>>
!w1 = tensor<20x32x!quant.uniform<i8:f32, 0.5>>
!y1 = tensor<1x20x!quant.uniform<u8:f32, 0.5:128>>
!w2 = tensor<32x20x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK: kernel.program @main level "avx2" {{.*}} panels 1536 {
// CHECK-NEXT: kernel.dense_filter from [[$SOURCE:[0-9]+]] to 0 outputs 20 channels 32 pitch 32 kernel 1 1 runs 1
// CHECK-NEXT: kernel.parameters halves from [[#$STARTS1:]] to 1024 channels 20 block 16
// CHECK-NEXT: kernel.parameters words from [[#$STARTS1 + 40]] to 1152 channels 20 block 16
// CHECK-NEXT: kernel.parameters halves from [[#$STARTS2:]] to 1280 channels 32 block 16
// CHECK-NEXT: kernel.parameters words from [[#$STARTS2 + 64]] to 1408 channels 32 block 16
// CHECK-NEXT: kernel.step @copy
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<panels 0>, #kernel.arg<panels 1024>, #kernel.arg<panels 1152>
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<weights {{[0-9]+}}>, #kernel.arg<panels 1280>, #kernel.arg<panels 1408>
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<panels 0>, #kernel.arg<panels 1024>, #kernel.arg<panels 1152>
// CHECK-LABEL: module @sse2
// CHECK: kernel.program @main level "sse2" {{.*}} panels 1536 {
// CHECK-NEXT: kernel.dense_filter from [[$SOURCE]] to 0 outputs 20 channels 32 pitch 32 kernel 1 1 runs 1
// CHECK-NEXT: kernel.parameters halves from [[#$STARTS1]] to 1024 channels 20 block 16
// CHECK-NEXT: kernel.parameters words from [[#$STARTS1 + 40]] to 1152 channels 20 block 16
// CHECK-NEXT: kernel.parameters halves from [[#$STARTS2]] to 1280 channels 32 block 16
// CHECK-NEXT: kernel.parameters words from [[#$STARTS2 + 64]] to 1408 channels 32 block 16
// CHECK-NEXT: kernel.step @copy
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<panels 0>, #kernel.arg<panels 1024>, #kernel.arg<panels 1152>
func.func @main(%x: !x {nn.name = "x"}) -> (!y1 {nn.name = "y"}) {
  %w1 = nn.constant dense<1> : tensor<20x32xi8> -> !w1
  %w2 = nn.constant dense<2> : tensor<32x20xi8> -> !w2
  %0 = nn.linear %x, %w1 : (!x, !w1) -> !y1 loc("linear1")
  %1 = nn.linear %0, %w2 : (!y1, !w2) -> !x loc("linear2")
  %2 = nn.linear %1, %w1 : (!x, !w1) -> !y1 loc("linear3")
  return %2 : !y1
}

// -----

// The reference level reads these weights where they lie: at a multiple of four bytes, as every argument, also behind an odd
// number of bytes.
!x = tensor<1x5x!quant.uniform<u8:f32, 0.5:128>>
!w1 = tensor<3x5x!quant.uniform<i8:f32, 0.5>>
!y1 = tensor<1x3x!quant.uniform<u8:f32, 0.5:128>>
!w2 = tensor<5x3x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @reference
// CHECK: kernel.parameters words from 101 to {{[0-9]+}} channels 5
// CHECK: kernel.step @linear_loops{{.*}}#kernel.arg<weights 0>
// CHECK: kernel.step @linear_loops{{.*}}#kernel.arg<weights 76>
// CHECK: kernel.step @linear_loops{{.*}}#kernel.arg<weights 124>
func.func @main(%x: !x {nn.name = "x"}) -> (!y1 {nn.name = "y"}) {
  %w1 = nn.constant dense<1> : tensor<3x5xi8> -> !w1
  %w2 = nn.constant dense<2> : tensor<5x3xi8> -> !w2
  %0 = nn.linear %x, %w1 : (!x, !w1) -> !y1
  %1 = nn.linear %0, %w2 : (!y1, !w2) -> !x
  %w3 = nn.constant dense<3> : tensor<3x5xi8> -> !w1
  %2 = nn.linear %1, %w3 : (!x, !w1) -> !y1
  return %2 : !y1
}

// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx2,sse2,reference | FileCheck %s

// Weights that panels would make notably larger (20 outputs in two panels of 16) lie in the library as they are, once, and
// are put into panels when a model is made, the same for all levels. Those that fill their panels are there as panels.
// Parameters lie there once a channel, integers in as few bytes as they need: starts (-128 * 32 and -256 * 20) and multipliers.
!x = tensor<1x32x!quant.uniform<u8:f32, 0.5:128>>
!w1 = tensor<20x32x!quant.uniform<i8:f32, 0.5>>
!y1 = tensor<1x20x!quant.uniform<u8:f32, 0.5:128>>
!w2 = tensor<32x20x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK: kernel.program @main level "avx2" {{.*}} prepared 1536 {{.*}} prologue {
// CHECK-NEXT: kernel.step @write_panels [#kernel.arg<weights [[$SOURCE:[0-9]+]]>, #kernel.arg<prepared 0>] bounds [20, 32, 32, 1, 1] range 32
// CHECK-NEXT: kernel.step @write_parameters [#kernel.arg<weights [[$PARAMETERS1:[0-9]+]]>, #kernel.arg<prepared 1024>] bounds [20, 16, 2, 66] range 32
// CHECK-NEXT: kernel.step @write_parameters [#kernel.arg<weights [[$PARAMETERS2:[0-9]+]]>, #kernel.arg<prepared 1280>] bounds [32, 16, 2, 66] range 32
// CHECK-NEXT: } {
// CHECK-NEXT: kernel.step @copy
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<prepared 0>, #kernel.arg<prepared 1024>, #kernel.arg<prepared 1152>
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared 1280>, #kernel.arg<prepared 1408>
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<prepared 0>, #kernel.arg<prepared 1024>, #kernel.arg<prepared 1152>
// CHECK: func.func private @write_panels{{.*}}passthrough = ["optsize", "minsize"]
// CHECK-LABEL: module @sse2
// CHECK: kernel.program @main level "sse2" {{.*}} prepared 1536 {{.*}} prologue {
// CHECK-NEXT: kernel.step @write_panels [#kernel.arg<weights [[$SOURCE]]>, #kernel.arg<prepared 0>] bounds [20, 32, 32, 1, 1] range 32
// CHECK-NEXT: kernel.step @write_parameters [#kernel.arg<weights [[$PARAMETERS1]]>, #kernel.arg<prepared 1024>] bounds [20, 16, 2, 66] range 32
// CHECK-NEXT: kernel.step @write_parameters [#kernel.arg<weights [[$PARAMETERS2]]>, #kernel.arg<prepared 1280>] bounds [32, 16, 2, 66] range 32
// CHECK-NEXT: } {
// CHECK-NEXT: kernel.step @copy
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<prepared 0>, #kernel.arg<prepared 1024>, #kernel.arg<prepared 1152>
// CHECK-LABEL: module @reference
// CHECK: kernel.program @main level "reference" {{.*}} prepared 0 {{.*}}xi8> {
// CHECK-NEXT: kernel.step @copy
func.func @main(%x: !x {nn.name = "x"}) -> (!y1 {nn.name = "y"}) {
  %w1 = nn.constant dense<1> : tensor<20x32xi8> -> !w1
  %w2 = nn.constant dense<2> : tensor<32x20xi8> -> !w2
  %0 = nn.linear %x, %w1 {octet.origin = #octet.origin<"linear1">} : (!x, !w1) -> !y1
  %1 = nn.linear %0, %w2 {octet.origin = #octet.origin<"linear2">} : (!y1, !w2) -> !x
  %2 = nn.linear %1, %w1 {octet.origin = #octet.origin<"linear3">} : (!x, !w1) -> !y1
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
// CHECK: kernel.step @linear_loops{{.*}}#kernel.arg<weights 0>
// CHECK: kernel.step @linear_loops{{.*}}#kernel.arg<weights 64>
// CHECK: kernel.step @linear_loops{{.*}}#kernel.arg<weights 112>
func.func @main(%x: !x {nn.name = "x"}) -> (!y1 {nn.name = "y"}) {
  %w1 = nn.constant dense<1> : tensor<3x5xi8> -> !w1
  %w2 = nn.constant dense<2> : tensor<5x3xi8> -> !w2
  %0 = nn.linear %x, %w1 : (!x, !w1) -> !y1
  %1 = nn.linear %0, %w2 : (!y1, !w2) -> !x
  %w3 = nn.constant dense<3> : tensor<3x5xi8> -> !w1
  %2 = nn.linear %1, %w3 : (!x, !w1) -> !y1
  return %2 : !y1
}

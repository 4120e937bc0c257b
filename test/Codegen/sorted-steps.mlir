// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx2,sse2 | FileCheck %s

// Pairs of weights whose products fit in i16 are multiplied as bytes: a panel's steps where all fit come first, each with
// the place of its input, then the others as i16.
!x = tensor<1x128x4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<128x128x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK-NOT: @write_i16
// CHECK: kernel.step @write_sorted [#kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared [[SORTED:[0-9]+]]>] bounds [32, 192] range 8
// CHECK: kernel.step @dense{{[^,]*}}, #kernel.arg<prepared [[SORTED]]>
// CHECK: func.func private @dense
// CHECK: scf.for
// CHECK: %[[COUNT:.*]] = arith.index_cast
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUNT]]
// CHECK-COUNT-2: kernel.broadcast4
// CHECK: kernel.dot4 {{.*}} pairs_fit
// CHECK: scf.for %{{.*}} = %[[COUNT]] to
// CHECK-NOT: kernel.dot4
// CHECK: kernel.dot2
// CHECK: return
// CHECK-LABEL: module @sse2
// CHECK-NOT: write_sorted
// CHECK: kernel.step @write_i16
// CHECK-NOT: pairs_fit
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<64> : tensor<128x128x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Where most steps have a pair that does not fit, all are i16.
!x = tensor<1x128x4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<128x128x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK: kernel.step @write_i16
// CHECK-NOT: pairs_fit
// CHECK: module @sse2
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<65> : tensor<128x128x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Nor do runs of few steps gain: a second loop costs as much.
!x = tensor<1x32x4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK: kernel.step @write_i16
// CHECK-NOT: pairs_fit
// CHECK: module @sse2
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<64> : tensor<32x32x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

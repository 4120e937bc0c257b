// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx2,sse2 | FileCheck %s

// Of steps whose products fit in i16, two at a time are added there; steps that fit in another order of their bytes, or alone, follow,
// then the others as i16. Each has the place of its input.
!x = tensor<1x128x4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<128x128x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK-NOT: @write_i16
// CHECK: kernel.step @write_sorted [#kernel.arg<weights {{[0-9]+}}>, #kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared [[SORTED:[0-9]+]]>] bounds [32, 320] range 8
// CHECK: kernel.step @dense{{[^,]*}}, #kernel.arg<prepared [[SORTED]]>
// CHECK: func.func private @dense
// CHECK: scf.for
// CHECK: %[[COUPLES:.*]] = arith.index_cast
// CHECK: %[[BYTES:.*]] = arith.index_cast
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUPLES]]
// CHECK-COUNT-2: kernel.broadcast4
// CHECK-COUNT-2: kernel.pairs
// CHECK: arith.addi {{.*}} : vector<32xi16>
// CHECK: kernel.dot2
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[BYTES]]
// CHECK: kernel.broadcast4
// CHECK: kernel.reorder4
// CHECK: kernel.pairs
// CHECK: kernel.dot2
// CHECK: scf.for %{{.*}} = %[[BYTES]] to
// CHECK-NOT: kernel.pairs
// CHECK-COUNT-2: kernel.dot2
// CHECK: return
// CHECK-LABEL: module @sse2
// CHECK-NOT: write_sorted
// CHECK: kernel.step @write_i16
// CHECK-NOT: kernel.pairs
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<32> : tensor<128x128x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Where most steps have a pair that does not fit, all are i16.
!x = tensor<1x128x4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<128x128x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK: kernel.step @write_i16
// CHECK-NOT: kernel.pairs
// CHECK: module @sse2
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<65> : tensor<128x128x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Nor do runs of few steps gain: more loops cost as much.
!x = tensor<1x32x4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @avx2
// CHECK: kernel.step @write_i16
// CHECK-NOT: kernel.pairs
// CHECK: module @sse2
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<64> : tensor<32x32x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

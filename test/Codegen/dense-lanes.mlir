// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=dotprod,neon | FileCheck %s

// AArch64: one load brings the input of four steps (32 bytes: two loads), which is flipped once and multiplied lane by lane. Without dot products,
// two steps' products are added in i16.
!x = tensor<1x32x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @dotprod
// CHECK: func.func private @dense
// CHECK: vector.load {{.*}} vector<16xi8>
// CHECK: arith.xori {{.*}} : vector<16xi8>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 0, 1, 2, 3,
// CHECK: vector.shuffle {{.*}} [12, 13, 14, 15, 12, 13, 14, 15,
// CHECK: kernel.dot4 {{.*}} signed
// CHECK-NOT: kernel.dot4 {{.*}} %{{[0-9a-z_]+$}}
// CHECK-LABEL: module @neon
// CHECK: func.func private @dense
// CHECK: arith.muli {{.*}} : vector<64xi16>
// CHECK: arith.muli {{.*}} : vector<64xi16>
// CHECK: %[[WORDS:.*]] = arith.addi {{.*}} : vector<64xi16>
// CHECK: kernel.add_pairs {{.*}}, %[[WORDS]]
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x32x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Twice -128 * -128 is no i16: products of a step go into the sum by themselves.
!x = tensor<1x32x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @neon
// CHECK: func.func private @dense
// CHECK: %[[WORDS:.*]] = arith.muli {{.*}} : vector<64xi16>
// CHECK-NEXT: kernel.add_pairs {{.*}}, %[[WORDS]]
// CHECK-NOT: arith.addi {{.*}} : vector<64xi16>
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<-128> : tensor<32x32x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

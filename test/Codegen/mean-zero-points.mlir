// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=dotprod | FileCheck %s

// AArch64: zero points are taken off the sum of a mean at once, as many as there are elements of the input.
!x = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:100>>
!y = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: func.func private @avg_pool
// CHECK: scf.for
// CHECK-NOT: arith.subi {{.*}} vector<16xi32>
// CHECK: scf.yield {{.*}} vector<16xi32>
// CHECK: arith.muli {{.*}} vector<16xi32>
// CHECK: arith.subi {{.*}} vector<16xi32>
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %y = nn.avg_pool %x kernel [3, 3] pads [1, 1, 1, 1] : (!x) -> !y
  return %y : !y
}

// -----

!x = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:100>>
!y = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>

// Elements outside of the input are counted but not added.
// CHECK-LABEL: func.func private @avg_pool
// CHECK: scf.for
// CHECK: arith.subi {{.*}} vector<16xi32>
// CHECK: scf.yield {{.*}} vector<16xi32>
// CHECK-NOT: arith.muli {{.*}} vector<16xi32>
// CHECK: return
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %y = nn.avg_pool %x kernel [3, 3] pads [1, 1, 1, 1] count_include_pad : (!x) -> !y
  return %y : !y
}

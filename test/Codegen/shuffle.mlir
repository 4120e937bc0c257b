// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=avx512vnni | FileCheck %s

// Channels that become pixels between two convolutions are moved by one step: reshape and transposition have no memory of their
// own. Of every fourth byte, sixteen are the low bytes of integers of 32 bits.
!x = tensor<1x4x8x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<64x4x1x1x!quant.uniform<i8:f32, 0.5>>
!phases = tensor<1x64x8x32x!quant.uniform<u8:f32, 0.5:128>>
!split = tensor<1x16x2x2x8x32x!quant.uniform<u8:f32, 0.5:128>>
!moved = tensor<1x16x8x2x32x2x!quant.uniform<u8:f32, 0.5:128>>
!image = tensor<1x16x16x64x!quant.uniform<u8:f32, 0.5:128>>
!w2 = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK: kernel.step @dense
// CHECK-NEXT: kernel.step @[[COPY:copy[_0-9]*]] [#kernel.arg<arena {{[0-9]+}}>, #kernel.arg<arena {{[0-9]+}}>]
// CHECK-NEXT: kernel.step @dense
// CHECK: func.func private @[[COPY]](
// CHECK: vector.load {{.*}} vector<64xi8>
// CHECK-NEXT: vector.bitcast {{.*}} to vector<16xi32>
// CHECK-NEXT: arith.trunci {{.*}} to vector<16xi8>
func.func @main(%x: !x {nn.name = "x"}) -> (!image {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<64x4x1x1xi8> -> !w
  %w2 = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w2
  %0 = nn.conv %x, %w : (!x, !w) -> !phases
  %1 = nn.reshape %0 : (!phases) -> !split
  %2 = nn.transpose %1 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !moved
  %3 = nn.reshape %2 : (!moved) -> !image
  %4 = nn.conv %3, %w2 : (!image, !w2) -> !image
  return %4 : !image
}

// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx512vnni | FileCheck %s
// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx2 | FileCheck %s --check-prefix=AVX2
// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=dotprod | FileCheck %s --check-prefix=WHOLE

// Of 24 outputs, a tile computes sixteen for each pixel and eight for two pixels in one vector: ten pixels take fifteen dot
// products. The eight outputs' weights are those of the second half of the last panel.
!x = tensor<1x4x8x20x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<24x4x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x24x8x20x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: func.func private @dense
// CHECK: vector.load {{.*}} vector<8xi32>
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = kernel.broadcast4
// CHECK: %[[SECOND:.*]] = kernel.broadcast4
// CHECK: %[[BOTH:.*]] = vector.shuffle %[[FIRST]], %[[SECOND]] [0, 1, {{.*}}, 31, 96, 97, {{.*}}, 127]
// CHECK: %[[HALF:.*]] = vector.load {{.*}} vector<32xi8>
// CHECK: %[[TWICE:.*]] = vector.shuffle %[[HALF]], %[[HALF]] [0, 1, {{.*}}, 31, 0, 1, {{.*}}, 31]
// CHECK: kernel.dot4 %{{.*}}, %[[BOTH]], %[[TWICE]]
// CHECK: vector.store {{.*}} vector<16xi8>
// CHECK: vector.store {{.*}} vector<8xi8>
// AVX2-LABEL: func.func private @dense
// AVX2: vector.store {{.*}} vector<8xi8>
// WHOLE-LABEL: func.func private @dense
// WHOLE-NOT: vector<8xi8>
// WHOLE: return
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<24x4x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// A residual is read in the order of channels, and twenty outputs leave four.
!x = tensor<1x24x8x20x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<24x24x1x1x!quant.uniform<i8:f32, 0.5>>
!w20 = tensor<20x24x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x20x8x20x!quant.uniform<u8:f32, 0.5:128>>
!r = tensor<1x24x8x20xf32>

// CHECK-LABEL: func.func private @dense
// CHECK-NOT: vector<8xi8>
// CHECK-LABEL: func.func private @dense
// CHECK-NOT: vector<8xi8>
// CHECK: return
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}, !y {nn.name = "z"}) {
  %w = nn.constant dense<1> : tensor<24x24x1x1xi8> -> !w
  %w20 = nn.constant dense<1> : tensor<20x24x1x1xi8> -> !w20
  %0 = octet.group(%a = %x, %b = %w) : (!x, !w) -> !x {
    %1 = nn.conv %a, %b : (!x, !w) -> !r
    %2 = octet.dequantize %a : (!x) -> !r
    %3 = nn.add %1, %2 : (!r, !r) -> !r
    octet.yield %3 : !r
  }
  %4 = nn.conv %x, %w20 : (!x, !w20) -> !y
  return %0, %4 : !x, !y
}

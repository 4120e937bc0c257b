// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=avx512vnni | FileCheck %s

// An image of one channel is dense as well as channels last: it is no view of the phases, but what the step writes.
// CHECK: kernel.step @dense_f32{{[_0-9]*}} [{{.*}}, #kernel.arg<arena [[PHASES:[0-9]+]]>]
// CHECK-NEXT: kernel.step @copy{{[_0-9]*}} [#kernel.arg<arena [[PHASES]]>, #kernel.arg<arena [[IMAGE:[0-9]+]]>]
// CHECK-NEXT: kernel.step @max_pool{{[_0-9]*}} [#kernel.arg<arena [[IMAGE]]>,
func.func @main(%x: tensor<1x3x8x8xf32> {nn.name = "x"}) -> (tensor<1x1x9x9xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<4x3x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = nn.reshape %0 : (tensor<1x4x8x8xf32>) -> tensor<1x1x2x2x8x8xf32>
  %2 = nn.transpose %1 permutation [0, 1, 4, 2, 5, 3] : (tensor<1x1x2x2x8x8xf32>) -> tensor<1x1x8x2x8x2xf32>
  %3 = nn.reshape %2 : (tensor<1x1x8x2x8x2xf32>) -> tensor<1x1x16x16xf32>
  %4 = nn.max_pool %3 kernel [2, 2] strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x1x16x16xf32>) -> tensor<1x1x9x9xf32>
  return %4 : tensor<1x1x9x9xf32>
}

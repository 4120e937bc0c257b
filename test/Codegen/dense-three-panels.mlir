// RUN: octet-opt %s --octet-emit-program=levels=avx512vnni,avx2 | FileCheck %s

!w = !quant.uniform<i8:f32, 0.5>
!q = !quant.uniform<u8:f32, 0.5:128>

// Eight pixels by three panels, where registers hold so many sums: each vector of weights is read for eight of them.
// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.step @dense{{.*}} range 8
// CHECK-COUNT-24: kernel.dot4
// CHECK-NOT: kernel.dot4
// CHECK-LABEL: module @avx2
// CHECK-COUNT-8: kernel.dot2
// CHECK-NOT: kernel.dot2
func.func @main(%x: tensor<64x256x!q> {nn.name = "x"}) -> (tensor<64x96xf32> {nn.name = "y"}) {
  %w = nn.constant dense<65> : tensor<96x256xi8> -> tensor<96x256x!w>
  %0 = nn.linear %x, %w : (tensor<64x256x!q>, tensor<96x256x!w>) -> tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
}

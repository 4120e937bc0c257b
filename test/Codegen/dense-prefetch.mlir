// RUN: octet-opt %s --split-input-file --octet-emit-program=levels=avx512vnni | FileCheck %s

!w = !quant.uniform<i8:f32, 0.5>
!q = !quant.uniform<u8:f32, 0.5:128>

// 64 KB of weights that three tiles read: with each vector of a panel, the same one of the panel behind is fetched.
// CHECK-LABEL: kernel.program @main
// CHECK: func.func private @dense
// CHECK: memref.prefetch %[[W:.*]][%{{.*}}], read, locality<2>, data : memref<65536xi8>
// CHECK: vector.load %[[W]]
func.func @main(%x: tensor<24x256x!q> {nn.name = "x"}) -> (tensor<24x256xf32> {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<256x256xi8> -> tensor<256x256x!w>
  %0 = nn.linear %x, %w : (tensor<24x256x!q>, tensor<256x256x!w>) -> tensor<24x256xf32>
  return %0 : tensor<24x256xf32>
}

// -----

!w = !quant.uniform<i8:f32, 0.5>
!q = !quant.uniform<u8:f32, 0.5:128>

// So many tiles need not wait for them, and fewer weights stay in the caches.
// CHECK-LABEL: kernel.program @main
// CHECK: func.func private @dense
// CHECK: func.func private @dense
// CHECK-NOT: memref.prefetch
func.func @main(%x: tensor<2048x256x!q> {nn.name = "x"}, %z: tensor<24x64x!q> {nn.name = "z"}) -> (tensor<2048x256xf32> {nn.name = "y"}, tensor<24x64xf32> {nn.name = "u"}) {
  %w = nn.constant dense<1> : tensor<256x256xi8> -> tensor<256x256x!w>
  %v = nn.constant dense<1> : tensor<64x64xi8> -> tensor<64x64x!w>
  %0 = nn.linear %x, %w : (tensor<2048x256x!q>, tensor<256x256x!w>) -> tensor<2048x256xf32>
  %1 = nn.linear %z, %v : (tensor<24x64x!q>, tensor<64x64x!w>) -> tensor<24x64xf32>
  return %0, %1 : tensor<2048x256xf32>, tensor<24x64xf32>
}

// -----

// Floats take four times as many bytes, and more time to multiply by each.
// CHECK-LABEL: kernel.program @main
// CHECK: func.func private @dense_f32
// CHECK: memref.prefetch {{.*}} memref<16384xf32>
// CHECK: func.func private @dense_f32
// CHECK-NOT: memref.prefetch
func.func @main(%x: tensor<24x128xf32> {nn.name = "x"}, %z: tensor<200x128xf32> {nn.name = "z"}) -> (tensor<24x128xf32> {nn.name = "y"}, tensor<200x128xf32> {nn.name = "u"}) {
  %w = nn.constant dense<1.0> : tensor<128x128xf32>
  %v = nn.constant dense<2.0> : tensor<128x128xf32>
  %0 = nn.linear %x, %w : (tensor<24x128xf32>, tensor<128x128xf32>) -> tensor<24x128xf32>
  %1 = nn.linear %z, %v : (tensor<200x128xf32>, tensor<128x128xf32>) -> tensor<200x128xf32>
  return %0, %1 : tensor<24x128xf32>, tensor<200x128xf32>
}

// RUN: octet-opt %s --split-input-file --octet-emit-program=levels=avx2 | FileCheck %s

// CHECK-LABEL: kernel.program @main
// CHECK: arith.constant {{.*}}0x7F800000
// CHECK: kernel.scale
func.func @main(%x: tensor<16x16xf32> {nn.name = "x"}) -> (tensor<16x16xf32> {nn.name = "y"}) {
  %y = nn.exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// -----

// A difference to the largest number of a row is not above 0, so that no result is infinite.
// CHECK-LABEL: kernel.program @main
// CHECK-NOT: 0x7F800000
// CHECK: kernel.scale
// CHECK-NOT: 0x7F800000
func.func @main(%x: tensor<16x16xf32> {nn.name = "x"}) -> (tensor<16x16xf32> {nn.name = "y"}) {
  %m = nn.reduce_max %x axes [1] keep_dims : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %d = nn.sub %x, %m : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %y = nn.exp %d : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// -----

// Largest numbers of rows are taken off columns here.
// CHECK-LABEL: kernel.program @main
// CHECK: arith.constant {{.*}}0x7F800000
// CHECK: kernel.scale
func.func @main(%x: tensor<16x16xf32> {nn.name = "x"}) -> (tensor<16x16xf32> {nn.name = "y"}) {
  %m = nn.reduce_max %x axes [1] : (tensor<16x16xf32>) -> tensor<16xf32>
  %d = nn.sub %x, %m : (tensor<16x16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
  %y = nn.exp %d : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// -----

// A negative factor turns it round.
// CHECK-LABEL: kernel.program @main
// CHECK: arith.constant {{.*}}0x7F800000
// CHECK: kernel.scale
func.func @main(%x: tensor<16x16xf32> {nn.name = "x"}) -> (tensor<16x16xf32> {nn.name = "y"}) {
  %f = nn.constant dense<-1.0> : tensor<1xf32>
  %m = nn.reduce_max %x axes [1] keep_dims : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %d = nn.sub %x, %m : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %n = nn.mul %d, %f : (tensor<16x16xf32>, tensor<1xf32>) -> tensor<16x16xf32>
  %y = nn.exp %n : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// Folds read and write constants of any dialect; the operands that they leave alone stay.
// RUN: split-file %s %t
// RUN: octet-opt %t/net.mlir --pass-pipeline='builtin.module(octet-attach-policy{backend=%t/backend.mlir},octet-fuse)' | FileCheck %s

// Weights [[1, 2], [3, 4]] times [2, 0.5]; biases [1, 2] times the same.
// CHECK: %[[W:.*]] = "tosa.const"() <{values = dense_resource<[[W_NAME:.*]]> : tensor<2x1x1x2xf32>}>
// CHECK: %[[B:.*]] = "tosa.const"() <{values = dense_resource<[[B_NAME:.*]]> : tensor<2xf32>}>
// CHECK: tosa.conv2d %arg0, %[[W]], %[[B]], %[[Z:.*]], %[[Z]]
// CHECK-NOT: tosa.mul
// CHECK: return
// CHECK-DAG: [[W_NAME]]: "0x10000000000000400000804
// CHECK-DAG: [[B_NAME]]: "0x10000000000000400000803F"

//--- net.mlir
func.func @main(%x: tensor<1x1x1x2xf32>) -> tensor<1x1x1x2xf32> {
  %w = "tosa.const"() {values = dense<[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]> : tensor<2x1x1x2xf32>} : () -> tensor<2x1x1x2xf32>
  %b = "tosa.const"() {values = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %z = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %s = "tosa.const"() {values = dense<[[[[2.0, 0.5]]]]> : tensor<1x1x1x2xf32>} : () -> tensor<1x1x1x2xf32>
  %shift = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  %0 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x1x1x2xf32>, tensor<2x1x1x2xf32>, tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1x2xf32>
  %1 = tosa.mul %0, %s, %shift : (tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi8>) -> tensor<1x1x1x2xf32>
  return %1 : tensor<1x1x1x2xf32>
}
//--- backend.mlir
octet.backend @scales {
  octet.fold @conv_scale channel_axis = -1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %zeros = octet.any variadic
    %c = octet.match ["tosa.conv2d"](%x, %w, %b, %zeros)
    %s = octet.parameter
    %shift = octet.any
    %y = octet.match ["tosa.mul"](%c, %s, %shift)
    octet.affine %y scale %s
  }
}

// RUN: octet-opt %s | octet-opt | FileCheck %s
// RUN: octet-opt %s --mlir-print-op-generic | octet-opt | FileCheck %s

!u = !quant.uniform<u8:f32, 1.0>

// CHECK-LABEL: func.func @of_the_tensor
func.func @of_the_tensor(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: %[[S:.*]], %[[Z:.*]] = octet.choose_qparams %{{.*}} range [0, 255] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  // CHECK: octet.quantize_dynamic %{{.*}} by %[[S]], %[[Z]] : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x!quant.uniform<u8:f32, 1.000000e+00>>
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x!u>
  // CHECK: octet.dequantize_dynamic %{{.*}} by %[[S]], %[[Z]]
  %y = octet.dequantize_dynamic %q by %s, %z : (tensor<2x3x!u>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @of_rows
func.func @of_rows(%x: tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>) {
  // CHECK: octet.choose_qparams %{{.*}} range [-64, 63] per_row
  %s, %z = octet.choose_qparams %x range [-64, 63] per_row : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  return %s, %z : tensor<2x1xf32>, tensor<2x1xi32>
}

// CHECK-LABEL: func.func @as_onnx
func.func @as_onnx(%x: tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>) {
  // CHECK: octet.choose_qparams %{{.*}} range [0, 255] onnx :
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  return %s, %z : tensor<f32>, tensor<i32>
}

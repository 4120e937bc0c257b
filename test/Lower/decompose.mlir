// RUN: octet-opt %s --octet-decompose | FileCheck %s
// A stock mlir-opt reads the result, which has no operator of Octet's any more; what it computes is tested in test/Reference.

!q = tensor<2x!quant.uniform<u8:f32, 0.5:3>>
// CHECK-LABEL: func @quantize_and_dequantize
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi8>)
// CHECK-DAG: %[[I:.*]] = arith.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK: %[[M:.*]] = arith.mulf %[[X]], %[[I]]
// CHECK: %[[R:.*]] = math.roundeven %[[M]]
// CHECK: %[[A:.*]] = arith.addf %[[R]], %{{.*}} : tensor<2xf32>
// CHECK: %[[L:.*]] = arith.maxnumf %[[A]], %{{.*}}
// CHECK: %[[H:.*]] = arith.minnumf %[[L]], %{{.*}}
// CHECK: %[[Q:.*]] = arith.fptoui %[[H]] : tensor<2xf32> to tensor<2xi8>
// CHECK: %[[F:.*]] = arith.uitofp %[[Q]] : tensor<2xi8> to tensor<2xf32>
// CHECK: %[[S:.*]] = arith.subf %[[F]], %{{.*}}
// CHECK: %[[Y:.*]] = arith.mulf %[[S]], %{{.*}}
// CHECK: return %[[Y]], %[[Q]]
func.func @quantize_and_dequantize(%x: tensor<2xf32>) -> (tensor<2xf32>, !q) {
  %q = octet.quantize %x : (tensor<2xf32>) -> !q
  %y = octet.dequantize %q : (!q) -> tensor<2xf32>
  return %y, %q : tensor<2xf32>, !q
}

// Signed integers are cast as such; a zero point of 0 is not added; other scales are spread along their axis.
// CHECK-LABEL: func @scales_per_axis
// CHECK-SAME: %[[X:.*]]: tensor<3x2x4xi8>
// CHECK: %[[F:.*]] = arith.sitofp %[[X]]
// CHECK: %[[C:.*]] = arith.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK: %[[E:.*]] = tensor.empty() : tensor<3x2x4xf32>
// CHECK: %[[B:.*]] = linalg.broadcast ins(%[[C]] : tensor<2xf32>) outs(%[[E]] : tensor<3x2x4xf32>) dimensions = [0, 2]
// CHECK: arith.mulf %[[F]], %[[B]]
func.func @scales_per_axis(%x: tensor<3x2x4x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<3x2x4xf32> {
  %y = octet.dequantize %x : (tensor<3x2x4x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<3x2x4xf32>
  return %y : tensor<3x2x4xf32>
}

// Constants of quantized types are constants of integers.
// CHECK-LABEL: func @constants
// CHECK: %[[C:.*]] = arith.constant dense<[1, -2]> : tensor<2xi32>
// CHECK: arith.sitofp %[[C]] : tensor<2xi32> to tensor<2xf32>
// CHECK: %[[D:.*]] = arith.constant dense<[3, 4]> : tensor<2xi8>
// CHECK: arith.uitofp %[[D]]
func.func @constants() -> (tensor<2xf32>, tensor<2xf32>) {
  %b = nn.constant dense<[1, -2]> : tensor<2xi32> -> tensor<2x!quant.uniform<i32:f32, 0.5>>
  %0 = octet.dequantize %b : (tensor<2x!quant.uniform<i32:f32, 0.5>>) -> tensor<2xf32>
  %w = arith.constant dense<[3, 4]> : tensor<2xi8>
  %s = quant.scast %w : tensor<2xi8> to !q
  %1 = octet.dequantize %s : (!q) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @rounding_makes_no_integers
// CHECK: math.roundeven
// CHECK-NOT: arith.fptoui
// CHECK: arith.subf
// CHECK-NOT: octet.
func.func @rounding_makes_no_integers(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = octet.fake_quantize %x as !quant.uniform<u8<0:15>:f32, 0.5:3> : tensor<2xf32>
  return %y : tensor<2xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-convert | FileCheck %s

// The weight's reciprocal law takes 0.273939937 to 128 steps, which the division would not; the bias follows both scales.
// CHECK-LABEL: func @trained
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2xf32>
// CHECK-DAG: %[[XQ:.*]] = octet.quantize %[[X]] : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<u8<0:15>:f32, 5.000000e-01:3>>
// CHECK-DAG: %[[XD:.*]] = octet.dequantize %[[XQ]]
// CHECK-DAG: %[[W:.*]] = nn.constant dense_resource<w.i8> : tensor<1x2xi8> -> tensor<1x2x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-DAG: %[[WD:.*]] = octet.dequantize %[[W]]
// CHECK-DAG: %[[B:.*]] = nn.constant dense_resource<b.i32> : tensor<1xi32> -> tensor<1x!quant.uniform<i32:f32, 1.250000e-01>>
// CHECK-DAG: %[[BD:.*]] = octet.dequantize %[[B]]
// CHECK: nn.linear %[[XD]], %[[WD]], %[[BD]]
// CHECK-NOT: octet.fake_quantize
func.func @trained(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense_resource<w> : tensor<1x2xf32>
  %b = nn.constant dense_resource<b> : tensor<1xf32>
  %0 = octet.fake_quantize %x as !quant.uniform<u8<0:15>:f32, 0.5:3> : tensor<1x2xf32>
  %1 = octet.fake_quantize %w as !quant.uniform<i8:f32, 0.25> : tensor<1x2xf32>
  %2 = nn.linear %0, %1, %b : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// No product reads weights with a zero point as integers: they become the real numbers that these stand for.
// CHECK-LABEL: func @unsigned_weights
// CHECK-DAG: %[[W:.*]] = nn.constant dense_resource<constant.rounded> : tensor<1x2xf32>
// CHECK: nn.linear %{{.*}}, %[[W]]
// CHECK-DAG: w.i8: "0x1000000004FE"
// CHECK-DAG: b.i32: "0x1000000008000000"
// CHECK-DAG: constant.rounded: "0x100000000000803F000080BE"
func.func @unsigned_weights(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<[[1.0, -0.3]]> : tensor<1x2xf32>
  %0 = octet.fake_quantize %x as !quant.uniform<u8:f32, 0.5:3> : tensor<1x2xf32>
  %1 = octet.fake_quantize %w as !quant.uniform<u8:f32, 0.25:128> : tensor<1x2xf32>
  %2 = nn.linear %0, %1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F0000C0BE", b: "0x040000000000803F" } } #-}

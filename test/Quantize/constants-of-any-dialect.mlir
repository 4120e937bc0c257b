// Weights and biases are read from constants of any dialect and written as constants of the same one.
// RUN: octet-opt %s --allow-unregistered-dialect --split-input-file --octet-attach-policy=backend=%S/Inputs/any-dialect.mlir \
// RUN:   --octet-prepare --octet-convert | FileCheck %s

// Scale 1 / 127.5, hence 127.5 (clamped to 127), -63.75, 31.875, 0; biases at 0.5 / 127.5.
// CHECK-LABEL: func @of_arith
// CHECK-DAG: %[[W:.*]] = arith.constant dense_resource<w.i8> : tensor<2x2xi8>
// CHECK-DAG: %[[WQ:.*]] = quant.scast %[[W]] {{.*}}: tensor<2x2xi8> to tensor<2x2x!quant.uniform<i8:f32, 0.0078431
// CHECK-DAG: %[[WD:.*]] = octet.dequantize %[[WQ]]
// CHECK-DAG: %[[B:.*]] = arith.constant dense_resource<b.i32> : tensor<2xi32>
// CHECK-DAG: %[[BQ:.*]] = quant.scast %[[B]] {{.*}}: tensor<2xi32> to tensor<2x!quant.uniform<i32:f32, 0.0039215
// CHECK-DAG: %[[BD:.*]] = octet.dequantize %[[BQ]]
// CHECK: "my.linear"(%{{.*}}, %[[WD]], %[[BD]])
// CHECK-NOT: dense_resource<w>
// CHECK-DAG: w.i8: "0x100000007FC02000"
// CHECK-DAG: b.i32: "0x10000000FF000000FE010000"
func.func @of_arith(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense_resource<w> : tensor<2x2xf32>
  %b = arith.constant dense_resource<b> : tensor<2xf32>
  %0 = "my.linear"(%x, %w, %b) : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> loc("fc")
  return %0 : tensor<1x2xf32>
}
{-# dialect_resources: { builtin: {
  w: "0x040000000000803F000000BF0000803E00000000", b: "0x040000000000803F00000040" } } #-}

// -----

// TOSA has constants of quantized types.
// CHECK-LABEL: func @of_tosa
// CHECK: %[[W:.*]] = "tosa.const"() <{values = dense_resource<constant.i8> : tensor<1x2xi8>}> : () -> tensor<1x2x!quant.uniform<i8:f32, 0.0078431
// CHECK-NEXT: %[[WD:.*]] = octet.dequantize %[[W]]
// CHECK: "my.linear"(%{{.*}}, %[[WD]])
// CHECK-NOT: octet.quantize
// CHECK: constant.i8: "0x100000007FC0"
func.func @of_tosa(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = "tosa.const"() {values = dense<[[1.0, -0.5]]> : tensor<1x2xf32>} : () -> tensor<1x2xf32>
  %0 = "my.linear"(%x, %w) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32> loc("fc")
  return %0 : tensor<1x1xf32>
}

// -----

// Splats are expanded.
// CHECK-LABEL: func @of_a_splat
// CHECK: arith.constant dense_resource<constant.i8> : tensor<1x2xi8>
// CHECK: constant.i8: "0x100000007F7F"
func.func @of_a_splat(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = arith.constant dense<2.0> : tensor<1x2xf32>
  %0 = "my.linear"(%x, %w) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32> loc("fc")
  return %0 : tensor<1x1xf32>
}

// -----

// One scale for each channel, but one bias for all: the bias stays float.
// CHECK-LABEL: func @of_one_bias_for_all_channels
// CHECK-DAG: %[[B:.*]] = arith.constant dense<1.000000e+00> : tensor<1xf32>
// CHECK-DAG: octet.dequantize %{{.*}}quant.uniform<i8:f32:0,
// CHECK: "my.linear"(%{{.*}}, %{{.*}}, %[[B]])
func.func @of_one_bias_for_all_channels(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = arith.constant dense<2.0> : tensor<3x2xf32>
  %b = arith.constant dense<1.0> : tensor<1xf32>
  %0 = "my.linear"(%x, %w, %b) : (tensor<1x2xf32>, tensor<3x2xf32>, tensor<1xf32>) -> tensor<1x3xf32> loc("fc")
  return %0 : tensor<1x3xf32>
}
octet.qconfig_mapping @per_channel {
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric>>
}

// RUN: octet-opt %s --octet-expand-fake-quantize | FileCheck %s

// CHECK-LABEL: func @values_become_pairs
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK: %[[Q:.*]] = octet.quantize %[[X]] {octet.origin = #octet.origin<"x">} : (tensor<2xf32>) -> tensor<2x!quant.uniform<u8<0:15>:f32, 5.000000e-01:3>>
// CHECK: %[[D:.*]] = octet.dequantize %[[Q]]
// CHECK: return %[[D]]
// CHECK-NOT: octet.fake_quantize
func.func @values_become_pairs(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.fake_quantize %x as !quant.uniform<u8<0:15>:f32, 0.5:3> {octet.origin = #octet.origin<"x">} : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// 0.75 is a tie, to 2 steps of 0.5; 9.0 of the other channel is clamped to 15 steps of 0.25.
// CHECK-LABEL: func @constants_become_integers
// CHECK: %[[C:.*]] = nn.constant dense_resource<w.i8> : tensor<2xi8> -> tensor<2x!quant.uniform<i8<-15:15>:f32:0, {5.000000e-01,2.500000e-01}>>
// CHECK-NEXT: %[[D:.*]] = octet.dequantize %[[C]]
// CHECK-NEXT: return %[[D]]
func.func @constants_become_integers() -> tensor<2xf32> {
  %w = nn.constant dense_resource<w> : tensor<2xf32>
  %0 = octet.fake_quantize %w as !quant.uniform<i8<-15:15>:f32:0, {0.5, 0.25}> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @other_widths_become_rounded_numbers
// CHECK: %[[C:.*]] = nn.constant dense_resource<w.rounded> : tensor<2xf32>
// CHECK: return %[[C]]
// CHECK-DAG: w.i8: "0x10000000020F"
// CHECK-DAG: w.rounded: "0x100000000000803F00001041"
func.func @other_widths_become_rounded_numbers() -> tensor<2xf32> {
  %w = nn.constant dense_resource<w> : tensor<2xf32>
  %0 = octet.fake_quantize %w as !quant.uniform<i16:f32, 0.5> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

{-# dialect_resources: { builtin: { w: "0x040000000000403F00001041" } } #-}

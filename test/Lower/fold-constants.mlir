// RUN: octet-opt %s --octet-fold-constants --split-input-file | FileCheck %s

!w = !quant.uniform<i8:f32:0, {0.5, 0.25:1}>

// (3 - 0) * 0.5 = 1.5 = 0x3FC00000 and (3 - 1) * 0.25 = 0.5 = 0x3F000000.
// CHECK-LABEL: func @dequantize_per_channel
// CHECK-NEXT: %[[C:.*]] = nn.constant dense_resource<constant.f32> : tensor<2x1xf32>
// CHECK-NEXT: return %[[C]]
// CHECK: constant.f32: "0x{{.*}}0000C03F0000003F"
func.func @dequantize_per_channel() -> tensor<2x1xf32> {
  %q = nn.constant dense<3> : tensor<2x1xi8> -> tensor<2x1x!w>
  %d = octet.dequantize %q : (tensor<2x1x!w>) -> tensor<2x1xf32>
  return %d : tensor<2x1xf32>
}

// -----

!b = !quant.uniform<i32:f32, 0.5>

// CHECK-LABEL: func @dequantize_bias
// CHECK: constant.f32: "0x{{.*}}0000164300001643"
func.func @dequantize_bias() -> tensor<2xf32> {
  %q = nn.constant dense<300> : tensor<2xi32> -> tensor<2x!b>
  %d = octet.dequantize %q : (tensor<2x!b>) -> tensor<2xf32>
  return %d : tensor<2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>

// 100 / 0.5 + 128 is clamped to 255; back it is 63.5 = 0x427E0000.
// CHECK-LABEL: func @quantize_then_dequantize
// CHECK: nn.constant dense_resource<constant.i8.f32> : tensor<2xf32>
// CHECK-NOT: octet.
// CHECK: "0x{{.*}}00007E4200007E42"
func.func @quantize_then_dequantize() -> tensor<2xf32> {
  %c = nn.constant dense<100.0> : tensor<2xf32>
  %q = octet.quantize %c : (tensor<2xf32>) -> tensor<2x!x>
  %d = octet.dequantize %q : (tensor<2x!x>) -> tensor<2xf32>
  return %d : tensor<2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>

// CHECK-LABEL: func @what_is_no_constant_stays
// CHECK: octet.quantize
// CHECK: octet.dequantize
func.func @what_is_no_constant_stays(%x: tensor<2xf32>) -> tensor<2xf32> {
  %q = octet.quantize %x : (tensor<2xf32>) -> tensor<2x!x>
  %d = octet.dequantize %q : (tensor<2x!x>) -> tensor<2xf32>
  return %d : tensor<2xf32>
}

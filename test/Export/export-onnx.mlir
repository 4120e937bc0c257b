// RUN: octet-translate --export-onnx %s -o %t.onnx
// RUN: octet-translate --export-onnx %s | strings | FileCheck %s

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32:0, {0.25, 0.5}>
!b = !quant.uniform<i32:f32:0, {0.125, 0.25}>
!y = !quant.uniform<u8:f32, 0.25:10>

// Nodes are called as the source's nodes, interface tensors as the function says.
// CHECK: octet
// CHECK: QuantizeLinear
// CHECK: image_dequantized
// CHECK: DequantizeLinear
// CHECK: conv1
// CHECK: Conv
// CHECK: relu1
// CHECK: Relu
// CHECK: relu1_quantized
// CHECK: scores
func.func @main(%x: tensor<1x3x8x8xf32> {nn.name = "image"}) -> (tensor<1x2x8x8xf32> {nn.name = "scores"}) {
  %xq = octet.quantize %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8x!x>
  %xd = octet.dequantize %xq : (tensor<1x3x8x8x!x>) -> tensor<1x3x8x8xf32>
  %wq = nn.constant dense<1> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!w>
  %bq = nn.constant dense<7> : tensor<2xi32> -> tensor<2x!b>
  %w = octet.dequantize %wq : (tensor<2x3x3x3x!w>) -> tensor<2x3x3x3xf32>
  %b = octet.dequantize %bq : (tensor<2x!b>) -> tensor<2xf32>
  %y = octet.group(%0 = %xd, %1 = %w, %2 = %b) : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1, %2 pads [1, 1, 1, 1] {octet.origin = #octet.origin<"conv1">} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
    %r = nn.relu %c {octet.origin = #octet.origin<"relu1">} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %r : tensor<1x2x8x8xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

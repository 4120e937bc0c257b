// RUN: octet-opt %s --canonicalize --cse | octet-opt | FileCheck %s

!q = !quant.uniform<u8:f32, 0.5:3>
// The pair marks where a value is quantized: it is never folded.
// CHECK-LABEL: func @pairs_stay
func.func @pairs_stay(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: %[[Q:.*]] = octet.quantize
  %q = octet.quantize %x : (tensor<2xf32>) -> tensor<2x!q>
  // CHECK: %[[D:.*]] = octet.dequantize %[[Q]]
  %d = octet.dequantize %q : (tensor<2x!q>) -> tensor<2xf32>
  // CHECK: %[[Q2:.*]] = octet.quantize %[[D]]
  %q2 = octet.quantize %d : (tensor<2xf32>) -> tensor<2x!q>
  // CHECK: octet.dequantize %[[Q2]]
  %d2 = octet.dequantize %q2 : (tensor<2x!q>) -> tensor<2xf32>
  return %d2 : tensor<2xf32>
}

// CHECK-LABEL: func @group
func.func @group(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: octet.group "cpu::act"(%{{.*}} = %{{.*}}) : (tensor<2xf32>) -> tensor<2xf32> {
  %y = octet.group "cpu::act"(%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    %r = nn.relu %a : (tensor<2xf32>) -> tensor<2xf32>
    // CHECK: octet.yield
    octet.yield %r : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}

// RUN: octet-opt %s --octet-quantize-signature --split-input-file --verify-diagnostics | FileCheck %s

!x = !quant.uniform<u8:f32, 0.5:128>

// CHECK-LABEL: func @integers_in_integers_out
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:128>> {nn.name = "x"}) -> (tensor<2x1x!quant.uniform<u8:f32, 5.000000e-01:128>> {nn.name = "y"})
// CHECK-NEXT: %[[Y:.*]] = nn.reshape %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @integers_in_integers_out(%x: tensor<1x2xf32> {nn.name = "x"}) -> (tensor<2x1xf32> {nn.name = "y"}) {
  %q = octet.quantize %x : (tensor<1x2xf32>) -> tensor<1x2x!x>
  %t = nn.reshape %q : (tensor<1x2x!x>) -> tensor<2x1x!x>
  %y = octet.dequantize %t : (tensor<2x1x!x>) -> tensor<2x1xf32>
  return %y : tensor<2x1xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>
!z = !quant.uniform<u8:f32:1, {0.5, 0.25}>

// CHECK-LABEL: func @what_stays_real
// CHECK-SAME: (%{{.*}}: tensor<1x2xf32>, %{{.*}}: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>)
// expected-warning @below {{this input stays f32: it is not only quantized to bytes with one scale}}
func.func @what_stays_real(%x: tensor<1x2xf32>, %z: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %q = octet.quantize %x : (tensor<1x2xf32>) -> tensor<1x2x!x>
  // expected-warning @below {{this output stays f32: it is not computed in bytes with one scale}}
  %r = nn.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %p = octet.quantize %z : (tensor<1x2xf32>) -> tensor<1x2x!z>
  // expected-warning @below {{this output stays f32}}
  %y = octet.dequantize %p : (tensor<1x2x!z>) -> tensor<1x2xf32>
  return %r, %y : tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>

// A state is no part of the interface.
// CHECK-LABEL: func @states_stay_real
// CHECK-SAME: (%{{.*}}: tensor<1x2xf32> {nn.state = "h"}) -> (tensor<1x2xf32> {nn.state = "h"}, tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:128>>)
func.func @states_stay_real(%h: tensor<1x2xf32> {nn.state = "h"}) -> (tensor<1x2xf32> {nn.state = "h"}, tensor<1x2xf32>) {
  %q = octet.quantize %h : (tensor<1x2xf32>) -> tensor<1x2x!x>
  %y = octet.dequantize %q : (tensor<1x2x!x>) -> tensor<1x2xf32>
  return %y, %y : tensor<1x2xf32>, tensor<1x2xf32>
}

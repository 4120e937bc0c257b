// RUN: octet-opt %s --octet-to-fake-quantize --split-input-file --verify-diagnostics

!u = tensor<2x!quant.uniform<u8:f32, 0.5:3>>
func.func @integers_come_in(%x: !u) -> tensor<2xf32> {
  // expected-error @below {{reads integers that no octet.quantize makes; adopt the network as it is (octet-adopt), without samples}}
  %y = octet.dequantize %x : (!u) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

!u = tensor<2x!quant.uniform<u8:f32, 0.5:3>>
func.func @integers_leave(%x: tensor<2xf32>) -> !u {
  %y = octet.quantize %x : (tensor<2xf32>) -> !u
  // expected-error @below {{reads integers; adopt the network as it is (octet-adopt), without samples}}
  return %y : !u
}

// -----

!c = tensor<2x!quant.uniform<u8:f32:0, {0.5:3, 0.25}>>
func.func @activation_per_channel(%x: tensor<2xf32>) -> tensor<2xf32> {
  %q = octet.quantize %x : (tensor<2xf32>) -> !c
  // expected-error @below {{reads an activation with a scale per channel}}
  %y = octet.dequantize %q : (!c) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-prepare --split-input-file --verify-diagnostics

func.func @channels(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected one scale for an activation, but got '!quant.uniform<u8:f32:0, {5.000000e-01,2.500000e-01}>'; train it with one scale for all channels}}
  %y = octet.fake_quantize %x as !quant.uniform<u8:f32:0, {0.5, 0.25}> : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @pairs(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected a float program without quantized values; run octet-to-fake-quantize first, which keeps their ranges}}
  %q = octet.quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  %y = octet.dequantize %q : (tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

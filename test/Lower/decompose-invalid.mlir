// RUN: octet-opt %s --octet-decompose --split-input-file --verify-diagnostics

!q = tensor<2x!quant.uniform<u8:f32, 0.5:3>>
func.func @behind_lower(%x: !q) -> !q {
  // expected-error @below {{takes or gives quantized values; run octet-decompose in front of octet-lower}}
  %y = nn.relu %x : (!q) -> !q
  return %y : !q
}

// -----

func.func @wide(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected integers that f32 holds, but got '!quant.uniform<i32:f32, 5.000000e-01>'; quantize to 24 bits at most}}
  %y = octet.fake_quantize %x as !quant.uniform<i32:f32, 0.5> : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

!wide = tensor<2x!quant.uniform<i32:f32, 0.5:3>>
func.func @wide_with_a_zero_point(%x: !wide) -> tensor<2xf32> {
  // expected-error @below {{expected integers that f32 holds}}
  %y = octet.dequantize %x : (!wide) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @sizes_at_run_time(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{expected a static shape, but got 'tensor<?xf32>'; give the network sizes first}}
  %y = octet.fake_quantize %x as !quant.uniform<u8:f32, 0.5:3> : tensor<?xf32>
  return %y : tensor<?xf32>
}

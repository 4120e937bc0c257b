// RUN: octet-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(octet-to-quant)'

octet.observer @x #octet.min_max<dtype = ui8>
func.func @observed(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{is an observer, which upstream does not have; run octet-convert before}}
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @dynamic(%x: tensor<2xf32>) -> tensor<f32> {
  // expected-error @+1 {{'octet.choose_qparams' op has a scale that is computed, and upstream's are those of types; give the QConfig observers that are not dynamic}}
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<2xf32>) -> (tensor<f32>, tensor<i32>)
  return %s : tensor<f32>
}

// -----

func.func @weight_only(%w: tensor<2xf16>) -> tensor<2xf32> {
  // expected-error @+1 {{has no counterpart upstream; lower it before, or leave with another pass}}
  %0 = octet.dequantize_weights %w : (tensor<2xf16>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

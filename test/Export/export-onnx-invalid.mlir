// RUN: octet-translate --export-onnx %s --split-input-file --verify-diagnostics -o /dev/null

!x = !quant.uniform<u8:f32, 0.5:128>

// Every operator that ONNX does not have is named, not only the first.
func.func @main(%x: tensor<1x8x!x>) -> (tensor<1x8x!x>, tensor<1x8x!x>) {
  // expected-error @below {{stands on quantized types; export the reference model, before octet-lower}}
  %0 = nn.relu %x : (tensor<1x8x!x>) -> tensor<1x8x!x>
  // expected-error @below {{stands on quantized types; export the reference model, before octet-lower}}
  %1 = nn.add %x, %x : (tensor<1x8x!x>, tensor<1x8x!x>) -> tensor<1x8x!x>
  return %0, %1 : tensor<1x8x!x>, tensor<1x8x!x>
}

// -----

func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  // expected-error @below {{has no ONNX operator}}
  %0 = nn.relayout %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// -----

!wide = !quant.uniform<u16<0:999>:f32, 0.5:3>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has a storage type that the ONNX file cannot say: '!quant.uniform<u16<0:999>:f32, 5.000000e-01:3>'; use 8-bit storage}}
  %0 = octet.quantize %x : (tensor<8xf32>) -> tensor<8x!wide>
  // expected-error @below {{has a storage type that the ONNX file cannot say}}
  %1 = octet.dequantize %0 : (tensor<8x!wide>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @main(%i: tensor<2xi64>) -> tensor<2x4xf32> {
  %q = nn.constant dense<1> : tensor<3x4xui4>
  %s = nn.constant dense<0.5> : tensor<3x2xf32>
  // expected-error @below {{has scales in blocks, which the ONNX file cannot say; fold its weights first, with --octet-fold-constants}}
  %w = octet.dequantize_weights %q scales %s block [1, 2] : (tensor<3x4xui4>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %y = nn.gather %w, %i axis 0 : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

func.func @main() -> tensor<8xf32> {
  // expected-error @below {{has no data for the resource 'weights'}}
  %0 = nn.constant dense_resource<weights> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{expected a function 'main' with one block}}
module {
  func.func private @other()
}

// RUN: octet-opt %s --split-input-file --verify-diagnostics

func.func @range(%x: tensor<2x3xf32>) -> tensor<f32> {
  // expected-error @+1 {{'octet.choose_qparams' op expected a range [low, high] with low <= 0 <= high and low < high, but got [1, 255]}}
  %s, %z = octet.choose_qparams %x range [1, 255] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  return %s : tensor<f32>
}

// -----

func.func @range_of_onnx(%x: tensor<2x3xf32>) -> tensor<f32> {
  // expected-error @+1 {{'octet.choose_qparams' op expected the range [0, 255] of ONNX's rule, but got [0, 127]}}
  %s, %z = octet.choose_qparams %x range [0, 127] onnx : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  return %s : tensor<f32>
}

// -----

func.func @no_rows(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'octet.choose_qparams' op expected a tensor with rows, but got 'tensor<f32>'}}
  %s, %z = octet.choose_qparams %x range [0, 255] per_row : (tensor<f32>) -> (tensor<f32>, tensor<i32>)
  return %s : tensor<f32>
}

// -----

func.func @results(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
  // expected-error @+1 {{'octet.choose_qparams' op expected results of 'tensor<f32>', but got 'tensor<2x1xf32>'}}
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  return %s : tensor<2x1xf32>
}

// -----

func.func @scaled(%x: tensor<2xf32>, %s: tensor<f32>, %z: tensor<i32>) -> tensor<2x!quant.uniform<u8:f32, 0.5>> {
  // expected-error @+1 {{'octet.quantize_dynamic' op expected integers of scale 1 and zero point 0, but got '!quant.uniform<u8:f32, 5.000000e-01>'}}
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  return %q : tensor<2x!quant.uniform<u8:f32, 0.5>>
}

// -----

func.func @shape(%x: tensor<2x!quant.uniform<u8:f32, 1.0>>, %s: tensor<f32>, %z: tensor<i32>) -> tensor<3xf32> {
  // expected-error @+1 {{'octet.dequantize_dynamic' op expected a result of the input's shape, but got 'tensor<3xf32>'}}
  %y = octet.dequantize_dynamic %x by %s, %z : (tensor<2x!quant.uniform<u8:f32, 1.0>>, tensor<f32>, tensor<i32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @parameters(%x: tensor<2x3xf32>, %s: tensor<2x1xf32>, %z: tensor<i32>) -> tensor<2x3x!quant.uniform<u8:f32, 1.0>> {
  // expected-error @+1 {{'octet.quantize_dynamic' op expected scale and zero point of the tensor or of each row, but got 'tensor<i32>'}}
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<i32>) -> tensor<2x3x!quant.uniform<u8:f32, 1.0>>
  return %q : tensor<2x3x!quant.uniform<u8:f32, 1.0>>
}

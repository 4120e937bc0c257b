// Sums of integers that a file multiplies by the scale of the input and constants of the weights.
// RUN: octet-opt %s --octet-adopt --canonicalize | FileCheck %s

!q = tensor<2x3x8x!quant.uniform<u8:f32, 1.0>>
!w = tensor<4x8x!quant.uniform<i8:f32, 1.0>>
!x = tensor<2x3x8xf32>
!y = tensor<2x3x4xf32>

// CHECK-LABEL: func @of_the_tensor
// CHECK:         nn.constant {{.*}}-> tensor<4x8x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK:         %[[S:.*]], %[[Z:.*]] = octet.choose_qparams
// CHECK:         %[[X:.*]] = octet.dequantize_dynamic %{{.*}} by %[[S]], %[[Z]]
// CHECK:         %[[Y:.*]] = nn.linear %[[X]]
// CHECK-NEXT:    return %[[Y]]
func.func @of_the_tensor(%x: !x) -> !y {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %one = nn.constant dense<1.0> : tensor<f32>
  %c = nn.constant dense<0.25> : tensor<f32>
  %d = octet.dequantize_dynamic %q by %one, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %w = nn.constant dense<3> : tensor<4x8xi8> -> !w
  %f = octet.dequantize %w : (!w) -> tensor<4x8xf32>
  %a = nn.linear %d, %f : (!x, tensor<4x8xf32>) -> !y
  %t = nn.mul %s, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = nn.mul %a, %t : (!y, tensor<f32>) -> !y
  return %y : !y
}

// Of each output, behind a reshape, the factor on the left.
// CHECK-LABEL: func @of_outputs
// CHECK:         -> tensor<4x8x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01,1.250000e-01,1.000000e+00}>>
// CHECK:         %[[A:.*]] = nn.linear
// CHECK-NEXT:    %[[Y:.*]] = nn.reshape %[[A]]
// CHECK-NEXT:    return %[[Y]]
func.func @of_outputs(%x: !x) -> tensor<6x4xf32> {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %one = nn.constant dense<1.0> : tensor<f32>
  %c = nn.constant dense<[0.5, 0.25, 0.125, 1.0]> : tensor<4xf32>
  %d = octet.dequantize_dynamic %q by %one, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %w = nn.constant dense<3> : tensor<4x8xi8> -> !w
  %f = octet.dequantize %w : (!w) -> tensor<4x8xf32>
  %a = nn.linear %d, %f : (!x, tensor<4x8xf32>) -> !y
  %r = nn.reshape %a : (!y) -> tensor<6x4xf32>
  %t = nn.mul %c, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = nn.mul %t, %r : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

// Of each output of a convolution over a sequence, which is an image of one row.
// CHECK-LABEL: func @of_channels
// CHECK:         -> tensor<4x3x1x1x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01,1.250000e-01,1.000000e+00}>>
// CHECK:         %[[A:.*]] = nn.conv
// CHECK-NEXT:    %[[Y:.*]] = nn.reshape %[[A]]
// CHECK-NEXT:    return %[[Y]]
func.func @of_channels(%x: tensor<2x3x1x4xf32>) -> tensor<2x4x4xf32> {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (tensor<2x3x1x4xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3x1x4xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x1x4x!quant.uniform<u8:f32, 1.0>>
  %one = nn.constant dense<1.0> : tensor<f32>
  %c = nn.constant dense<[[0.5], [0.25], [0.125], [1.0]]> : tensor<4x1xf32>
  %d = octet.dequantize_dynamic %q by %one, %z : (tensor<2x3x1x4x!quant.uniform<u8:f32, 1.0>>, tensor<f32>, tensor<i32>) -> tensor<2x3x1x4xf32>
  %w = nn.constant dense<3> : tensor<4x3x1x1xi8> -> tensor<4x3x1x1x!quant.uniform<i8:f32, 1.0>>
  %f = octet.dequantize %w : (tensor<4x3x1x1x!quant.uniform<i8:f32, 1.0>>) -> tensor<4x3x1x1xf32>
  %a = nn.conv %d, %f : (tensor<2x3x1x4xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x1x4xf32>
  %r = nn.reshape %a : (tensor<2x4x1x4xf32>) -> tensor<2x4x4xf32>
  %t = nn.mul %s, %c : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %y = nn.mul %r, %t : (tensor<2x4x4xf32>, tensor<4x1xf32>) -> tensor<2x4x4xf32>
  return %y : tensor<2x4x4xf32>
}

// A sequence is reshaped in front of the quantize, whose scale stays.
// CHECK-LABEL: func @of_sequences
// CHECK-SAME:    (%[[IN:.*]]: tensor<2x3x4xf32>)
// CHECK:         %[[S:.*]], %[[Z:.*]] = octet.choose_qparams %[[IN]]
// CHECK:         %[[X:.*]] = nn.reshape %[[IN]]
// CHECK:         %[[Q:.*]] = octet.quantize_dynamic %[[X]] by %[[S]], %[[Z]]
// CHECK:         %[[D:.*]] = octet.dequantize_dynamic %[[Q]] by %[[S]], %[[Z]]
// CHECK:         nn.conv %[[D]]
func.func @of_sequences(%x: tensor<2x3x4xf32>) -> tensor<2x4x1x4xf32> {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (tensor<2x3x4xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3x4xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x4x!quant.uniform<u8:f32, 1.0>>
  %d = octet.dequantize_dynamic %q by %s, %z : (tensor<2x3x4x!quant.uniform<u8:f32, 1.0>>, tensor<f32>, tensor<i32>) -> tensor<2x3x4xf32>
  %r = nn.reshape %d : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
  %w = nn.constant dense<3> : tensor<4x3x1x1xi8> -> tensor<4x3x1x1x!quant.uniform<i8:f32, 1.0>>
  %f = octet.dequantize %w : (tensor<4x3x1x1x!quant.uniform<i8:f32, 1.0>>) -> tensor<4x3x1x1xf32>
  %a = nn.conv %r, %f : (tensor<2x3x1x4xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x1x4xf32>
  return %a : tensor<2x4x1x4xf32>
}

// Numbers along the pixels are no scales of outputs.
// CHECK-LABEL: func @of_pixels
// CHECK:         nn.conv
// CHECK:         nn.mul
// CHECK-NEXT:    nn.mul
func.func @of_pixels(%x: tensor<2x3x1x4xf32>) -> tensor<2x4x1x4xf32> {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (tensor<2x3x1x4xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3x1x4xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x1x4x!quant.uniform<u8:f32, 1.0>>
  %one = nn.constant dense<1.0> : tensor<f32>
  %c = nn.constant dense<[0.5, 0.25, 0.125, 1.0]> : tensor<4xf32>
  %d = octet.dequantize_dynamic %q by %one, %z : (tensor<2x3x1x4x!quant.uniform<u8:f32, 1.0>>, tensor<f32>, tensor<i32>) -> tensor<2x3x1x4xf32>
  %w = nn.constant dense<3> : tensor<4x3x1x1xi8> -> tensor<4x3x1x1x!quant.uniform<i8:f32, 1.0>>
  %f = octet.dequantize %w : (tensor<4x3x1x1x!quant.uniform<i8:f32, 1.0>>) -> tensor<4x3x1x1xf32>
  %a = nn.conv %d, %f : (tensor<2x3x1x4xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x1x4xf32>
  %t = nn.mul %s, %c : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %a, %t : (tensor<2x4x1x4xf32>, tensor<4xf32>) -> tensor<2x4x1x4xf32>
  return %y : tensor<2x4x1x4xf32>
}

// A factor that is no scale of weights stays behind the sums.
// CHECK-LABEL: func @negative
// CHECK:         nn.linear
// CHECK-NEXT:    nn.mul
// CHECK-NEXT:    nn.mul
func.func @negative(%x: !x) -> !y {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %one = nn.constant dense<1.0> : tensor<f32>
  %c = nn.constant dense<-0.25> : tensor<f32>
  %d = octet.dequantize_dynamic %q by %one, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %w = nn.constant dense<3> : tensor<4x8xi8> -> !w
  %f = octet.dequantize %w : (!w) -> tensor<4x8xf32>
  %a = nn.linear %d, %f : (!x, tensor<4x8xf32>) -> !y
  %t = nn.mul %s, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = nn.mul %a, %t : (!y, tensor<f32>) -> !y
  return %y : !y
}

// Sums that others read, too, stay sums.
// CHECK-LABEL: func @two_readers
// CHECK:         nn.linear
// CHECK-NEXT:    nn.mul
func.func @two_readers(%x: !x) -> (!y, !y) {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %one = nn.constant dense<1.0> : tensor<f32>
  %d = octet.dequantize_dynamic %q by %one, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %w = nn.constant dense<3> : tensor<4x8xi8> -> !w
  %f = octet.dequantize %w : (!w) -> tensor<4x8xf32>
  %a = nn.linear %d, %f : (!x, tensor<4x8xf32>) -> !y
  %y = nn.mul %a, %s : (!y, tensor<f32>) -> !y
  return %a, %y : !y, !y
}

// Unsigned weights far from their zero point are two filters, which read the integers twice.
// CHECK-LABEL: func @unsigned
// CHECK:         %[[X:.*]] = nn.concat %arg0, %arg0 axis 2
// CHECK:         octet.quantize_dynamic %[[X]]
// CHECK:         nn.linear {{.*}} (tensor<2x3x16xf32>, tensor<4x16xf32>)
func.func @unsigned(%x: !x) -> !y {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %one = nn.constant dense<1.0> : tensor<f32>
  %d = octet.dequantize_dynamic %q by %one, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %w = nn.constant dense<255> : tensor<4x8xi8> -> tensor<4x8x!quant.uniform<u8:f32, 1.0:100>>
  %f = octet.dequantize %w : (tensor<4x8x!quant.uniform<u8:f32, 1.0:100>>) -> tensor<4x8xf32>
  %a = nn.linear %d, %f : (!x, tensor<4x8xf32>) -> !y
  %y = nn.mul %a, %s : (!y, tensor<f32>) -> !y
  return %y : !y
}

// Only what a signed byte does not hold is read again: one input, and three beside it, as 8 is a multiple of four.
// CHECK-LABEL: func @few_unsigned
// CHECK:         %[[ONE:.*]] = nn.slice %arg0 starts [0, 0, 6] sizes [2, 3, 2]
// CHECK:         %[[TWO:.*]] = nn.slice %arg0 starts [0, 0, 0] sizes [2, 3, 2]
// CHECK:         %[[X:.*]] = nn.concat %arg0, %[[ONE]], %[[TWO]] axis 2
// CHECK:         octet.quantize_dynamic %[[X]]
// CHECK:         nn.linear {{.*}} (tensor<2x3x12xf32>, tensor<1x12xf32>)
func.func @few_unsigned(%x: !x) -> tensor<2x3x1xf32> {
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %one = nn.constant dense<1.0> : tensor<f32>
  %d = octet.dequantize_dynamic %q by %one, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %w = nn.constant dense<[[0, 1, 2, 3, 4, 5, 255, 7]]> : tensor<1x8xi8> -> tensor<1x8x!quant.uniform<u8:f32, 1.0:100>>
  %f = octet.dequantize %w : (tensor<1x8x!quant.uniform<u8:f32, 1.0:100>>) -> tensor<1x8xf32>
  %a = nn.linear %d, %f : (!x, tensor<1x8xf32>) -> tensor<2x3x1xf32>
  %y = nn.mul %a, %s : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  return %y : tensor<2x3x1xf32>
}

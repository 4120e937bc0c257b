// RUN: octet-opt %s --octet-to-fake-quantize --split-input-file | FileCheck %s

!u = !quant.uniform<u8:f32, 0.5:3>
!t = tensor<2xf32>

// Several pairs of one value and type are one, in front of all readers, and so are two in a row.
// CHECK-LABEL: func @pairs
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: %[[F:.*]] = octet.fake_quantize %[[X]] as !quant.uniform<u8:f32, 5.000000e-01:3> : tensor<2xf32>
// CHECK-NEXT: %[[A:.*]] = nn.relu %[[F]]
// CHECK-NEXT: %[[B:.*]] = nn.exp %[[F]]
// CHECK-NEXT: return %[[A]], %[[B]], %[[F]]
func.func @pairs(%x: !t) -> (!t, !t, !t) {
  %q = octet.quantize %x : (!t) -> tensor<2x!u>
  %d = octet.dequantize %q : (tensor<2x!u>) -> !t
  %a = nn.relu %d : (!t) -> !t
  %q2 = octet.quantize %x : (!t) -> tensor<2x!u>
  %d2 = octet.dequantize %q2 : (tensor<2x!u>) -> !t
  %b = nn.exp %d2 : (!t) -> !t
  %q3 = octet.quantize %d2 : (!t) -> tensor<2x!u>
  %d3 = octet.dequantize %q3 : (tensor<2x!u>) -> !t
  return %a, %b, %d3 : !t, !t, !t
}

// -----

// 3 and 250 with zero point 128 are -125 and 122 steps of 0.5; those of 0 and 255 with zero point 0 do not fit.
// CHECK-LABEL: func @weights
// CHECK: %[[W:.*]] = nn.constant dense_resource<constant.f32> : tensor<2xf32>
// CHECK: %[[F:.*]] = octet.fake_quantize %[[W]] as !quant.uniform<i8:f32, 5.000000e-01> : tensor<2xf32>
// CHECK: %[[V:.*]] = nn.constant dense_resource<constant.f32_1> : tensor<2xf32>
// CHECK: %[[G:.*]] = octet.fake_quantize %[[V]] as !quant.uniform<u8:f32, 5.000000e-01> : tensor<2xf32>
// CHECK: return %[[F]], %[[G]]
// CHECK-DAG: constant.f32: "0x10000000{{0*}}00007AC200007442"
func.func @weights() -> (tensor<2xf32>, tensor<2xf32>) {
  %w = nn.constant dense<[3, -6]> : tensor<2xi8> -> tensor<2x!quant.uniform<u8:f32, 0.5:128>>
  %d = octet.dequantize %w : (tensor<2x!quant.uniform<u8:f32, 0.5:128>>) -> tensor<2xf32>
  %v = nn.constant dense<[0, -1]> : tensor<2xi8> -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  %e = octet.dequantize %v : (tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2xf32>
  return %d, %e : tensor<2xf32>, tensor<2xf32>
}

// -----

// Biases have 32 bits and become floats; floats with a pair get the integers of the division.
// CHECK-LABEL: func @biases_and_floats
// CHECK: %[[B:.*]] = nn.constant dense_resource<{{.*}}> : tensor<1xf32>
// CHECK: %[[W:.*]] = nn.constant dense_resource<{{.*}}> : tensor<1xf32>
// CHECK-NEXT: %[[F:.*]] = octet.fake_quantize %[[W]] as !quant.uniform<i8:f32, 0.0021485486067831516>
// CHECK: return %[[B]], %[[F]]
func.func @biases_and_floats() -> (tensor<1xf32>, tensor<1xf32>) {
  %b = nn.constant dense<6> : tensor<1xi32> -> tensor<1x!quant.uniform<i32:f32, 0.5>>
  %d = octet.dequantize %b : (tensor<1x!quant.uniform<i32:f32, 0.5>>) -> tensor<1xf32>
  %w = nn.constant dense<0.25> : tensor<1xf32>
  %q = octet.quantize %w : (tensor<1xf32>) -> tensor<1x!quant.uniform<u8:f32, 0.0021485486067831516>>
  %e = octet.dequantize %q : (tensor<1x!quant.uniform<u8:f32, 0.0021485486067831516>>) -> tensor<1xf32>
  return %d, %e : tensor<1xf32>, tensor<1xf32>
}

// -----

// Parameters of a batch norm are numbers, in whatever form the file has them.
// CHECK-LABEL: func @batch_norm
// CHECK: %[[G:.*]] = nn.constant dense_resource<{{.*}}> : tensor<1xf32>
// CHECK: nn.batch_norm %{{.*}}, %[[G]], %{{.*}}, %{{.*}}, %[[G]]
func.func @batch_norm(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %c = nn.constant dense<0.25> : tensor<1xf32>
  %q = nn.constant dense<3> : tensor<1xi8> -> tensor<1x!quant.uniform<i8:f32, 0.5>>
  %d = octet.dequantize %q : (tensor<1x!quant.uniform<i8:f32, 0.5>>) -> tensor<1xf32>
  %y = nn.batch_norm %x, %d, %c, %c, %d epsilon 1.0e-05 : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  return %y : tensor<1x1x2x2xf32>
}

// -----

// What is quantized in each run has no range in the file. The scale by which the sums are multiplied was that of the integers, and the
// weights get their own part of it.
// CHECK-LABEL: func @each_run
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
// CHECK-NOT: dynamic
// CHECK-NOT: choose_qparams
// CHECK: %[[W:.*]] = octet.fake_quantize %{{.*}} as !quant.uniform<i8:f32, 2.500000e-01> : tensor<4x3xf32>
// CHECK: %[[Y:.*]] = nn.linear %[[X]], %[[W]]
// CHECK-NEXT: return %[[Y]]
func.func @each_run(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %scale, %zero = octet.choose_qparams %x range [0, 255] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %scale, %zero : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x!quant.uniform<u8:f32, 1.0>>
  %one = nn.constant dense<1.0> : tensor<f32>
  %d = octet.dequantize_dynamic %q by %one, %zero : (tensor<2x3x!quant.uniform<u8:f32, 1.0>>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %w = nn.constant dense<3> : tensor<4x3xi8> -> tensor<4x3x!quant.uniform<i8:f32, 1.0>>
  %v = octet.dequantize %w : (tensor<4x3x!quant.uniform<i8:f32, 1.0>>) -> tensor<4x3xf32>
  %p = nn.linear %d, %v : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %quarter = nn.constant dense<0.25> : tensor<f32>
  %f = nn.mul %scale, %quarter : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = nn.mul %p, %f : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Integers that are read by themselves stay what they are.
// CHECK-LABEL: func @other_integers
// CHECK: octet.choose_qparams
// CHECK: octet.quantize_dynamic
// CHECK: octet.dequantize_dynamic
func.func @other_integers(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %scale, %zero = octet.choose_qparams %x range [0, 255] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %scale, %zero : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x!quant.uniform<u8:f32, 1.0>>
  %one = nn.constant dense<1.0> : tensor<f32>
  %d = octet.dequantize_dynamic %q by %one, %zero : (tensor<2x3x!quant.uniform<u8:f32, 1.0>>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  return %d : tensor<2x3xf32>
}

// -----

// Weights 0 and 255 with zero point 120 are -120 and 135 steps of 0.5: the channel of the second gets the scale 0.5 * 135 / 127. What else
// reads them keeps their type.
// CHECK-LABEL: func @weights_beyond_signed_bytes
// CHECK: %[[W:.*]] = nn.constant dense_resource<{{.*}}> : tensor<2x2xf32>
// CHECK: %[[F:.*]] = octet.fake_quantize %[[W]] as !quant.uniform<u8:f32, 5.000000e-01:120>
// CHECK: %[[G:.*]] = octet.fake_quantize %[[W]] as !quant.uniform<i8:f32:0, {5.000000e-01,0.53149604797363281}>
// CHECK: nn.linear %{{.*}}, %[[G]]
// CHECK: nn.add %{{.*}}, %[[F]]
func.func @weights_beyond_signed_bytes(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<[[0, 1], [2, -1]]> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<u8:f32, 0.5:120>>
  %d = octet.dequantize %w : (tensor<2x2x!quant.uniform<u8:f32, 0.5:120>>) -> tensor<2x2xf32>
  %y = nn.linear %x, %d : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = nn.add %y, %d : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// -----

// So do signed ones with a zero point; what no product reads keeps its type, in whatever shape.
// CHECK-LABEL: func @signed_weights_and_numbers
// CHECK: octet.fake_quantize %{{.*}} as !quant.uniform<i8:f32:0, {0.53149604797363281}>
// CHECK: octet.fake_quantize %{{.*}} as !quant.uniform<u8:f32, 5.000000e-01> : tensor<f32>
func.func @signed_weights_and_numbers(%x: tensor<2x2xf32>) -> tensor<2x1xf32> {
  %w = nn.constant dense<[[-128, 1]]> : tensor<1x2xi8> -> tensor<1x2x!quant.uniform<i8:f32, 0.5:7>>
  %d = octet.dequantize %w : (tensor<1x2x!quant.uniform<i8:f32, 0.5:7>>) -> tensor<1x2xf32>
  %y = nn.linear %x, %d : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2x1xf32>
  %n = nn.constant dense<-1> : tensor<i8> -> tensor<!quant.uniform<u8:f32, 0.5>>
  %m = octet.dequantize %n : (tensor<!quant.uniform<u8:f32, 0.5>>) -> tensor<f32>
  %z = nn.add %y, %m : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  return %z : tensor<2x1xf32>
}

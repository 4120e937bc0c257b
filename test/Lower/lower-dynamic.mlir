// RUN: octet-opt %s --octet-lower --split-input-file | FileCheck %s
// RUN: octet-opt %s --octet-lower=strict=true --split-input-file --verify-diagnostics -o /dev/null

!u = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.1, 0.2}>

// The sums are of integers; scale and zero point come from memory, the bias is added in float.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK: %[[RS:.*]], %[[RZ:.*]] = octet.choose_qparams %[[X]]
// CHECK: %[[Q:.*]] = octet.quantize_dynamic %[[X]] by %[[RS]], %[[RZ]]
// CHECK: octet.group(%[[BQ:.*]] = %[[Q]], %[[S:.*]] = %[[RS]], %[[Z:.*]] = %[[RZ]], %[[W:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
// CHECK: %[[D:.*]] = octet.dequantize_dynamic %[[BQ]] by %[[S]], %[[Z]]
// CHECK: %[[L:.*]] = nn.linear %[[D]], %[[W]] :
// CHECK: nn.add %[[L]], %[[B]]
// CHECK-NOT: octet.dequantize
func.func @linear(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<3> : tensor<2x3xi8> -> tensor<2x3x!w>
  %b = nn.constant dense<0.5> : tensor<2xf32>
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x!u>
  %d = octet.dequantize_dynamic %q by %s, %z : (tensor<2x3x!u>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %f = octet.dequantize %w : (tensor<2x3x!w>) -> tensor<2x3xf32>
  %y = nn.linear %d, %f, %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

!u = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32, 0.1>

// What the unit has behind the product stays there, an addition of a float value too.
// CHECK-LABEL: func.func @epilogue
// CHECK: octet.group({{.*}} = %arg1)
// CHECK: nn.linear
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.relu
func.func @epilogue(%x: tensor<2x3xf32>, %r: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<3> : tensor<2x3xi8> -> tensor<2x3x!w>
  %s, %z = octet.choose_qparams %x range [0, 255] per_row : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x3x!u>
  %d = octet.dequantize_dynamic %q by %s, %z : (tensor<2x3x!u>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  %f = octet.dequantize %w : (tensor<2x3x!w>) -> tensor<2x3xf32>
  %y = octet.group(%a = %d, %b = %f, %c = %r) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = nn.linear %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %1 = nn.add %0, %c : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = nn.relu %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
    octet.yield %2 : tensor<2x2xf32>
  }
  return %y : tensor<2x2xf32>
}

// -----

!u = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32, 0.1>

// Zeros around the values become the zero point; the bias lies along the channels.
// CHECK-LABEL: func.func @conv
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x2x2xf32>)
// CHECK: %[[RS:.*]], %[[RZ:.*]] = octet.choose_qparams %[[X]]
// CHECK: %[[P:.*]] = nn.pad %[[X]] low [0, 0, 1, 0] high [0, 0, 1, 2]
// CHECK: %[[Q:.*]] = octet.quantize_dynamic %[[P]] by %[[RS]], %[[RZ]]
// CHECK: %[[C:.*]] = nn.constant dense_resource<constant.channels> : tensor<1x1x1xf32>
// CHECK: octet.group(%[[BQ:.*]] = %[[Q]], %[[S:.*]] = %[[RS]], %[[Z:.*]] = %[[RZ]], %[[W:.*]] = %{{.*}}, %[[B:.*]] = %[[C]])
// CHECK: %[[D:.*]] = octet.dequantize_dynamic %[[BQ]] by %[[S]], %[[Z]]
// CHECK: %[[L:.*]] = nn.conv %[[D]], %[[W]] :
// CHECK: nn.add %[[L]], %[[B]]
func.func @conv(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = nn.constant dense<3> : tensor<1x1x3x3xi8> -> tensor<1x1x3x3x!w>
  %b = nn.constant dense<0.5> : tensor<1xf32>
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<1x1x2x2xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i32>) -> tensor<1x1x2x2x!u>
  %d = octet.dequantize_dynamic %q by %s, %z : (tensor<1x1x2x2x!u>, tensor<f32>, tensor<i32>) -> tensor<1x1x2x2xf32>
  %f = octet.dequantize %w : (tensor<1x1x3x3x!w>) -> tensor<1x1x3x3xf32>
  %y = nn.conv %d, %f, %b pads [1, 0, 1, 2] : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  return %y : tensor<1x1x2x2xf32>
}

// -----

!u = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32, 1.0>

// Sums of a file are those of the integers, whose own scale is another one.
// CHECK-LABEL: func.func @conv_of_integers
// CHECK: %[[RS:.*]], %[[RZ:.*]] = octet.choose_qparams
// CHECK: %[[P:.*]] = nn.pad
// CHECK: %[[Q:.*]] = octet.quantize_dynamic %[[P]] by %[[RS]], %[[RZ]]
// CHECK: octet.group({{.*}} = %[[Q]], {{.*}} = %[[ONE:[a-z0-9]+]], {{.*}} = %[[RZ]],
func.func @conv_of_integers(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = nn.constant dense<3> : tensor<1x1x3x3xi8> -> tensor<1x1x3x3x!w>
  %one = nn.constant dense<1.0> : tensor<f32>
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : (tensor<1x1x2x2xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i32>) -> tensor<1x1x2x2x!u>
  %d = octet.dequantize_dynamic %q by %one, %z : (tensor<1x1x2x2x!u>, tensor<f32>, tensor<i32>) -> tensor<1x1x2x2xf32>
  %f = octet.dequantize %w : (tensor<1x1x3x3x!w>) -> tensor<1x1x3x3xf32>
  %y = nn.conv %d, %f pads [1, 1, 1, 1] : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %y : tensor<1x1x2x2xf32>
}

// -----

!u = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32, 0.1>

// The sums of a convolution have elements of many rows.
// CHECK-LABEL: func.func @conv_of_rows
// CHECK: nn.conv {{.*}}octet.decision = #octet.decision<verdict = float, reason = <"OCT309"
func.func @conv_of_rows(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = nn.constant dense<3> : tensor<1x1x1x1xi8> -> tensor<1x1x1x1x!w>
  %s, %z = octet.choose_qparams %x range [0, 255] per_row : (tensor<1x1x2x2xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xi32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<1x1x2x2xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xi32>) -> tensor<1x1x2x2x!u>
  %d = octet.dequantize_dynamic %q by %s, %z : (tensor<1x1x2x2x!u>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xi32>) -> tensor<1x1x2x2xf32>
  %f = octet.dequantize %w : (tensor<1x1x1x1x!w>) -> tensor<1x1x1x1xf32>
  // expected-error @+1 {{stays float [OCT309]: its input is quantized in each run, and it is no linear layer of ui8, nor a convolution with one scale; use dtype ui8 without per_row, or observe the input with statistics, such as #octet.min_max}}
  %y = nn.conv %d, %f : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  return %y : tensor<1x1x2x2xf32>
}

// -----

!s = !quant.uniform<i8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32, 0.1>

// CHECK-LABEL: func.func @signed
// CHECK: nn.linear {{.*}}octet.decision = #octet.decision<verdict = float, reason = <"OCT309"
func.func @signed(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<3> : tensor<2x3xi8> -> tensor<2x3x!w>
  %s, %z = octet.choose_qparams %x range [-128, 127] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x!s>
  %d = octet.dequantize_dynamic %q by %s, %z : (tensor<2x3x!s>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %f = octet.dequantize %w : (tensor<2x3x!w>) -> tensor<2x3xf32>
  // expected-error @+1 {{stays float [OCT309]}}
  %y = nn.linear %d, %f : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

!u = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32, 0.1>

// Element-wise operators behind a product that is in no group belong to its epilogue, up to one that reads others.
// CHECK-LABEL: func.func @readers
// CHECK: octet.group({{.*}} = %arg1)
// CHECK: nn.linear
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.gelu
// CHECK-NEXT: nn.add
// CHECK-NEXT: octet.yield
// CHECK: nn.mul %{{.*}}, %arg2
func.func @readers(%x: tensor<2x3xf32>, %r: tensor<2x2xf32>, %c: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<3> : tensor<2x3xi8> -> tensor<2x3x!w>
  %b = nn.constant dense<0.5> : tensor<2xf32>
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<2x3xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x!u>
  %d = octet.dequantize_dynamic %q by %s, %z : (tensor<2x3x!u>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %f = octet.dequantize %w : (tensor<2x3x!w>) -> tensor<2x3xf32>
  %0 = nn.linear %d, %f : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %1 = nn.add %0, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %2 = nn.gelu %1 none : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = nn.add %r, %2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = nn.mul %3, %c : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  return %4 : tensor<2x2xf32>
}

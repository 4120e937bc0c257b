// RUN: octet-opt %s --octet-lower --split-input-file --verify-diagnostics --remarks-filter=octet-lower --remark-format=emitRemark | FileCheck %s

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32:0, {0.25, 0.5}>
!b = !quant.uniform<i32:f32:0, {0.125, 0.25}>
!y = !quant.uniform<u8:f32, 0.25:10>

// A relu behind a convolution is the lower bound of the result type: its zero point.
// CHECK-LABEL: func @relu_is_a_storage_bound
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8x!quant
// CHECK-DAG: %[[W:.*]] = nn.constant dense<1> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!quant
// CHECK-DAG: %[[B:.*]] = nn.constant dense<7> : tensor<2xi32> -> tensor<2x!quant
// CHECK-NOT: octet.quantize
// CHECK: %[[Y:.*]] = nn.conv %[[X]], %[[W]], %[[B]] pads [1, 1, 1, 1] : {{.*}} -> tensor<1x2x8x8x!quant.uniform<u8<10:255>:f32, 2.500000e-01:10>>
// CHECK-NEXT: %[[D:.*]] = octet.dequantize %[[Y]] : (tensor<1x2x8x8x!quant.uniform<u8<10:255>
// CHECK-NEXT: return %[[D]]
func.func @relu_is_a_storage_bound(%xq: tensor<1x3x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!w>
  %bq = nn.constant dense<7> : tensor<2xi32> -> tensor<2x!b>
  %x = octet.dequantize %xq : (tensor<1x3x8x8x!x>) -> tensor<1x3x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x3x3x3x!w>) -> tensor<2x3x3x3xf32>
  %b = octet.dequantize %bq : (tensor<2x!b>) -> tensor<2xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %b) : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1, %2 pads [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
    %r = nn.relu %c : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %r : tensor<1x2x8x8xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// The function's type follows a result that became narrower.
// CHECK-LABEL: func @returned_value
// CHECK-SAME: -> tensor<1x2x8x8x!quant.uniform<u8<2:194>:f32, 3.125000e-02:2>> {
// CHECK: %[[Y:.*]] = nn.conv {{.*}} -> tensor<1x2x8x8x!quant.uniform<u8<2:194>:f32, 3.125000e-02:2>>
// CHECK-NEXT: return %[[Y]]
func.func @returned_value(%xq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8x!y> {
  %wq = nn.constant dense<1> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x1x1x1x!w>) -> tensor<2x1x1x1xf32>
  %y = octet.group(%0 = %x, %1 = %w) : (tensor<1x2x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1 groups 2 : (tensor<1x2x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
    %r = nn.clip %c min 0.0 max 6.0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %r : tensor<1x2x8x8xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  return %yq : tensor<1x2x8x8x!y>
}

// -----

!x = !quant.uniform<u8:f32:1, {0.5, 0.25}>
!w = !quant.uniform<i8:f32, 0.25>
!b = !quant.uniform<i32:f32:0, {0.125, 0.0625}>
!y = !quant.uniform<u8:f32:1, {0.03125:2, 0.0625:3}>

// A per-channel input is a depthwise convolution's privilege; bounds that differ per channel stay a clip.
// CHECK-LABEL: func @per_channel
// CHECK: octet.group
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.clip
// CHECK-NEXT: octet.yield
func.func @per_channel(%xq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %bq = nn.constant dense<7> : tensor<2xi32> -> tensor<2x!b>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x1x1x1x!w>) -> tensor<2x1x1x1xf32>
  %b = octet.dequantize %bq : (tensor<2x!b>) -> tensor<2xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %b) : (tensor<1x2x8x8xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1, %2 groups 2 : (tensor<1x2x8x8xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
    %r = nn.clip %c min 0.0 max 6.0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %r : tensor<1x2x8x8xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// A residual is dequantized in the body and added to the real-valued accumulator, product first; the relu is a bound.
// CHECK-LABEL: func @residual
// CHECK-SAME: %[[X:.*]]: tensor<1x2x8x8x!quant
// CHECK: octet.group(%[[A:.*]] = %[[X]], %[[F:.*]] = %{{.*}}, %[[R:.*]] = %[[X]]) : {{.*}} -> tensor<1x2x8x8x!quant.uniform<u8<2:255>
// CHECK-NEXT: %[[C:.*]] = nn.conv %[[A]], %[[F]] : {{.*}} -> tensor<1x2x8x8xf32>
// CHECK-NEXT: %[[D:.*]] = octet.dequantize %[[R]]
// CHECK-NEXT: %[[S:.*]] = nn.add %[[C]], %[[D]]
// CHECK-NEXT: octet.yield %[[S]]
func.func @residual(%xq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %x) : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1 : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
    %a = nn.add %2, %c : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    %r = nn.relu %a : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %r : tensor<1x2x8x8xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// A real-valued residual has no place in the epilogue: the convolution is lowered alone, what follows is float.
// CHECK-LABEL: func @real_residual
// CHECK: %[[C:.*]] = nn.conv {{.*}} -> tensor<1x2x8x8xf32>
// CHECK-NEXT: %[[A:.*]] = nn.add %{{.*}}, %[[C]]
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[A]]
// CHECK-NEXT: octet.quantize %[[R]]
func.func @real_residual(%xq: tensor<1x2x8x8x!x>, %real: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %real) : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1 : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
    %a = nn.add %2, %c : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    // expected-remark @below {{OCT301 | Category:octet-lower | Remark="stays float: an operand is real-valued"}}
    %r = nn.relu %a : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %r : tensor<1x2x8x8xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// Any other activation works on the real-valued accumulator.
// CHECK-LABEL: func @silu_stays_in_the_body
// CHECK: octet.group(%[[A:.*]] = %{{.*}}, %[[F:.*]] = %{{.*}}) : {{.*}} -> tensor<1x2x!quant.uniform<u8:f32, 3.125000e-02:2>>
// CHECK-NEXT: %[[C:.*]] = nn.linear %[[A]], %[[F]] : {{.*}} -> tensor<1x2xf32>
// CHECK-NEXT: %[[S:.*]] = nn.silu %[[C]] {coarse}
// CHECK-NEXT: octet.yield %[[S]]
func.func @silu_stays_in_the_body(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!w>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %y = octet.group(%0 = %x, %1 = %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> {
    %c = nn.linear %0, %1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %r = nn.silu %c : (tensor<1x2xf32>) -> tensor<1x2xf32>
    octet.yield %r : tensor<1x2xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x!y>) -> tensor<1x2xf32>
  return %yd : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>

// Without a quantize behind it, a product gives real numbers; names survive.
// CHECK-LABEL: func @real_result
// CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<1x2x!quant{{.*}}>, tensor<2x2x!quant{{.*}}>) -> tensor<1x2xf32>
// CHECK-NEXT: return
func.func @real_result(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!w>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %y = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25:1>

// What stays float reads a float constant.
// CHECK-LABEL: func @asymmetric_filter
// CHECK: %[[W:.*]] = nn.constant dense_resource<constant{{.*}}> : tensor<2x2xf32>
// CHECK: nn.linear %{{.*}}, %[[W]] {octet.decision = #octet.decision<verdict = float, reason = <"OCT305", {{.*}}, refused = true>} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
func.func @asymmetric_filter(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<3> : tensor<2x2xi8> -> tensor<2x2x!w>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  // expected-remark @below {{OCT305 | Category:octet-lower | Remark="stays float: the filter is not a constant of symmetric 8-bit signed values"}}
  %y = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u4:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>

// CHECK-LABEL: func @narrow_activation
// CHECK: nn.linear {{.*}} : (tensor<1x2xf32>
func.func @narrow_activation(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<3> : tensor<2x2xi8> -> tensor<2x2x!w>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  // expected-remark @below {{OCT303 | Category:octet-lower | Remark="stays float: an activation is not stored in 8 bits"}}
  %y = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32:1, {0.5, 0.25}>
!w = !quant.uniform<i8:f32, 0.25>

// CHECK-LABEL: func @per_channel_input_of_a_full_convolution
// CHECK: nn.conv {{.*}} : (tensor<1x2x8x8xf32>
func.func @per_channel_input_of_a_full_convolution(%xq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  // expected-remark @below {{OCT304 | Category:octet-lower | Remark="stays float: it has no kernel for this per-channel operand or result"}}
  %y = nn.conv %x, %w : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  return %y : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// A bias of real numbers stays what it is, alone and in front of a residual.
// CHECK-LABEL: func @float_bias
// CHECK: %[[B:.*]] = nn.constant dense<1.500000e+00> : tensor<2xf32>
// CHECK: nn.linear %{{.*}}, %{{.*}}, %[[B]] : {{.*}}, tensor<2xf32>) -> tensor<1x2x!quant
// CHECK: octet.group({{.*}} = %[[B]]) : {{.*}}, tensor<2xf32>) -> tensor<1x2x!quant
// CHECK-NEXT: nn.linear {{.*}}, tensor<2xf32>) -> tensor<1x2xf32>
func.func @float_bias(%xq: tensor<1x2x!x>) -> (tensor<1x2x!y>, tensor<1x2x!y>) {
  %wq = nn.constant dense<3> : tensor<2x2xi8> -> tensor<2x2x!w>
  %b = nn.constant dense<1.5> : tensor<2xf32>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %y = nn.linear %x, %w, %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %yq = octet.quantize %y : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %z = octet.group(%0 = %x, %1 = %w, %2 = %b) : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> {
    %3 = nn.linear %0, %1, %2 : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    %4 = nn.add %3, %0 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    octet.yield %4 : tensor<1x2xf32>
  }
  %zq = octet.quantize %z : (tensor<1x2xf32>) -> tensor<1x2x!y>
  return %yq, %zq : tensor<1x2x!y>, tensor<1x2x!y>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>

// One that is not known at compile time is none that an epilogue adds.
// CHECK-LABEL: func @unknown_float_bias
// CHECK: nn.linear {{.*}} : (tensor<1x2xf32>
func.func @unknown_float_bias(%xq: tensor<1x2x!x>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<3> : tensor<2x2xi8> -> tensor<2x2x!w>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  // expected-remark @below {{OCT306 | Category:octet-lower | Remark="stays float: the bias is not a constant of 32-bit values at the accumulator's scale"}}
  %y = nn.linear %x, %w, %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!b = !quant.uniform<i32:f32, 0.25>

// CHECK-LABEL: func @bias_at_another_scale
// CHECK: nn.linear {{.*}} : (tensor<1x2xf32>
func.func @bias_at_another_scale(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<3> : tensor<2x2xi8> -> tensor<2x2x!w>
  %bq = nn.constant dense<3> : tensor<2xi32> -> tensor<2x!b>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %b = octet.dequantize %bq : (tensor<2x!b>) -> tensor<2xf32>
  // expected-remark @below {{OCT306 | Category:octet-lower | Remark="stays float: the bias is not a constant of 32-bit values at the accumulator's scale"}}
  %y = nn.linear %x, %w, %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32, 0.25>
!b = !quant.uniform<i32:f32, 0.125>

// |b| + 2 * 2 * 128 = 2^31 is one too many.
// CHECK-LABEL: func @accumulator_may_overflow
// CHECK: nn.linear {{.*}} : (tensor<1x2xf32>
// CHECK: nn.linear {{.*}} : (tensor<1x2x!quant
func.func @accumulator_may_overflow(%xq: tensor<1x2x!x>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %wq = nn.constant dense<2> : tensor<2x2xi8> -> tensor<2x2x!w>
  %bq = nn.constant dense<[-2147483136, 0]> : tensor<2xi32> -> tensor<2x!b>
  %b1q = nn.constant dense<[-2147483135, 0]> : tensor<2xi32> -> tensor<2x!b>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %b = octet.dequantize %bq : (tensor<2x!b>) -> tensor<2xf32>
  %b1 = octet.dequantize %b1q : (tensor<2x!b>) -> tensor<2xf32>
  // expected-remark @below {{OCT307 | Category:octet-lower | Remark="stays float: the 32-bit accumulator may overflow"}}
  %y = nn.linear %x, %w, %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %y1 = nn.linear %x, %w, %b1 : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %y, %y1 : tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// What no pattern of the backend fused is fused nevertheless, if it is a clamp or a residual that nobody else reads.
// CHECK-LABEL: func @clamps_and_residuals_belong_to_the_product
// CHECK: octet.group(%[[A:.*]] = %[[X:.*]], %{{.*}} = %{{.*}}, %[[R:.*]] = %[[X]]) : {{.*}} -> tensor<1x2x!quant.uniform<u8<2:255>
// CHECK-NEXT: %[[C:.*]] = nn.linear %[[A]]
// CHECK-NEXT: %[[D:.*]] = octet.dequantize %[[R]]
// CHECK-NEXT: nn.add %[[C]], %[[D]]
// CHECK-NOT: nn.relu
func.func @clamps_and_residuals_belong_to_the_product(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!w>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %c = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %a = nn.add %r, %c : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = nn.relu %a : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %yq = octet.quantize %y : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x!y>) -> tensor<1x2xf32>
  return %yd : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32:1, {0.5, 0.25}>

// Axis 1 of a linear layer's result is not what its kernel has channels along.
// CHECK-LABEL: func @linear_result_per_channel
// CHECK: nn.linear {{.*}} -> tensor<1x2x2xf32>
// CHECK: octet.quantize
func.func @linear_result_per_channel(%xq: tensor<1x2x2x!x>) -> tensor<1x2x2x!y> {
  %wq = nn.constant dense<2> : tensor<2x2xi8> -> tensor<2x2x!w>
  %x = octet.dequantize %xq : (tensor<1x2x2x!x>) -> tensor<1x2x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %p = nn.linear %x, %w : (tensor<1x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2xf32>
  %y = octet.quantize %p : (tensor<1x2x2xf32>) -> tensor<1x2x2x!y>
  return %y : tensor<1x2x2x!y>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// Constants that are the same for all pixels scale and shift in the epilogue, behind an activation, too.
// CHECK-LABEL: func @affine_behind_an_activation
// CHECK-DAG: %[[K:.*]] = nn.constant dense<1.500000e+00>
// CHECK-DAG: %[[S:.*]] = nn.constant dense<[{{.*}}]> : tensor<2x1x1xf32>
// CHECK: octet.group({{.*}} = %{{.*}}, {{.*}} = %{{.*}}, %[[K0:.*]] = %[[K]], %[[S0:.*]] = %[[S]]) : {{.*}} -> tensor<1x2x8x8x!quant
// CHECK-NEXT: %[[C:.*]] = nn.conv
// CHECK-NEXT: %[[T:.*]] = nn.tanh %[[C]]
// CHECK-NEXT: %[[M:.*]] = nn.mul %[[T]], %[[K0]]
// CHECK-NEXT: %[[A:.*]] = nn.add %[[S0]], %[[M]]
// CHECK-NEXT: octet.yield %[[A]]
func.func @affine_behind_an_activation(%xq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %k = nn.constant dense<1.5> : tensor<1xf32>
  %s = nn.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %t = nn.tanh %c : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %m = nn.mul %t, %k : (tensor<1x2x8x8xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  %a = nn.add %s, %m : (tensor<2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %yq = octet.quantize %a : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// A constant for each pixel does not: the sum is float.
// CHECK-LABEL: func @constant_per_pixel
// CHECK: %[[C:.*]] = nn.conv {{.*}} -> tensor<1x2x1x2xf32>
// CHECK-NEXT: %[[A:.*]] = nn.add %[[C]], %{{.*}} : {{.*}} -> tensor<1x2x1x2xf32>
// CHECK-NEXT: octet.quantize %[[A]]
func.func @constant_per_pixel(%xq: tensor<1x2x1x2x!x>) -> tensor<1x2x1x2xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %s = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %x = octet.dequantize %xq : (tensor<1x2x1x2x!x>) -> tensor<1x2x1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x2x1x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x1x2xf32>
  // expected-remark @below {{OCT301 | Category:octet-lower | Remark="stays float: an operand is real-valued"}}
  %a = nn.add %c, %s : (tensor<1x2x1x2xf32>, tensor<2xf32>) -> tensor<1x2x1x2xf32>
  %yq = octet.quantize %a : (tensor<1x2x1x2xf32>) -> tensor<1x2x1x2x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x1x2x!y>) -> tensor<1x2x1x2xf32>
  return %yd : tensor<1x2x1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// A sum that was planned as a float one is int8 where the residual has the result's shape.
// CHECK-LABEL: func @residual_that_is_absorbed(
// CHECK: nn.add {{.*}}number = 7, verdict = int8
func.func @residual_that_is_absorbed(%xq: tensor<1x2x8x8x!x>, %rq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %r = octet.dequantize %rq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %a = nn.add %c, %r {octet.decision = #octet.decision<number = 7, verdict = float, reason = <"OCT101", "no pattern", "add one">>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %yq = octet.quantize %a : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// A sum that was planned as a float one is float where the residual has not the result's shape; the convolution is lowered
// alone.
// CHECK-LABEL: func @residual_that_stays_float(
// CHECK-NOT: octet.group
// CHECK: nn.conv {{.*}} : (tensor<1x2x8x8x!quant.uniform<{{.*}} -> tensor<1x2x8x8xf32>
// CHECK: nn.add {{.*}}number = 7, verdict = float
func.func @residual_that_stays_float(%xq: tensor<1x2x8x8x!x>, %rq: tensor<1x2x1x1x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %r = octet.dequantize %rq : (tensor<1x2x1x1x!x>) -> tensor<1x2x1x1xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  // expected-remark @below {{OCT301 | Category:octet-lower | Remark="stays float: an operand is real-valued"}}
  %a = nn.add %c, %r {octet.decision = #octet.decision<number = 7, verdict = float, reason = <"OCT101", "no pattern", "add one">>} : (tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %yq = octet.quantize %a : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// A sum that broadcasts the product to a larger residual cannot be its epilogue: the convolution is lowered alone.
// CHECK-LABEL: func @product_smaller_than_its_residual(
// CHECK-NOT: octet.group
// CHECK: nn.conv {{.*}} : (tensor<1x2x1x1x!quant.uniform<{{.*}} -> tensor<1x2x1x1xf32>
// CHECK: nn.add {{.*}} -> tensor<1x2x8x8xf32>
func.func @product_smaller_than_its_residual(%xq: tensor<1x2x1x1x!x>, %rq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x1x1x!x>) -> tensor<1x2x1x1xf32>
  %r = octet.dequantize %rq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x2x1x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x1x1xf32>
  // expected-remark @below {{OCT301 | Category:octet-lower | Remark="stays float: an operand is real-valued"}}
  %a = nn.add %c, %r : (tensor<1x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %yq = octet.quantize %a : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// The same in a group, as a backend without `same_shape` makes it.
// CHECK-LABEL: func @group_larger_than_its_product(
// CHECK-NOT: octet.group
// CHECK: nn.conv {{.*}} : (tensor<1x2x1x1x!quant.uniform<{{.*}} -> tensor<1x2x1x1xf32>
// CHECK: nn.add {{.*}} -> tensor<1x2x8x8xf32>
func.func @group_larger_than_its_product(%xq: tensor<1x2x1x1x!x>, %rq: tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32> {
  %wq = nn.constant dense<1> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!w>
  %x = octet.dequantize %xq : (tensor<1x2x1x1x!x>) -> tensor<1x2x1x1xf32>
  %r = octet.dequantize %rq : (tensor<1x2x8x8x!x>) -> tensor<1x2x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x2x1x1x!w>) -> tensor<2x2x1x1xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %r) : (tensor<1x2x1x1xf32>, tensor<2x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1 : (tensor<1x2x1x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x1x1xf32>
    // expected-remark @below {{OCT301 | Category:octet-lower | Remark="stays float: an operand is real-valued"}}
    %a = nn.add %c, %2 : (tensor<1x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %a : tensor<1x2x8x8xf32>
  }
  %yq = octet.quantize %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %yd = octet.dequantize %yq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %yd : tensor<1x2x8x8xf32>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:3>
!b = !quant.uniform<u8:f32, 0.25:130>
!c = !quant.uniform<u8:f32:1, {0.25:130, 0.5:130}>
!y = !quant.uniform<u8:f32, 2.0:10>

// Products of two activations: with a real or a quantized result; each operand has one scale.
// CHECK-LABEL: func @products_of_activations
// CHECK-SAME: (%[[A:[a-z0-9]+]]: tensor<3x2x!quant{{.*}}>, %[[B:[a-z0-9]+]]: tensor<2x2x!quant.uniform<u8:f32, 2.5
// CHECK: %[[R:.*]] = nn.matmul %[[A]], %[[B]] : {{.*}} -> tensor<3x2xf32>
// CHECK: %[[Q:.*]] = nn.matmul %[[A]], %[[B]] : {{.*}} -> tensor<3x2x!quant.uniform<u8:f32, 2.000000e+00:10>>
// CHECK: %[[F:.*]] = nn.matmul %{{.*}}, %{{.*}} : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
// CHECK: return %[[R]], %[[Q]], %[[F]]
func.func @products_of_activations(%aq: tensor<3x2x!a>, %bq: tensor<2x2x!b>, %cq: tensor<2x2x!c>) -> (tensor<3x2xf32>, tensor<3x2x!y>, tensor<3x2xf32>) {
  %a = octet.dequantize %aq : (tensor<3x2x!a>) -> tensor<3x2xf32>
  %b = octet.dequantize %bq : (tensor<2x2x!b>) -> tensor<2x2xf32>
  %c = octet.dequantize %cq : (tensor<2x2x!c>) -> tensor<2x2xf32>
  %r = nn.matmul %a, %b : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %s = nn.matmul %a, %b : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %q = octet.quantize %s : (tensor<3x2xf32>) -> tensor<3x2x!y>
  // expected-remark @below {{OCT304 | Category:octet-lower | Remark="stays float: it has no kernel for this per-channel operand or result"}}
  %f = nn.matmul %a, %c : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  return %r, %q, %f : tensor<3x2xf32>, tensor<3x2x!y>, tensor<3x2xf32>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:3>

// 255 * 255 * 33026 is more than 2^31 - 1.
// CHECK-LABEL: func @long_products_of_activations
// CHECK: nn.matmul {{.*}} : (tensor<1x33025x!quant
// CHECK: nn.matmul {{.*}} : (tensor<1x33026xf32>
func.func @long_products_of_activations(%xq: tensor<1x33025x!a>, %yq: tensor<33025x1x!a>, %vq: tensor<1x33026x!a>, %wq: tensor<33026x1x!a>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %x = octet.dequantize %xq : (tensor<1x33025x!a>) -> tensor<1x33025xf32>
  %y = octet.dequantize %yq : (tensor<33025x1x!a>) -> tensor<33025x1xf32>
  %v = octet.dequantize %vq : (tensor<1x33026x!a>) -> tensor<1x33026xf32>
  %w = octet.dequantize %wq : (tensor<33026x1x!a>) -> tensor<33026x1xf32>
  %a = nn.matmul %x, %y : (tensor<1x33025xf32>, tensor<33025x1xf32>) -> tensor<1x1xf32>
  // expected-remark @below {{OCT307 | Category:octet-lower | Remark="stays float: the 32-bit accumulator may overflow"}}
  %b = nn.matmul %v, %w : (tensor<1x33026xf32>, tensor<33026x1xf32>) -> tensor<1x1xf32>
  return %a, %b : tensor<1x1xf32>, tensor<1x1xf32>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:3>

// Sums read bytes and are real numbers.
// CHECK-LABEL: func @sum
// CHECK: %[[S:.*]] = nn.reduce_sum %arg0 axes [1] keep_dims : (tensor<3x2x!quant{{.*}}>) -> tensor<3x1xf32>
// CHECK: return %[[S]]
func.func @sum(%aq: tensor<3x2x!a>) -> tensor<3x1xf32> {
  %a = octet.dequantize %aq : (tensor<3x2x!a>) -> tensor<3x2xf32>
  %s = nn.reduce_sum %a axes [1] keep_dims : (tensor<3x2xf32>) -> tensor<3x1xf32>
  return %s : tensor<3x1xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.25:10>
!z = !quant.uniform<u8:f32, 0.5:10>

// A clamp that shares the quantized type of the product in front, as PyTorch has it: clamping before or behind the first quantize is the same.
// CHECK-LABEL: func @clamp_of_a_quantized_product_is_its_storage_bounds
// CHECK-NOT: nn.table
// CHECK: nn.conv {{.*}} -> tensor<1x2x8x8x!quant.uniform<u8<10:34>:f32, 2.500000e-01:10>>
// CHECK-NOT: nn.table
func.func @clamp_of_a_quantized_product_is_its_storage_bounds(%xq: tensor<1x3x8x8x!x>) -> (tensor<1x2x8x8xf32>) {
  %wq = nn.constant dense<1> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!w>
  %x = octet.dequantize %xq : (tensor<1x3x8x8x!x>) -> tensor<1x3x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x3x3x3x!w>) -> tensor<2x3x3x3xf32>
  %c = nn.conv %x, %w pads [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x8x8xf32>
  %cq = octet.quantize %c : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %cd = octet.dequantize %cq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  %r = nn.clip %cd min 0.0 max 6.0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %rq = octet.quantize %r : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %rd = octet.dequantize %rq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %rd : tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.25:10>
!z = !quant.uniform<u8:f32, 0.5:10>

// The product is read unclamped, too.
// CHECK-LABEL: func @clamp_of_a_product_that_another_reads_stays
// CHECK: nn.conv {{.*}} -> tensor<1x2x8x8x!quant.uniform<u8:f32, 2.500000e-01:10>>
// CHECK: nn.table
func.func @clamp_of_a_product_that_another_reads_stays(%xq: tensor<1x3x8x8x!x>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %wq = nn.constant dense<1> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!w>
  %x = octet.dequantize %xq : (tensor<1x3x8x8x!x>) -> tensor<1x3x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x3x3x3x!w>) -> tensor<2x3x3x3xf32>
  %c = nn.conv %x, %w pads [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x8x8xf32>
  %cq = octet.quantize %c : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %cd = octet.dequantize %cq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  %r = nn.clip %cd min 0.0 max 6.0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %rq = octet.quantize %r : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %rd = octet.dequantize %rq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  return %rd, %cd : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.25:10>
!z = !quant.uniform<u8:f32, 0.5:10>

// Quantized twice, to different types: the first rounds.
// CHECK-LABEL: func @clamp_to_another_type_stays
// CHECK: nn.conv {{.*}} -> tensor<1x2x8x8x!quant.uniform<u8:f32, 2.500000e-01:10>>
// CHECK: nn.table
func.func @clamp_to_another_type_stays(%xq: tensor<1x3x8x8x!x>) -> (tensor<1x2x8x8xf32>) {
  %wq = nn.constant dense<1> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!w>
  %x = octet.dequantize %xq : (tensor<1x3x8x8x!x>) -> tensor<1x3x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x3x3x3x!w>) -> tensor<2x3x3x3xf32>
  %c = nn.conv %x, %w pads [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x8x8xf32>
  %cq = octet.quantize %c : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!y>
  %cd = octet.dequantize %cq : (tensor<1x2x8x8x!y>) -> tensor<1x2x8x8xf32>
  %r = nn.clip %cd min 0.0 max 6.0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %rq = octet.quantize %r : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!z>
  %rd = octet.dequantize %rq : (tensor<1x2x8x8x!z>) -> tensor<1x2x8x8xf32>
  return %rd : tensor<1x2x8x8xf32>
}

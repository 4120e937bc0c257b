// RUN: octet-opt %s --octet-lower --split-input-file --verify-diagnostics --remarks-filter=octet-lower --remark-format=emitRemark | FileCheck %s

!q = !quant.uniform<u8:f32, 0.5:128>
!y = !quant.uniform<u8:f32, 0.25:1>

// relu of (q - 128) * 0.5 at scale 0.25 and zero point 1 is 1 up to 128, then 3, 5, ...
// CHECK-LABEL: func @one_input_is_a_table
// CHECK-SAME: %[[X:.*]]: tensor<1x8x!quant
// CHECK-NEXT: %[[T:.*]] = nn.table %[[X]], [1, 1, {{(1, )+}}3, 5, 7, 9, {{.*}}, -5, -3, -1] : {{.*}} -> tensor<1x8x!quant.uniform<u8:f32, 2.500000e-01:1>>
// CHECK-NEXT: octet.dequantize %[[T]]
func.func @one_input_is_a_table(%xq: tensor<1x8x!q>) -> tensor<1x8xf32> {
  %x = octet.dequantize %xq : (tensor<1x8x!q>) -> tensor<1x8xf32>
  %r = nn.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %rq = octet.quantize %r : (tensor<1x8xf32>) -> tensor<1x8x!y>
  %rd = octet.dequantize %rq : (tensor<1x8x!y>) -> tensor<1x8xf32>
  return %rd : tensor<1x8xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:128>
!y = !quant.uniform<u8:f32, 0.25:1>

// Several ops, groups, repeated and scalar operands are one island: clip(3 - x * x, 0, 100), 3 at the zero point of x.
// CHECK-LABEL: func @island
// CHECK-NEXT: nn.table %{{.*}}, [1, {{.*}} 1, 1, 4, 9, 12, 13, 12, 9, 4, 1, 1, {{.*}}]
// CHECK-NOT: octet.group
func.func @island(%xq: tensor<1x8x!q>) -> tensor<1x8xf32> {
  %three = nn.constant dense<3.0> : tensor<1xf32>
  %x = octet.dequantize %xq : (tensor<1x8x!q>) -> tensor<1x8xf32>
  %s = octet.group(%0 = %x) : (tensor<1x8xf32>) -> tensor<1x8xf32> {
    %m = nn.mul %0, %0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    octet.yield %m : tensor<1x8xf32>
  }
  %d = nn.sub %three, %s : (tensor<1xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %r = nn.clip %d min 0.0 max 100.0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %rq = octet.quantize %r : (tensor<1x8xf32>) -> tensor<1x8x!y>
  %rd = octet.dequantize %rq : (tensor<1x8x!y>) -> tensor<1x8xf32>
  return %rd : tensor<1x8xf32>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:128>
!b = !quant.uniform<u8:f32, 0.25:3>
!y = !quant.uniform<u8:f32, 0.25:9>

// Several inputs: a group that dequantizes them; the relu is the result's lower bound.
// CHECK-LABEL: func @several_inputs_are_a_group
// CHECK-SAME: %[[A:.*]]: tensor<1x8x!quant{{.*}}, %[[B:.*]]: tensor<1x8x!quant
// CHECK-NEXT: octet.group(%[[X:.*]] = %[[A]], %[[Z:.*]] = %[[B]]) : {{.*}} -> tensor<1x8x!quant.uniform<u8<9:255>:f32, 2.500000e-01:9>> {
// CHECK-DAG: %[[XD:.*]] = octet.dequantize %[[X]]
// CHECK-DAG: %[[ZD:.*]] = octet.dequantize %[[Z]]
// CHECK: %[[S:.*]] = nn.add %[[XD]], %[[ZD]]
// CHECK-NEXT: octet.yield %[[S]]
func.func @several_inputs_are_a_group(%aq: tensor<1x8x!a>, %bq: tensor<1x8x!b>) -> tensor<1x8xf32> {
  %a = octet.dequantize %aq : (tensor<1x8x!a>) -> tensor<1x8xf32>
  %b = octet.dequantize %bq : (tensor<1x8x!b>) -> tensor<1x8xf32>
  %s = octet.group(%0 = %a, %1 = %b) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32> {
    %m = nn.add %0, %1 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    %r = nn.relu %m : (tensor<1x8xf32>) -> tensor<1x8xf32>
    octet.yield %r : tensor<1x8xf32>
  }
  %sq = octet.quantize %s : (tensor<1x8xf32>) -> tensor<1x8x!y>
  %sd = octet.dequantize %sq : (tensor<1x8x!y>) -> tensor<1x8xf32>
  return %sd : tensor<1x8xf32>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:128>
!y = !quant.uniform<u8:f32, 0.25:9>

// A constant that differs by channel is an operand; one that is quantized is quantized now.
// CHECK-LABEL: func @constants
// CHECK-DAG: %[[C:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: octet.group({{.*}} = %{{.*}}, {{.*}} = %[[C]])
// CHECK: %[[Q:.*]] = nn.constant dense_resource<constant.i8> : tensor<2xi8> -> tensor<2x!quant
// CHECK: octet.group({{.*}} = %{{.*}}, {{.*}} = %[[Q]])
// CHECK: dialect_resources
// 1 / 0.5 + 128 and 2 / 0.5 + 128.
// CHECK: constant{{.*}}: "0x{{[0-9]*}}8284"
func.func @constants(%aq: tensor<1x2x!a>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = octet.dequantize %aq : (tensor<1x2x!a>) -> tensor<1x2xf32>
  %s = nn.mul %a, %c : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %sq = octet.quantize %s : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %sd = octet.dequantize %sq : (tensor<1x2x!y>) -> tensor<1x2xf32>
  %cq = octet.quantize %c : (tensor<2xf32>) -> tensor<2x!a>
  %cd = octet.dequantize %cq : (tensor<2x!a>) -> tensor<2xf32>
  %t = nn.mul %a, %cd : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %tq = octet.quantize %t : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %td = octet.dequantize %tq : (tensor<1x2x!y>) -> tensor<1x2xf32>
  return %sd, %td : tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:128>
!b = !quant.uniform<u8:f32, 1.0:128>

// A pair of the same type is nothing, of another type a table.
// CHECK-LABEL: func @pairs
// CHECK-SAME: %[[A:.*]]: tensor<1x8x!quant
// CHECK-NEXT: %[[T:.*]] = nn.table %[[A]], [64, 64, 65,
// CHECK-NEXT: return %[[A]], %[[T]]
func.func @pairs(%aq: tensor<1x8x!a>) -> (tensor<1x8x!a>, tensor<1x8x!b>) {
  %a = octet.dequantize %aq : (tensor<1x8x!a>) -> tensor<1x8xf32>
  %same = octet.quantize %a : (tensor<1x8xf32>) -> tensor<1x8x!a>
  %other = octet.quantize %a : (tensor<1x8xf32>) -> tensor<1x8x!b>
  return %same, %other : tensor<1x8x!a>, tensor<1x8x!b>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:128>

// The integer form does not keep the float consumer from its value.
// CHECK-LABEL: func @both_kinds_of_readers
// CHECK-SAME: %[[A:.*]]: tensor<1x8x!quant
// CHECK: %[[D:.*]] = octet.dequantize %[[A]]
// CHECK: %[[R:.*]] = nn.relu %[[D]]
// CHECK: %[[T:.*]] = nn.table %[[A]]
// CHECK: return %[[R]], %[[T]]
func.func @both_kinds_of_readers(%aq: tensor<1x8x!a>) -> (tensor<1x8xf32>, tensor<1x8x!a>) {
  %a = octet.dequantize %aq : (tensor<1x8x!a>) -> tensor<1x8xf32>
  // expected-remark @below {{OCT104 | Category:octet-lower}}
  %r = nn.relu %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %rq = octet.quantize %r : (tensor<1x8xf32>) -> tensor<1x8x!a>
  return %r, %rq : tensor<1x8xf32>, tensor<1x8x!a>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:128>

// What was planned in integers and has them for one reader keeps its decision; what a recipe left no such reader is float, not against the policy.
// CHECK-LABEL: func @planned
// CHECK: nn.relu {{.*}}verdict = int8
// CHECK: nn.sigmoid {{.*}}verdict = float, reason = <"OCT302", "its result is used as real numbers only", "{{[^"]*}}">>
func.func @planned(%aq: tensor<1x8x!a>) -> (tensor<1x8xf32>, tensor<1x8x!a>, tensor<1x8xf32>) {
  %a = octet.dequantize %aq : (tensor<1x8x!a>) -> tensor<1x8xf32>
  %r = nn.relu %a {octet.decision = #octet.decision<number = 0, verdict = int8>} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %rq = octet.quantize %r : (tensor<1x8xf32>) -> tensor<1x8x!a>
  // expected-remark @below {{OCT302 | Category:octet-lower}}
  %s = nn.sigmoid %a {octet.decision = #octet.decision<number = 1, verdict = int8>} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %r, %rq, %s : tensor<1x8xf32>, tensor<1x8x!a>, tensor<1x8xf32>
}

// -----

!a = !quant.uniform<u8:f32, 0.5:128>
!s = !quant.uniform<u4:f32, 0.5>

// CHECK-LABEL: func @what_stays_float
func.func @what_stays_float(%aq: tensor<1x8x!a>, %real: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8x!a>, tensor<1x8x!s>) {
  %a = octet.dequantize %aq : (tensor<1x8x!a>) -> tensor<1x8xf32>
  // CHECK: nn.sigmoid {{.*}} -> tensor<1x8xf32>
  // expected-remark @below {{OCT302 | Category:octet-lower | Remark="stays float: its result is used as real numbers only"}}
  %r = nn.sigmoid %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.add {{.*}} -> tensor<1x8xf32>
  // expected-remark @below {{OCT301 | Category:octet-lower | Remark="stays float: an operand is real-valued"}}
  %s = nn.add %a, %real : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %sq = octet.quantize %s : (tensor<1x8xf32>) -> tensor<1x8x!a>
  // CHECK: nn.relu {{.*}} -> tensor<1x8xf32>
  // expected-remark @below {{OCT303 | Category:octet-lower | Remark="stays float: an activation is not stored in 8 bits"}}
  %t = nn.relu %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %tq = octet.quantize %t : (tensor<1x8xf32>) -> tensor<1x8x!s>
  return %r, %sq, %tq : tensor<1x8xf32>, tensor<1x8x!a>, tensor<1x8x!s>
}

// Integers of 16 bits have no table.
// CHECK-LABEL: func @of_16_bits
// CHECK-NOT:     nn.table
// CHECK:         octet.group({{.*}}u16{{.*}} -> tensor<1x8x!quant.uniform<i16
// CHECK:         octet.group({{.*}}u16{{.*}} -> tensor<1x8x!quant.uniform<u8
// CHECK-NOT:     nn.table
// CHECK:         return
func.func @of_16_bits(%xq: tensor<1x8x!quant.uniform<u16:f32, 0.5:7>>) -> (tensor<1x8x!quant.uniform<i16:f32, 0.25>>, tensor<1x8x!a>) {
  %x = octet.dequantize %xq : (tensor<1x8x!quant.uniform<u16:f32, 0.5:7>>) -> tensor<1x8xf32>
  %r = nn.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %rq = octet.quantize %r : (tensor<1x8xf32>) -> tensor<1x8x!quant.uniform<i16:f32, 0.25>>
  %s = nn.sigmoid %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %sq = octet.quantize %s : (tensor<1x8xf32>) -> tensor<1x8x!a>
  return %rq, %sq : tensor<1x8x!quant.uniform<i16:f32, 0.25>>, tensor<1x8x!a>
}

// A value that is quantized twice in a row changes its integers by a table.
// CHECK-LABEL: func.func @quantized_twice
// CHECK: nn.table %{{.*}}, [1, 3, 4, 6, 8, 9,
func.func @quantized_twice(%x: tensor<1x2x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x2x!quant.uniform<u8:f32, 0.3:1>> {
  %0 = octet.dequantize %x : (tensor<1x2x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x2xf32>
  %1 = octet.quantize %0 : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<u8:f32, 0.3:1>>
  return %1 : tensor<1x2x!quant.uniform<u8:f32, 0.3:1>>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:128>
!y = !quant.uniform<u8:f32, 0.25:1>

// A constant that is a part of a group is read as one outside is.
// CHECK-LABEL: func @constant_in_a_group
// CHECK-NEXT: nn.table
// CHECK-NOT: octet.group
func.func @constant_in_a_group(%xq: tensor<1x8x!q>) -> tensor<1x8xf32> {
  %x = octet.dequantize %xq : (tensor<1x8x!q>) -> tensor<1x8xf32>
  %s = octet.group(%0 = %x) : (tensor<1x8xf32>) -> tensor<1x8xf32> {
    %three = nn.constant dense<3.0> : tensor<1x8xf32>
    %a = nn.add %0, %three : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    %r = nn.relu %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
    octet.yield %r : tensor<1x8xf32>
  }
  %sq = octet.quantize %s : (tensor<1x8xf32>) -> tensor<1x8x!y>
  %sd = octet.dequantize %sq : (tensor<1x8x!y>) -> tensor<1x8xf32>
  return %sd : tensor<1x8xf32>
}

// -----

// A group of two results has no integer form.
// CHECK-LABEL: func @group_of_two_results
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.tanh
// CHECK-NOT: octet.group
func.func @group_of_two_results(%x: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  %s:2 = octet.group(%0 = %x) : (tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
    %a = nn.relu %0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %b = nn.tanh %0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
    octet.yield %a, %b : tensor<1x8xf32>, tensor<1x8xf32>
  }
  return %s#0, %s#1 : tensor<1x8xf32>, tensor<1x8xf32>
}

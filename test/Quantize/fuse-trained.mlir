// Affine operators behind weights with a trained type change its scales and not the integers.
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --split-input-file | FileCheck %s

!x = tensor<1x1x2x2xf32>
!y = tensor<1x2x2x2xf32>
!w = tensor<2x1x1x1xf32>
!c = tensor<2x1x1xf32>

// Convolution and batch norm in training form: weights times k, their result divided by k, the bias, the statistics.
// k = 2 / sqrt(3 + 1) = 1 and 4 / sqrt(3 + 1) = 2; the bias becomes (0.5 - 3) * k + 5.
// CHECK-LABEL: func @batch_norm_in_training_form
// CHECK: %[[W:.*]] = nn.constant dense_resource<[[WEIGHT:.*]]> : tensor<2x1x1x1xf32>
// CHECK: %[[F:.*]] = octet.fake_quantize %[[W]] as !quant.uniform<i8:f32, 1.250000e-01> : tensor<2x1x1x1xf32>
// CHECK: %[[B:.*]] = nn.constant dense_resource<[[BIAS:.*]]> : tensor<2xf32>
// CHECK: octet.group @cpu::@conv_act(%{{.*}} = %{{.*}}, %{{.*}} = %[[F]], %{{.*}} = %[[B]])
// CHECK-NOT: nn.div
// CHECK-NOT: nn.batch_norm
// CHECK: return
// CHECK-DAG: [[WEIGHT]]: "0x100000000000803F0000C0BF"
// CHECK-DAG: [[BIAS]]: "0x100000000000204000000000"
func.func @batch_norm_in_training_form(%x: !x) -> !y {
  %w = nn.constant dense_resource<w> : !w
  %k = nn.constant dense<[[[1.0]], [[2.0]]]> : !c
  %bias = nn.constant dense<0.5> : !c
  %scale = nn.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %shift = nn.constant dense<5.0> : tensor<2xf32>
  %three = nn.constant dense<3.0> : tensor<2xf32>
  %wf = octet.fake_quantize %w as !quant.uniform<i8:f32, 0.125> : !w
  %0 = nn.conv %x, %wf {octet.origin = #octet.origin<"c">} : (!x, !w) -> !y
  %1 = nn.div %0, %k : (!y, !c) -> !y
  %2 = nn.add %1, %bias : (!y, !c) -> !y
  %3 = nn.batch_norm %2, %scale, %shift, %three, %three epsilon 1.0 : (!y, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !y
  %4 = nn.relu %3 : (!y) -> !y
  return %4 : !y
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F0000C0BF" } } #-}

// -----

!x = tensor<1x1x2x2xf32>
!y = tensor<1x2x2x2xf32>
!w = tensor<2x1x1x1xf32>
!c = tensor<2x1x1xf32>

// Factors that differ give a scale per channel; negative ones turn the integers' signs.
// CHECK-LABEL: func @scales_per_channel
// CHECK: %[[W:.*]] = nn.constant dense_resource<[[WEIGHT:.*]]> : tensor<2x1x1x1xf32>
// CHECK: octet.fake_quantize %[[W]] as !quant.uniform<i8:f32:0, {2.500000e-01,5.000000e-01}> : tensor<2x1x1x1xf32>
// CHECK-NOT: nn.mul
// CHECK: return
// CHECK: [[WEIGHT]]: "0x10000000000000400000C040"
func.func @scales_per_channel(%x: !x) -> !y {
  %w = nn.constant dense_resource<w> : !w
  %k = nn.constant dense<[[[2.0]], [[-4.0]]]> : !c
  %wf = octet.fake_quantize %w as !quant.uniform<i8:f32, 0.125> : !w
  %0 = nn.conv %x, %wf : (!x, !w) -> !y
  %1 = nn.mul %0, %k : (!y, !c) -> !y
  return %1 : !y
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F0000C0BF" } } #-}

// -----

!x = tensor<1x1x2x2xf32>
!y = tensor<1x1x2x2xf32>
!w = tensor<1x1x1x1xf32>

// -128 has no opposite, and a factor of 0 no scale: the operator stays.
// CHECK-LABEL: func @no_scale
// CHECK-COUNT-2: nn.mul
func.func @no_scale(%x: !x) -> (!y, !y) {
  %w = nn.constant dense<-16.0> : !w
  %k = nn.constant dense<-1.0> : tensor<1x1x1xf32>
  %z = nn.constant dense<0.0> : tensor<1x1x1xf32>
  %wf = octet.fake_quantize %w as !quant.uniform<i8:f32, 0.125> : !w
  %0 = nn.conv %x, %wf : (!x, !w) -> !y
  %1 = nn.mul %0, %k : (!y, tensor<1x1x1xf32>) -> !y
  %2 = nn.conv %x, %wf : (!x, !w) -> !y
  %3 = nn.mul %2, %z : (!y, tensor<1x1x1xf32>) -> !y
  return %1, %3 : !y, !y
}

// -----

// A range that was trained in between is kept: the batch norm is not folded.
!x = tensor<1x1x2x2xf32>
!w = tensor<1x1x1x1xf32>
!p = tensor<1xf32>
// CHECK-LABEL: func @a_pair_in_between
// CHECK: nn.conv
// CHECK: octet.fake_quantize
// CHECK: nn.batch_norm
func.func @a_pair_in_between(%x: !x, %scale: !p) -> !x {
  %w = nn.constant dense<1.0> : !w
  %one = nn.constant dense<1.0> : !p
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  %1 = octet.fake_quantize %0 as !quant.uniform<u8:f32, 0.125> : !x
  %2 = nn.batch_norm %1, %one, %one, %one, %one epsilon 1.0 : (!x, !p, !p, !p, !p) -> !x
  return %2 : !x
}

// RUN: octet-opt %s --octet-attach-policy --octet-fuse --split-input-file | FileCheck %s

// The group stands under the name of its convolution.
// CHECK-LABEL: func @convolution_and_relu_are_one_group
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4x4xf32>
// CHECK: %[[W:.*]] = nn.constant
// CHECK: %[[G:.*]] = octet.group @cpu::@conv_act(%[[A:.*]] = %[[X]], %[[B:.*]] = %[[W]]) attributes {octet.origin = #octet.origin<"conv1">}
// CHECK-NEXT: %[[C:.*]] = nn.conv %[[A]], %[[B]]
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[C]]
// CHECK-NEXT: octet.yield %[[R]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[G]]
func.func @convolution_and_relu_are_one_group(%x: tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<3x2x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"conv1">} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu1">} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %1 : tensor<1x3x4x4xf32>
}

// -----

// CHECK-LABEL: func @a_value_read_elsewhere_is_not_fused
// CHECK-NOT: octet.group
// CHECK: return
func.func @a_value_read_elsewhere_is_not_fused(%x: tensor<1x2x4x4xf32>) -> (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<3x2x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %1 = nn.relu %0 : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %0, %1 : tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>
}

// -----

// The residual may stand on either side; the longest pattern wins.
// CHECK-LABEL: func @residual_add_and_activation_join_the_convolution
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4x4xf32>{{.*}}, %[[R:[^:]*]]: tensor<1x2x4x4xf32>
// CHECK: %[[W:.*]] = nn.constant
// CHECK: octet.group @cpu::@conv_add_act(%[[A:.*]] = %[[X]], %[[B:.*]] = %[[W]], %[[D:.*]] = %[[R]])
// CHECK: %[[C:.*]] = nn.conv %[[A]], %[[B]]
// CHECK: %[[S:.*]] = nn.add %[[D]], %[[C]]
// CHECK: nn.clip %[[S]]
// CHECK-NOT: octet.group
func.func @residual_add_and_activation_join_the_convolution(%x: tensor<1x2x4x4xf32>, %r: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.add %r, %0 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = nn.clip %1 min 0.0 max 6.0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// -----

// Both operands of the sum are convolutions; the one that is read elsewhere is the residual.
// CHECK-LABEL: func @the_convolution_that_only_the_sum_reads_is_fused
// CHECK: %[[R:.*]] = nn.conv %{{.*}} {octet.origin = #octet.origin<"shortcut">}
// CHECK: octet.group @cpu::@conv_add(%{{.*}}, %{{.*}}, %{{.*}} = %[[R]])
func.func @the_convolution_that_only_the_sum_reads_is_fused(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"shortcut">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.conv %x, %w {octet.origin = #octet.origin<"main">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = nn.add %0, %1 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %0, %2 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// A residual that is broadcast does not fit the constraint of the pattern.
// CHECK-LABEL: func @a_broadcast_residual_stays_outside
// CHECK: nn.conv
// CHECK: octet.group @cpu::@binary_act
// CHECK-NEXT: nn.add
func.func @a_broadcast_residual_stays_outside(%x: tensor<1x2x4x4xf32>, %r: tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.add %0, %r : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = nn.relu %1 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// -----

// gamma 2, beta 1, mean 3, variance 4 - epsilon: k = 1, b = 1 - 3; weight 5, bias 7 -> 5, 5.
// CHECK-LABEL: func @batch_norm_disappears_into_the_weights
// CHECK-NOT: nn.batch_norm
// CHECK-DAG: %[[W:.*]] = nn.constant dense_resource<"w+bn">
// CHECK-DAG: %[[B:.*]] = nn.constant dense_resource<"b+bn">
// CHECK: nn.conv %{{.*}}, %[[W]], %[[B]]
// CHECK-NOT: nn.batch_norm
// CHECK: return
// CHECK: "w+bn": "0x100000000000A040"
// CHECK: "b+bn": "0x100000000000A040"
func.func @batch_norm_disappears_into_the_weights(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense_resource<w> : tensor<1x1x1x1xf32>
  %b = nn.constant dense_resource<b> : tensor<1xf32>
  %gamma = nn.constant dense<2.0> : tensor<1xf32>
  %beta = nn.constant dense<1.0> : tensor<1xf32>
  %mean = nn.constant dense<3.0> : tensor<1xf32>
  %variance = nn.constant dense<3.75> : tensor<1xf32>
  %0 = nn.conv %x, %w, %b : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %1 = nn.batch_norm %0, %gamma, %beta, %mean, %variance epsilon 0.25 {octet.origin = #octet.origin<"bn">} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  return %1 : tensor<1x1x4x4xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000A040", b: "0x040000000000E040" } } #-}

// -----

// CHECK-LABEL: func @batch_norm_of_a_value_read_elsewhere_stays
// CHECK: nn.conv
// CHECK: nn.batch_norm
func.func @batch_norm_of_a_value_read_elsewhere_stays(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %k = nn.constant dense<2.0> : tensor<1xf32>
  %0 = nn.conv %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = nn.batch_norm %0, %k, %k, %k, %k : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  return %0, %1 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// -----

// Batch norm has its channels along axis 1, a linear layer along the last one.
// CHECK-LABEL: func @batch_norm_along_another_axis_stays
// CHECK: nn.linear
// CHECK: nn.batch_norm
func.func @batch_norm_along_another_axis_stays(%x: tensor<1x2x3xf32>) -> tensor<1x2x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x3xf32>
  %k = nn.constant dense<2.0> : tensor<2xf32>
  %0 = nn.linear %x, %w : (tensor<1x2x3xf32>, tensor<2x3xf32>) -> tensor<1x2x2xf32>
  %1 = nn.batch_norm %0, %k, %k, %k, %k : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  return %1 : tensor<1x2x2xf32>
}

// -----

// CHECK-LABEL: func @batch_norm_of_features_folds_into_a_linear_layer
// CHECK: nn.linear
// CHECK-NOT: nn.batch_norm
// CHECK: return
func.func @batch_norm_of_features_folds_into_a_linear_layer(%x: tensor<1x3xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x3xf32>
  %k = nn.constant dense<2.0> : tensor<2xf32>
  %0 = nn.linear %x, %w : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  %1 = nn.batch_norm %0, %k, %k, %k, %k : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// -----

// CHECK-LABEL: func @a_constant_behind_a_linear_layer_becomes_its_bias
// CHECK: %[[B:.*]] = nn.constant dense_resource<"fc.bias+add">
// CHECK: nn.linear %{{.*}}, %{{.*}}, %[[B]]
// CHECK-NOT: nn.add
// CHECK: return
// CHECK: "fc.bias+add": "0x100000000000803F00000040"
func.func @a_constant_behind_a_linear_layer_becomes_its_bias(%x: tensor<1x3xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x3xf32>
  %b = nn.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"fc">} : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  %1 = nn.add %b, %0 {octet.origin = #octet.origin<"add">} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// -----

// CHECK-LABEL: func @a_constant_along_the_width_is_no_bias
// CHECK: nn.conv %{{[^,]*}}, %{{[^,]*}} :
// CHECK: nn.add
func.func @a_constant_along_the_width_is_no_bias(%x: tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<4x2x1x1xf32>
  %b = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = nn.add %0, %b : (tensor<1x4x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// -----

// Behind a concatenation no weights take it.
// CHECK-LABEL: func @batch_norm_and_relu_are_one_group
// CHECK: octet.group @cpu::@batch_norm_act
// CHECK-NEXT: nn.batch_norm
// CHECK-NEXT: nn.relu
func.func @batch_norm_and_relu_are_one_group(%x: tensor<1x2x4x4xf32>, %y: tensor<1x1x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %p = nn.constant dense<1.0> : tensor<3xf32>
  %0 = nn.concat %x, %y axis 1 : (tensor<1x2x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x3x4x4xf32>
  %1 = nn.batch_norm %0, %p, %p, %p, %p : (tensor<1x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  %2 = nn.relu %1 : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %2 : tensor<1x3x4x4xf32>
}

// -----

// CHECK-LABEL: func @smooth_activations_join_products
// CHECK: octet.group @cpu::@conv_act
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.erf
// CHECK: octet.group @cpu::@conv_act
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.softplus
// CHECK: octet.group @cpu::@linear_act
// CHECK-NEXT: nn.linear
// CHECK-NEXT: nn.gelu
func.func @smooth_activations_join_products(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %m = nn.constant dense<1.0> : tensor<4x4xf32>
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.erf %0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = nn.conv %1, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = nn.softplus %2 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %4 = nn.linear %3, %m : (tensor<1x2x4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
  %5 = nn.gelu %4 none : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %5 : tensor<1x2x4x4xf32>
}

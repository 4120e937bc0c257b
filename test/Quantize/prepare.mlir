// RUN: octet-opt %s --octet-attach-policy=qconfig-mapping=%S/Inputs/constants.mlir --octet-fuse --octet-prepare --split-input-file | FileCheck %s

// The input, and what quantized operators read; the last result has no observer, its readers are float.
// CHECK: octet.observer @input #octet.fixed_qparams<ui8
// CHECK-NEXT: octet.observer @relu1 #octet.fixed_qparams<ui8
// CHECK-NEXT: octet.observer @w1 #octet.fixed_qparams<si8
// CHECK-NEXT: octet.observer @w2 #octet.fixed_qparams<si8
// CHECK-LABEL: func @values_and_weights_are_observed
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2xf32>
// CHECK-DAG: %[[XO:.*]] = octet.observe %[[X]] by @input
// CHECK-DAG: %[[W1:.*]] = octet.observe %{{.*}} by @w1
// CHECK-DAG: %[[W2:.*]] = octet.observe %{{.*}} by @w2
// CHECK: %[[G:.*]] = octet.group @cpu::@linear_act(%{{.*}} = %[[XO]], %{{.*}} = %[[W1]], %{{.*}} = %{{[^)]*}})
// CHECK: %[[GO:.*]] = octet.observe %[[G]] by @relu1
// CHECK: %[[L:.*]] = nn.linear %[[GO]], %[[W2]]
// CHECK-NOT: octet.observe
// CHECK: nn.softmax %[[L]]
func.func @values_and_weights_are_observed(%x: tensor<1x2xf32> {nn.name = "input"}) -> tensor<1x2xf32> {
  %w1 = nn.constant dense_resource<w1> : tensor<2x2xf32>
  %w2 = nn.constant dense_resource<w2> : tensor<2x2xf32>
  %b = nn.constant dense<1.0> : tensor<2xf32>
  %0 = nn.linear %x, %w1, %b {octet.origin = #octet.origin<"fc1">} : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu1">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = nn.linear %1, %w2 {octet.origin = #octet.origin<"fc2">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %3 = nn.softmax %2 axis 1 {octet.origin = #octet.origin<"softmax">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %3 : tensor<1x2xf32>
}
{-# dialect_resources: { builtin: {
  w1: "0x040000000000803F0000803F0000803F0000803F", w2: "0x040000000000803F0000803F0000803F0000803F" } } #-}

// -----

// CHECK: octet.observer @a
// CHECK-LABEL: func @pool_concat_and_movement_share_the_observer_of_their_inputs
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x1x2x2xf32>{{.*}}, %[[Y:[^:]*]]: tensor<1x1x1x1xf32>
// CHECK-DAG: %[[A:.*]] = octet.observe %[[X]] by @a
// CHECK-DAG: octet.observe %[[Y]] by @a
// CHECK: nn.max_pool %[[A]]
// CHECK: octet.observe %{{.*}} by @a
// CHECK: nn.concat
// CHECK: octet.observe %{{.*}} by @a
// CHECK: nn.reshape
// CHECK: octet.observe %{{.*}} by @a
// CHECK: nn.linear
func.func @pool_concat_and_movement_share_the_observer_of_their_inputs(
    %a: tensor<1x1x2x2xf32> {nn.name = "a"}, %b: tensor<1x1x1x1xf32> {nn.name = "b"}) -> tensor<1x1xf32> {
  %w = nn.constant dense<1.0> : tensor<1x2xf32>
  %0 = nn.max_pool %a kernel [2, 2] : (tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32>
  %1 = nn.concat %0, %b axis 1 : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x1x1xf32>
  %2 = nn.reshape %1 : (tensor<1x2x1x1xf32>) -> tensor<1x2xf32>
  %3 = nn.linear %2, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
  return %3 : tensor<1x1xf32>
}

// -----

// Nothing quantized reads what the movement leads to.
// CHECK-LABEL: func @movement_towards_the_output_stays_float
// CHECK: %[[Y:.*]] = nn.linear
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @movement_towards_the_output_stays_float(%x: tensor<1x2xf32>) -> tensor<2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = nn.reshape %0 : (tensor<1x2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// CHECK: octet.observer @x #octet.fixed_qparams<ui8, scale = 5.000000e-01 : f32, zero_point = 128>
// CHECK: octet.observer @gate #octet.fixed_qparams<ui8, scale = 3.906250e-03 : f32, zero_point = 0>
// CHECK-LABEL: func @a_result_of_known_range_is_not_measured
// CHECK: nn.sigmoid
// CHECK-NEXT: octet.observe %{{.*}} by @gate
func.func @a_result_of_known_range_is_not_measured(%x: tensor<1x2xf32> {nn.name = "x"}) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.sigmoid %x {octet.origin = #octet.origin<"gate">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = nn.linear %0, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// -----

// CHECK: octet.observer @x #octet.fixed_qparams<ui8, scale = 5.000000e-01
// CHECK-NOT: octet.observer @gate
// CHECK-LABEL: func @an_observer_that_measures_wins_in_a_shared_set
// CHECK: nn.concat
func.func @an_observer_that_measures_wins_in_a_shared_set(%x: tensor<1x2xf32> {nn.name = "x"}) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x4xf32>
  %0 = nn.sigmoid %x {octet.origin = #octet.origin<"gate">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = nn.concat %0, %x axis 1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %2 = nn.linear %1, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}

// -----

// module_name beats object_type and global; a longer name beats a shorter one; a regex beats the type.
// CHECK-LABEL: func @precedence_of_the_mapping
// CHECK: %[[X:.*]] = octet.observe
// CHECK: nn.linear %[[X]]
func.func @precedence_of_the_mapping(%x: tensor<1x2xf32> {nn.name = "x"}) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"head/first">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

// A mean's range is smaller than its input's; the mean over other axes than height and width has no pattern.
// CHECK-DAG: octet.observer @x
// CHECK-DAG: octet.observer @mean
// CHECK-NOT: octet.observer @other
// CHECK-LABEL: func @means_have_a_scale_of_their_own
func.func @means_have_a_scale_of_their_own(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> (tensor<1x2xf32>, tensor<1x4x4xf32>) {
  %w = nn.constant dense_resource<w> : tensor<2x2xf32>
  %0 = nn.reduce_mean %x axes [2, 3] {octet.origin = #octet.origin<"mean">} : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>
  %1 = nn.reduce_mean %x axes [1] {octet.origin = #octet.origin<"other">} : (tensor<1x2x4x4xf32>) -> tensor<1x4x4xf32>
  %2 = nn.linear %0, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %2, %1 : tensor<1x2xf32>, tensor<1x4x4xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F0000803F0000803F0000803F" } } #-}

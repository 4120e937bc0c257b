// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare --split-input-file | FileCheck %s

// Both readers are depthwise.
// CHECK: octet.observer @relu #octet.per_channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-LABEL: func @a_value_that_only_depthwise_convolutions_read
!t = tensor<1x2x4x4xf32>
func.func @a_value_that_only_depthwise_convolutions_read(%x: !t) -> (!t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %2 = nn.conv %1, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %3 = nn.conv %1, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  return %2, %3 : !t, !t
}

// -----

// CHECK: octet.observer @relu #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @another_reader_wants_one_scale
!t = tensor<1x2x4x4xf32>
func.func @another_reader_wants_one_scale(%x: !t) -> (!t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %2 = nn.conv %1, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %3 = nn.conv %1, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  return %2, %3 : !t, !t
}

// -----

// CHECK: octet.observer @relu #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @an_output_of_the_network_has_one_scale
!t = tensor<1x2x4x4xf32>
func.func @an_output_of_the_network_has_one_scale(%x: !t) -> (!t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %2 = nn.conv %1, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  return %1, %2 : !t, !t
}

// -----

// CHECK: octet.observer @relu #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @a_value_in_a_shared_set_has_one_scale
!t = tensor<1x2x4x4xf32>
func.func @a_value_in_a_shared_set_has_one_scale(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %2 = nn.max_pool %1 kernel [1, 1] : (!t) -> !t
  %3 = nn.conv %2, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  return %3 : !t
}

// -----

// Nothing requantizes the network's input per channel.
// CHECK: octet.observer @x #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @the_input_has_one_scale
!t = tensor<1x2x4x4xf32>
func.func @the_input_has_one_scale(%x: !t {nn.name = "x"}) -> !t {
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.conv %x, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  return %0 : !t
}

// -----

// The residual is read by an add, which wants one scale; the sum may have many.
// CHECK-DAG: octet.observer @residual #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @sum #octet.per_channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-LABEL: func @a_residual_has_one_scale
!t = tensor<1x2x4x4xf32>
func.func @a_residual_has_one_scale(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %r = nn.sigmoid %x : (!t) -> !t
  %s = nn.add %r, %x {octet.origin = #octet.origin<"residual">} : (!t, !t) -> !t
  %0 = nn.conv %x, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  %1 = nn.add %0, %s {octet.origin = #octet.origin<"sum">} : (!t, !t) -> !t
  %2 = nn.conv %1, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  return %2 : !t
}

// -----

// A depthwise convolution with a residual reads as one without does; the residual has one scale.
// CHECK: octet.observer @skip #octet.mean_squared_error<dtype = ui8,
// CHECK: octet.observer @relu #octet.per_channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-LABEL: func @depthwise_with_a_residual
!t = tensor<1x2x4x4xf32>
func.func @depthwise_with_a_residual(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %r = nn.conv %x, %w {octet.origin = #octet.origin<"skip">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %0 = nn.conv %x, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %2 = nn.conv %1, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %3 = nn.add %2, %r : (!t, !t) -> !t
  %4 = nn.relu %3 : (!t) -> !t
  %5 = nn.conv %4, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  return %5 : !t
}

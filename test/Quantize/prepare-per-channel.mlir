// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare --split-input-file | FileCheck %s

// Both readers are depthwise.
// CHECK: octet.observer @relu #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
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
// CHECK-DAG: octet.observer @sum #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
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
// CHECK: octet.observer @relu #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
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

// -----

// What computes the value stays float: the quantize behind it has a scale per channel.
// CHECK: octet.observer @softmax #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-LABEL: func @floats_that_only_depthwise_convolutions_read
!t = tensor<1x2x4x4xf32>
func.func @floats_that_only_depthwise_convolutions_read(%x: !t) -> (!t, !t) {
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.softmax %x axis 1 {octet.origin = #octet.origin<"softmax">} : (!t) -> !t
  %1 = nn.conv %0, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %2 = nn.softmax %0 axis 1 : (!t) -> !t
  return %1, %2 : !t, !t
}

// -----

// An affine operator behind an activation, which no pattern takes.
// CHECK: octet.observer @shift #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-LABEL: func @affine_behind_an_activation
!t = tensor<1x2x4x4xf32>
func.func @affine_behind_an_activation(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %k = nn.constant dense<0.5> : tensor<1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  %1 = nn.hard_swish %0 : (!t) -> !t
  %2 = nn.mul %1, %k : (!t, tensor<1xf32>) -> !t
  %3 = nn.add %2, %k {octet.origin = #octet.origin<"shift">} : (!t, tensor<1xf32>) -> !t
  %4 = nn.conv %3, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  return %4 : !t
}

// -----

// CHECK: octet.observer @softmax #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @another_reader_of_floats_wants_one_scale
!t = tensor<1x2x4x4xf32>
func.func @another_reader_of_floats_wants_one_scale(%x: !t) -> (!t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.softmax %x axis 1 {octet.origin = #octet.origin<"softmax">} : (!t) -> !t
  %1 = nn.conv %0, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %2 = nn.conv %0, %w : (!t, tensor<2x2x1x1xf32>) -> !t
  return %1, %2 : !t, !t
}

// -----

// CHECK: octet.observer @softmax #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @floats_of_which_a_slice_takes_channels_have_one_scale
!t = tensor<1x4x4x4xf32>
!h = tensor<1x2x4x4xf32>
func.func @floats_of_which_a_slice_takes_channels_have_one_scale(%x: !t) -> (!t, !h) {
  %d4 = nn.constant dense<1.0> : tensor<4x1x1x1xf32>
  %d2 = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.softmax %x axis 1 {octet.origin = #octet.origin<"softmax">} : (!t) -> !t
  %1 = nn.conv %0, %d4 groups 4 : (!t, tensor<4x1x1x1xf32>) -> !t
  %2 = nn.slice %0 starts [0, 0, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] : (!t) -> !h
  %3 = nn.conv %2, %d2 groups 2 : (!h, tensor<2x1x1x1xf32>) -> !h
  return %1, %3 : !t, !h
}

// -----

// A trained range stays, whoever reads the value beside.
// CHECK-LABEL: func @floats_with_a_trained_range
// CHECK: %[[TRAINED:.*]] = octet.fake_quantize
// CHECK: nn.conv %[[TRAINED]],
// CHECK: nn.conv %[[TRAINED]],
!t = tensor<1x2x4x4xf32>
func.func @floats_with_a_trained_range(%x: !t) -> (!t, !t) {
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.softmax %x axis 1 : (!t) -> !t
  %1 = octet.fake_quantize %0 as !quant.uniform<u8:f32, 0.03125> : !t
  %2 = nn.conv %1, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %3 = nn.conv %0, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  return %2, %3 : !t, !t
}

// -----

// A recurrence's steps share a scale per channel, too.
// CHECK: octet.observer @state #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-LABEL: func @steps_of_depthwise_convolutions
// CHECK-COUNT-3: octet.observe {{.*}} by @state
// CHECK: return
!t = tensor<1x2x4x4xf32>
func.func @steps_of_depthwise_convolutions(%x: !t) -> !t {
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = nn.softmax %x axis 1 {octet.origin = #octet.origin<"state">} : (!t) -> !t
  %1 = nn.conv %0, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %2 = nn.mul %1, %0 : (!t, !t) -> !t
  %3 = nn.conv %2, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %4 = nn.mul %3, %2 : (!t, !t) -> !t
  %5 = nn.conv %4, %d groups 2 : (!t, tensor<2x1x1x1xf32>) -> !t
  %6 = nn.mul %5, %4 : (!t, !t) -> !t
  return %6 : !t
}

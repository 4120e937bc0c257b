// Slices of channels.
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare --split-input-file | FileCheck %s

// Each slice is observed by itself, and the producer may write their scales.
// CHECK-DAG: octet.observer @relu #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-DAG: octet.observer @low #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @high #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @slices_of_channels
// CHECK: octet.observe %{{.*}} by @relu
// CHECK: octet.observe %{{.*}} by @low
// CHECK: octet.observe %{{.*}} by @high
!t = tensor<1x4x4x4xf32>
!h = tensor<1x2x4x4xf32>
func.func @slices_of_channels(%x: !t) -> (!h, !h) {
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<4x4x1x1xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %2 = nn.slice %1 starts [0, 0, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"low">} : (!t) -> !h
  %3 = nn.slice %1 starts [0, 2, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"high">} : (!t) -> !h
  %4 = nn.conv %2, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %5 = nn.conv %3, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  return %4, %5 : !h, !h
}

// -----

// The first two slices have channel 1 in common, so that they share an observer; the third has its own.
// CHECK-COUNT-1: octet.observer @{{(first|second)}} #octet.mean_squared_error<dtype = ui8,
// CHECK-NOT: octet.observer @{{(first|second)}}
// CHECK: octet.observer @third #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @slices_that_overlap
// CHECK: octet.observe %{{.*}} by @[[SHARED:(first|second)]]
// CHECK: octet.observe %{{.*}} by @[[SHARED]]
// CHECK: octet.observe %{{.*}} by @third
!t = tensor<1x4x4x4xf32>
!h = tensor<1x2x4x4xf32>
!one = tensor<1x1x4x4xf32>
func.func @slices_that_overlap(%x: !t) -> (!h, !h, !one) {
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %u = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<4x4x1x1xf32>) -> !t
  %1 = nn.slice %0 starts [0, 0, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"first">} : (!t) -> !h
  %2 = nn.slice %0 starts [0, 2, 0, 0] sizes [1, 2, 4, 4] steps [1, -1, 1, 1] {octet.origin = #octet.origin<"second">} : (!t) -> !h
  %3 = nn.slice %0 starts [0, 3, 0, 0] sizes [1, 1, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"third">} : (!t) -> !one
  %4 = nn.conv %1, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %5 = nn.conv %2, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %6 = nn.conv %3, %u : (!one, tensor<1x1x1x1xf32>) -> !one
  return %4, %5, %6 : !h, !h, !one
}

// -----

// A dense convolution reads the whole value and takes one scale.
// CHECK: octet.observer @conv #octet.mean_squared_error<dtype = ui8,
// CHECK-NOT: octet.observer @low
// CHECK-LABEL: func @another_reader_wants_one_scale
!t = tensor<1x4x4x4xf32>
!h = tensor<1x2x4x4xf32>
func.func @another_reader_wants_one_scale(%x: !t) -> (!h, !t) {
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"conv">} : (!t, tensor<4x4x1x1xf32>) -> !t
  %1 = nn.slice %0 starts [0, 0, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"low">} : (!t) -> !h
  %2 = nn.conv %1, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %3 = nn.conv %0, %w : (!t, tensor<4x4x1x1xf32>) -> !t
  return %2, %3 : !h, !t
}

// -----

// Nothing requantizes the network's input per channel, and a known range has no parts.
// CHECK-DAG: octet.observer @x #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @sigmoid #octet.fixed_qparams<ui8
// CHECK-NOT: octet.observer @low
// CHECK-LABEL: func @producers_without_a_scale_per_channel
!t = tensor<1x4x4x4xf32>
!h = tensor<1x2x4x4xf32>
func.func @producers_without_a_scale_per_channel(%x: !t {nn.name = "x"}) -> (!h, !h, !h) {
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.slice %x starts [0, 0, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"low">} : (!t) -> !h
  %1 = nn.slice %x starts [0, 2, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] : (!t) -> !h
  %2 = nn.conv %0, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %3 = nn.conv %1, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %4 = nn.mul %x, %x : (!t, !t) -> !t
  %5 = nn.sigmoid %4 {octet.origin = #octet.origin<"sigmoid">} : (!t) -> !t
  %6 = nn.slice %5 starts [0, 0, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"low">} : (!t) -> !h
  %7 = nn.conv %6, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  return %2, %3, %7 : !h, !h, !h
}

// -----

// The slice that others read keeps an observer of its own behind the concatenation, the other one does not.
// CHECK-DAG: octet.observer @conv #octet.channel_min_max<dtype = ui8,{{.*}} axis = 1>
// CHECK-DAG: octet.observer @whole #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @read #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @a_slice_in_a_concatenation
// CHECK: octet.observe %{{.*}} by @conv
// CHECK: octet.observe %{{.*}} by @whole
// CHECK: octet.observe %{{.*}} by @read
// CHECK: nn.concat
// CHECK-NEXT: octet.observe %{{.*}} by @whole
!t = tensor<1x4x4x4xf32>
!h = tensor<1x2x4x4xf32>
func.func @a_slice_in_a_concatenation(%x: !t) -> !h {
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %u = nn.constant dense<1.0> : tensor<2x6x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"conv">} : (!t, tensor<4x4x1x1xf32>) -> !t
  %1 = nn.slice %0 starts [0, 0, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"whole">} : (!t) -> !h
  %2 = nn.slice %0 starts [0, 2, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"read">} : (!t) -> !h
  %3 = nn.conv %2, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %4 = nn.concat %1, %2, %3 axis 1 : (!h, !h, !h) -> tensor<1x6x4x4xf32>
  %5 = nn.conv %4, %u : (tensor<1x6x4x4xf32>, tensor<2x6x1x1xf32>) -> !h
  return %5 : !h
}

// -----

// A sigmoid's range does not hold for the slice.
// CHECK-DAG: octet.observer @read #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @sigmoid #octet.mean_squared_error<dtype = ui8,
// CHECK-NOT: fixed_qparams
// CHECK-LABEL: func @a_slice_beside_a_known_range
!t = tensor<1x4x4x4xf32>
!h = tensor<1x2x4x4xf32>
func.func @a_slice_beside_a_known_range(%x: !t) -> !h {
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %u = nn.constant dense<1.0> : tensor<2x4x1x1xf32>
  %0 = nn.conv %x, %w : (!t, tensor<4x4x1x1xf32>) -> !t
  %1 = nn.slice %0 starts [0, 2, 0, 0] sizes [1, 2, 4, 4] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"read">} : (!t) -> !h
  %2 = nn.conv %1, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %3 = nn.sigmoid %2 {octet.origin = #octet.origin<"sigmoid">} : (!h) -> !h
  %4 = nn.concat %1, %3 axis 1 : (!h, !h) -> !t
  %5 = nn.conv %4, %u : (!t, tensor<2x4x1x1xf32>) -> !h
  return %5 : !h
}

// -----

// What another unit computes with has an observer of its own, too, also if it is pooled; not where the mapping knows no
// scale per channel.
// CHECK-DAG: octet.observer @read #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @pooled #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @joined #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @values_in_a_concatenation
// CHECK: octet.observe %{{.*}} by @read
// CHECK: octet.observe %{{.*}} by @pooled
// CHECK: octet.observe %{{.*}} by @pooled
// CHECK: nn.concat
// CHECK-NEXT: octet.observe %{{.*}} by @joined
!h = tensor<1x2x4x4xf32>
func.func @values_in_a_concatenation(%x: !h) -> (!h, !h) {
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %u = nn.constant dense<1.0> : tensor<2x6x1x1xf32>
  %0 = nn.conv %x, %v {octet.origin = #octet.origin<"read">} : (!h, tensor<2x2x1x1xf32>) -> !h
  %1 = nn.conv %0, %v {octet.origin = #octet.origin<"pooled">} : (!h, tensor<2x2x1x1xf32>) -> !h
  %2 = nn.max_pool %1 kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : (!h) -> !h
  %3 = nn.conv %2, %v {octet.origin = #octet.origin<"joined">} : (!h, tensor<2x2x1x1xf32>) -> !h
  %4 = nn.concat %0, %1, %3 axis 1 : (!h, !h, !h) -> tensor<1x6x4x4xf32>
  %5 = nn.conv %4, %u : (tensor<1x6x4x4xf32>, tensor<2x6x1x1xf32>) -> !h
  %6 = nn.conv %1, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  return %5, %6 : !h, !h
}

// -----

// A concatenation that others compute with, and what shares its observer, have their own in front of a second one.
// CHECK-DAG: octet.observer @inner #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @outer #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @a_concatenation_of_a_concatenation
// CHECK-COUNT-3: octet.observe %{{.*}} by @inner
// CHECK: nn.slice
// CHECK-NEXT: octet.observe %{{.*}} by @inner
// CHECK: octet.observe %{{.*}} by @outer
// CHECK: nn.concat
// CHECK-NEXT: octet.observe %{{.*}} by @outer
!h = tensor<1x2x4x4xf32>
!t = tensor<1x4x4x4xf32>
func.func @a_concatenation_of_a_concatenation(%x: !h) -> !h {
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %u = nn.constant dense<1.0> : tensor<2x4x1x1xf32>
  %0 = nn.conv %x, %v {octet.origin = #octet.origin<"inner">} : (!h, tensor<2x2x1x1xf32>) -> !h
  %1 = nn.conv %x, %v : (!h, tensor<2x2x1x1xf32>) -> !h
  %2 = nn.concat %0, %1 axis 1 : (!h, !h) -> !t
  %3 = nn.slice %2 starts [0, 0, 0, 0] sizes [1, 4, 4, 2] steps [1, 1, 1, 1] : (!t) -> tensor<1x4x4x2xf32>
  %4 = nn.reshape %3 : (tensor<1x4x4x2xf32>) -> !h
  %5 = nn.conv %2, %u {octet.origin = #octet.origin<"outer">} : (!t, tensor<2x4x1x1xf32>) -> !h
  %6 = nn.concat %4, %5 axis 1 : (!h, !h) -> !t
  %7 = nn.conv %6, %u : (!t, tensor<2x4x1x1xf32>) -> !h
  return %7 : !h
}

// -----

octet.qconfig_mapping @tensors {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}
// CHECK-LABEL: func @a_mapping_without_scales_per_channel
// CHECK: octet.observe %{{.*}} by @read
// CHECK: octet.observe %{{.*}} by @read
// CHECK: nn.concat
// CHECK-NEXT: octet.observe %{{.*}} by @read
!h = tensor<1x2x4x4xf32>
func.func @a_mapping_without_scales_per_channel(%x: !h) -> !h {
  %v = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %u = nn.constant dense<1.0> : tensor<2x4x1x1xf32>
  %0 = nn.conv %x, %v {octet.origin = #octet.origin<"read">} : (!h, tensor<2x2x1x1xf32>) -> !h
  %1 = nn.conv %0, %v {octet.origin = #octet.origin<"joined">} : (!h, tensor<2x2x1x1xf32>) -> !h
  %2 = nn.concat %0, %1 axis 1 : (!h, !h) -> tensor<1x4x4x4xf32>
  %3 = nn.conv %2, %u : (tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>) -> !h
  return %3 : !h
}

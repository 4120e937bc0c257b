// RUN: octet-opt %s --octet-assign-layout --split-input-file | FileCheck %s

!x = tensor<1x3x8x8x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.25:10>>
!w = tensor<16x3x3x3x!quant.uniform<i8:f32, 0.5>>
!b = tensor<16x!quant.uniform<i32:f32, 0.25>>

// Inside, channels lie innermost in fours, with the border that the convolution needs; outside stays as it was.
// CHECK-LABEL: func @a_convolution_reads_a_border
// CHECK-SAME: (%[[X:.*]]: tensor<1x3x8x8x!quant.uniform<u8:f32, 5.000000e-01:128>> {nn.name = "x"}) -> (tensor<1x16x8x8x!quant.uniform<u8:f32, 2.500000e-01:10>> {nn.name = "y"})
// CHECK: %[[XL:.*]] = nn.relayout %[[X]] {octet.origin = #octet.origin<"x">} : {{.*}} -> tensor<1x3x8x8x!quant.uniform<{{.*}}>, #nn.layout<nhwc, channels = 4, pads = [1, 1, 1, 1]>>
// CHECK: %[[C:.*]] = nn.conv %[[XL]], {{.*}} -> tensor<1x16x8x8x!quant.uniform<{{.*}}>, #nn.layout<nhwc, channels = 16, pads = [0, 0, 0, 0]>>
// CHECK: %[[Y:.*]] = nn.relayout %[[C]] : {{.*}} -> tensor<1x16x8x8x!quant.uniform<u8:f32, 2.500000e-01:10>>
// CHECK: return %[[Y]]
func.func @a_convolution_reads_a_border(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x3x3x3xi8> -> !w
  %b = nn.constant dense<7> : tensor<16xi32> -> !b
  %0 = nn.conv %x, %w, %b pads [1, 1, 1, 1] : (!x, !w, !b) -> !y
  return %0 : !y
}

// -----

// What has no rank of four keeps its layout.
// CHECK-LABEL: func @a_matrix_stays_dense
// CHECK-NOT: nn.relayout
// CHECK-NOT: #nn.layout
func.func @a_matrix_stays_dense(%x: tensor<1x8xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : tensor<4x8xf32>
  %0 = nn.linear %x, %w : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// Between two images with channels innermost there is a dense copy, whose order is the reshape's.
// CHECK-LABEL: func @a_reshape_between_images_reads_a_dense_copy
// CHECK: %[[P:.*]] = nn.max_pool
// CHECK: %[[D:.*]] = nn.relayout %[[P]] : {{.*}} -> tensor<1x6x4x4xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[D]] : (tensor<1x6x4x4xf32>) -> tensor<1x3x4x8xf32, #nn.layout<nhwc, channels = 3, pads = [0, 0, 0, 0]>>
// CHECK: nn.max_pool %[[R]]
func.func @a_reshape_between_images_reads_a_dense_copy(%x: tensor<1x6x5x5xf32> {nn.name = "x"}) -> (tensor<1x3x3x7xf32> {nn.name = "y"}) {
  %0 = nn.max_pool %x kernel [2, 2] : (tensor<1x6x5x5xf32>) -> tensor<1x6x4x4xf32>
  %1 = nn.reshape %0 : (tensor<1x6x4x4xf32>) -> tensor<1x3x4x8xf32>
  %2 = nn.max_pool %1 kernel [2, 2] : (tensor<1x3x4x8xf32>) -> tensor<1x3x3x7xf32>
  return %2 : tensor<1x3x3x7xf32>
}

// -----

// Bytes of the caller end anywhere, and a linear layer reads four at a time: it reads a copy.
!x = tensor<1x10x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x10x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.5>>
// CHECK-LABEL: func @bytes_of_the_caller
// CHECK: %[[COPY:.*]] = nn.relayout %arg0
// CHECK: nn.linear %[[COPY]]
func.func @bytes_of_the_caller(%x: !x) -> !y {
  %w = nn.constant dense<1> : tensor<16x10xi8> -> !w
  %y = nn.linear %x, %w : (!x, !w) -> !y
  return %y : !y
}

// -----

// So it does where a reshape names the caller's bytes, or where they are a result that is returned, too.
!x = tensor<1x2x5x!quant.uniform<u8:f32, 0.5>>
!f = tensor<1x10x!quant.uniform<u8:f32, 0.5>>
!w = tensor<6x10x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x6x!quant.uniform<u8:f32, 0.5>>
!v = tensor<4x6x!quant.uniform<i8:f32, 0.5>>
!z = tensor<1x4x!quant.uniform<u8:f32, 0.5>>
// CHECK-LABEL: func @bytes_of_the_caller_under_other_names
// CHECK: %[[F:.*]] = nn.reshape %arg0
// CHECK: %[[COPY:.*]] = nn.relayout %[[F]]
// CHECK: %[[Y:.*]] = nn.linear %[[COPY]]
// CHECK: %[[RETURNED:.*]] = nn.relayout %[[Y]]
// CHECK: nn.linear %[[RETURNED]]
// CHECK: return %[[Y]],
func.func @bytes_of_the_caller_under_other_names(%x: !x) -> (!y, !z) {
  %f = nn.reshape %x : (!x) -> !f
  %w = nn.constant dense<1> : tensor<6x10xi8> -> !w
  %y = nn.linear %f, %w : (!f, !w) -> !y
  %v = nn.constant dense<1> : tensor<4x6xi8> -> !v
  %z = nn.linear %y, %v : (!y, !v) -> !z
  return %y, %z : !y, !z
}

// -----

// Rows of whole fours need no copy.
!x = tensor<1x2x4x!quant.uniform<u8:f32, 0.5>>
!f = tensor<1x8x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.5>>
// CHECK-LABEL: func @whole_fours_of_the_caller
// CHECK-NOT: nn.relayout
func.func @whole_fours_of_the_caller(%x: !x) -> !y {
  %f = nn.reshape %x : (!x) -> !f
  %w = nn.constant dense<1> : tensor<16x8xi8> -> !w
  %y = nn.linear %f, %w : (!f, !w) -> !y
  return %y : !y
}

// -----

// What is computed from NHWC and returned is NHWC, and copied; what is computed from dense values is not.
// CHECK-LABEL: func @returned_values
// CHECK: %[[S:.*]] = nn.sigmoid %{{.*}} -> tensor<1x16x8x8xf32, #nn.layout
// CHECK: %[[R:.*]] = nn.resize %{{.*}} -> tensor<1x16x16x16xf32, #nn.layout
// CHECK: %[[D:.*]] = nn.sigmoid %arg0 : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>{{$}}
// CHECK: %[[SD:.*]] = nn.relayout %[[S]]
// CHECK: %[[RD:.*]] = nn.relayout %[[R]]
// CHECK: return %[[SD]], %[[RD]], %[[D]]
func.func @returned_values(%x: tensor<1x3x8x8xf32> {nn.name = "x"}) -> (tensor<1x16x8x8xf32> {nn.name = "s"}, tensor<1x16x16x16xf32> {nn.name = "r"}, tensor<1x3x8x8xf32> {nn.name = "d"}) {
  %w = nn.constant dense<1.0> : tensor<16x3x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = nn.sigmoid %0 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %2 = nn.resize %0 size [16, 16] scales [2.0, 2.0] linear half_pixel floor : (tensor<1x16x8x8xf32>) -> tensor<1x16x16x16xf32>
  %3 = nn.sigmoid %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  return %1, %2, %3 : tensor<1x16x8x8xf32>, tensor<1x16x16x16xf32>, tensor<1x3x8x8xf32>
}

// -----

// Planes are normalized as planes; the convolution reads a copy.
// CHECK-LABEL: func @an_input_is_normalized
// CHECK: %[[N:.*]] = nn.sub %{{.*}} -> tensor<1x3x8x8xf32>{{$}}
// CHECK-NEXT: %[[L:.*]] = nn.relayout %[[N]] : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32, #nn.layout
// CHECK: nn.conv %[[L]]
func.func @an_input_is_normalized(%x: tensor<1x3x8x8xf32> {nn.name = "x"}) -> (tensor<1x16x8x8xf32> {nn.name = "y"}) {
  %m = nn.constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %w = nn.constant dense<1.0> : tensor<16x3x1x1xf32>
  %0 = nn.sub %x, %m : (tensor<1x3x8x8xf32>, tensor<3x1x1xf32>) -> tensor<1x3x8x8xf32>
  %1 = nn.conv %0, %w : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x8x8xf32>
  return %1 : tensor<1x16x8x8xf32>
}

// -----

// Planes of planes are returned as they are.
// CHECK-LABEL: func @planes_are_returned
// CHECK-NOT: nn.relayout
// CHECK-NOT: #nn.layout
func.func @planes_are_returned(%x: tensor<1x3x8x8xf32> {nn.name = "x"}) -> (tensor<1x3x8x8xf32> {nn.name = "y"}) {
  %0 = nn.tanh %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %1 = nn.sigmoid %0 : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  return %1 : tensor<1x3x8x8xf32>
}

// -----

// Products of two values walk over rows: what they read is a dense copy, and what they and softmax between them write is dense.
// CHECK-LABEL: func @attention
// CHECK: %[[C:.*]] = nn.conv {{.*}} -> tensor<1x4x32x32xf32, #nn.layout
// CHECK-NEXT: %[[D:.*]] = nn.relayout %[[C]] : {{.*}} -> tensor<1x4x32x32xf32>
// CHECK-NEXT: %[[P:.*]] = nn.matmul %[[D]], %[[D]] : {{.*}} -> tensor<1x4x32x32xf32>{{$}}
// CHECK-NEXT: %[[S:.*]] = nn.softmax %[[P]] {{.*}} -> tensor<1x4x32x32xf32>{{$}}
// CHECK-NEXT: nn.matmul %[[S]], %[[D]] : {{.*}} -> tensor<1x4x32x32xf32>{{$}}
// CHECK-NOT: nn.relayout
func.func @attention(%x: tensor<1x3x32x32xf32> {nn.name = "x"}) -> (tensor<1x4x32x32xf32> {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : tensor<4x3x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x3x32x32xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x32x32xf32>
  %1 = nn.matmul %0, %0 : (tensor<1x4x32x32xf32>, tensor<1x4x32x32xf32>) -> tensor<1x4x32x32xf32>
  %2 = nn.softmax %1 axis 3 : (tensor<1x4x32x32xf32>) -> tensor<1x4x32x32xf32>
  %3 = nn.matmul %2, %0 : (tensor<1x4x32x32xf32>, tensor<1x4x32x32xf32>) -> tensor<1x4x32x32xf32>
  return %3 : tensor<1x4x32x32xf32>
}

// -----

// Nothing beside attention reads or writes images: sums and transpositions of heads stay dense, although they are of rank 4.
// CHECK-LABEL: func @heads
// CHECK-NOT: #nn.layout
// CHECK: return
func.func @heads(%x: tensor<1x16x64xf32> {nn.name = "x"}, %mask: tensor<1x1x16x16xf32> {nn.name = "mask"}) -> (tensor<1x16x64xf32> {nn.name = "y"}) {
  %c = nn.constant dense<2.0> : tensor<1xf32>
  %m = nn.mul %mask, %c : (tensor<1x1x16x16xf32>, tensor<1xf32>) -> tensor<1x1x16x16xf32>
  %0 = nn.reshape %x : (tensor<1x16x64xf32>) -> tensor<1x16x4x16xf32>
  %1 = nn.transpose %0 permutation [0, 2, 1, 3] : (tensor<1x16x4x16xf32>) -> tensor<1x4x16x16xf32>
  %2 = nn.matmul %1, %1 : (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
  %3 = nn.add %2, %m : (tensor<1x4x16x16xf32>, tensor<1x1x16x16xf32>) -> tensor<1x4x16x16xf32>
  %4 = nn.softmax %3 axis 3 : (tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
  %5 = nn.matmul %4, %1 : (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
  %6 = nn.transpose %5 permutation [0, 2, 1, 3] : (tensor<1x4x16x16xf32>) -> tensor<1x16x4x16xf32>
  %7 = nn.reshape %6 : (tensor<1x16x4x16xf32>) -> tensor<1x16x64xf32>
  return %7 : tensor<1x16x64xf32>
}

// -----

// Halves, which only callers read, are written as callers read them.
// CHECK-LABEL: func @halves_are_returned
// CHECK: %[[C:.*]] = nn.conv {{.*}} -> tensor<1x4x32x32xf32, #nn.layout
// CHECK-NEXT: %[[H:.*]] = nn.cast %[[C]] : {{.*}} -> tensor<1x4x32x32xf16>
// CHECK-NEXT: return %[[H]]
func.func @halves_are_returned(%x: tensor<1x3x32x32xf32> {nn.name = "x"}) -> (tensor<1x4x32x32xf16> {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : tensor<4x3x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x3x32x32xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x32x32xf32>
  %1 = nn.cast %0 : (tensor<1x4x32x32xf32>) -> tensor<1x4x32x32xf16>
  return %1 : tensor<1x4x32x32xf16>
}

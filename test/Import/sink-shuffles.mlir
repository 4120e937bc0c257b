// RUN: octet-opt %s --octet-sink-shuffles=parts-only=false --mlir-disable-threading | FileCheck %s
// RUN: octet-opt %s --octet-sink-shuffles=parts-only=true | FileCheck %s --check-prefix=PARTS

!x = tensor<1x3x4x4xf32>
!phases = tensor<1x8x4x4xf32>
!split = tensor<1x2x2x2x4x4xf32>
!moved = tensor<1x2x4x2x4x2xf32>
!y = tensor<1x2x8x8xf32>

// Behind a transposed convolution: a bias, a normalization and an activation, with the constants of each of its four phases.
// CHECK-LABEL: func.func @transposed_convolution
func.func @transposed_convolution(%x: !x, %w: tensor<8x3x1x1xf32>) -> !y {
  // CHECK: %[[C:.*]] = nn.conv
  // CHECK: %[[B:.*]] = nn.constant dense_resource<constant.repeated> : tensor<8x1x1xf32>
  // CHECK: %[[A:.*]] = nn.add %[[C]], %[[B]] : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: nn.constant {{.*}}: tensor<8xf32>
  // CHECK: %[[N:.*]] = nn.batch_norm %[[A]]
  // CHECK-SAME: (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: %[[R:.*]] = nn.relu %[[N]] : (tensor<1x8x4x4xf32>)
  // CHECK-NEXT: %[[S:.*]] = nn.reshape %[[R]]
  // CHECK-NEXT: %[[T:.*]] = nn.transpose %[[S]] permutation [0, 1, 4, 2, 5, 3]
  // CHECK-NEXT: %[[Y:.*]] = nn.reshape %[[T]]
  // CHECK-NEXT: return %[[Y]]
  %b = nn.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %p = nn.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = nn.conv %x, %w : (!x, tensor<8x3x1x1xf32>) -> !phases
  %1 = nn.reshape %0 : (!phases) -> !split
  %2 = nn.transpose %1 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !moved
  %3 = nn.reshape %2 : (!moved) -> !y
  %4 = nn.add %3, %b : (!y, tensor<1x2x1x1xf32>) -> !y
  %5 = nn.batch_norm %4, %p, %p, %p, %p : (!y, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !y
  %6 = nn.relu %5 : (!y) -> !y
  return %6 : !y
}

// One number stays one; a comparison has results of another type.
// CHECK-LABEL: func.func @one_number
func.func @one_number(%x: !x, %w: tensor<8x3x1x1xf32>) -> tensor<1x2x8x8xi1> {
  // CHECK: nn.compare less {{.*}} : (tensor<1x8x4x4xf32>, tensor<1x1x1xf32>) -> tensor<1x8x4x4xi1>
  // CHECK: nn.reshape {{.*}} -> tensor<1x2x8x8xi1>
  %c = nn.constant dense<5.0> : tensor<f32>
  %0 = nn.conv %x, %w : (!x, tensor<8x3x1x1xf32>) -> !phases
  %1 = nn.reshape %0 : (!phases) -> !split
  %2 = nn.transpose %1 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !moved
  %3 = nn.reshape %2 : (!moved) -> !y
  %4 = nn.compare less %3, %c : (!y, tensor<f32>) -> tensor<1x2x8x8xi1>
  return %4 : tensor<1x2x8x8xi1>
}

// What another operator reads, too, stays; so do constants of pixels, other values, channels that move, and an input's channels.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: !x, %w: tensor<8x3x1x1xf32>, %z: !y, %f: !phases) -> (!y, !y, !y, !y, !y, !y) {
  // CHECK-COUNT-2: nn.add {{.*}} -> tensor<1x2x8x8xf32>
  // CHECK: nn.relu {{.*}} -> tensor<1x2x8x8xf32>
  // CHECK: nn.relu {{.*}} -> tensor<1x2x8x8xf32>
  // CHECK: nn.relu {{.*}} -> tensor<1x2x8x8xf32>
  // CHECK-NOT: nn.reshape
  // CHECK: return
  %c = nn.constant dense<5.0> : tensor<8xf32>
  %0 = nn.conv %x, %w : (!x, tensor<8x3x1x1xf32>) -> !phases
  %1 = nn.reshape %0 : (!phases) -> !split
  %2 = nn.transpose %1 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !moved
  %3 = nn.reshape %2 : (!moved) -> !y
  %4 = nn.add %3, %c : (!y, tensor<8xf32>) -> !y
  %5 = nn.conv %x, %w : (!x, tensor<8x3x1x1xf32>) -> !phases
  %6 = nn.reshape %5 : (!phases) -> !split
  %7 = nn.transpose %6 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !moved
  %8 = nn.reshape %7 : (!moved) -> !y
  %9 = nn.add %8, %z : (!y, !y) -> !y
  %10 = nn.conv %x, %w : (!x, tensor<8x3x1x1xf32>) -> !phases
  %11 = nn.reshape %10 : (!phases) -> !split
  %12 = nn.transpose %11 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !moved
  %13 = nn.reshape %12 : (!moved) -> !y
  %14 = nn.relu %13 : (!y) -> !y
  %15 = nn.conv %x, %w : (!x, tensor<8x3x1x1xf32>) -> !phases
  %16 = nn.reshape %15 : (!phases) -> tensor<1x2x2x2x4x4xf32>
  %17 = nn.transpose %16 permutation [0, 2, 4, 1, 5, 3] : (!split) -> !moved
  %18 = nn.reshape %17 : (!moved) -> !y
  %19 = nn.relu %18 : (!y) -> !y
  %20 = nn.reshape %f : (!phases) -> !split
  %21 = nn.transpose %20 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !moved
  %22 = nn.reshape %21 : (!moved) -> !y
  %23 = nn.relu %22 : (!y) -> !y
  return %4, %9, %13, %14, %19, %23 : !y, !y, !y, !y, !y, !y
}

// Of channels 1 and 2, four times each.

// A slice cuts the pads of a transposed convolution off. With parts only, a normalization moves in front of its moves, and no other
// operator; moves of another name are operators of their own.
#up = #octet.origin<"up", "torch.nn.ConvTranspose2d", 0>
// CHECK-LABEL: func.func @pads_are_cut
// PARTS-LABEL: func.func @pads_are_cut
func.func @pads_are_cut(%x: !x, %w: tensor<8x3x1x1xf32>) -> (tensor<1x2x7x7xf32>, !y) {
  // CHECK: nn.batch_norm {{.*}} -> tensor<1x8x4x4xf32>
  // CHECK-NEXT: nn.relu {{.*}} -> tensor<1x8x4x4xf32>
  // CHECK: nn.slice
  // PARTS: %[[C:.*]] = nn.conv
  // PARTS: nn.batch_norm %[[C]], {{.*}} -> tensor<1x8x4x4xf32>
  // PARTS: nn.slice
  // PARTS-NEXT: nn.relu {{.*}} -> tensor<1x2x7x7xf32>
  // PARTS: nn.batch_norm {{.*}} -> tensor<1x2x8x8xf32>
  %p = nn.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = nn.conv %x, %w {octet.origin = #up} : (!x, tensor<8x3x1x1xf32>) -> !phases
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"up">} : (!phases) -> !split
  %2 = nn.transpose %1 permutation [0, 1, 4, 2, 5, 3] {octet.origin = #octet.origin<"up">} : (!split) -> !moved
  %3 = nn.reshape %2 {octet.origin = #octet.origin<"up">} : (!moved) -> !y
  %4 = nn.slice %3 starts [0, 0, 1, 1] sizes [1, 2, 7, 7] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"up">} : (!y) -> tensor<1x2x7x7xf32>
  %5 = nn.batch_norm %4, %p, %p, %p, %p : (tensor<1x2x7x7xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x7x7xf32>
  %6 = nn.relu %5 : (tensor<1x2x7x7xf32>) -> tensor<1x2x7x7xf32>
  %7 = nn.conv %x, %w {octet.origin = #up} : (!x, tensor<8x3x1x1xf32>) -> !phases
  %8 = nn.reshape %7 {octet.origin = #octet.origin<"shuffle">} : (!phases) -> !split
  %9 = nn.transpose %8 permutation [0, 1, 4, 2, 5, 3] {octet.origin = #octet.origin<"shuffle">} : (!split) -> !moved
  %10 = nn.reshape %9 {octet.origin = #octet.origin<"shuffle">} : (!moved) -> !y
  %11 = nn.batch_norm %10, %p, %p, %p, %p : (!y, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !y
  return %6, %11 : tensor<1x2x7x7xf32>, !y
}

// A half precision output stays behind the shuffle, which does not move it.
func.func @half(%x: !x, %w: tensor<8x3x1x1xf32>) -> tensor<1x2x8x8xf16> {
  // CHECK-LABEL: func @half
  // CHECK: nn.conv
  // CHECK-NEXT: nn.reshape
  // CHECK-NEXT: nn.transpose
  // CHECK-NEXT: nn.reshape
  // CHECK-NEXT: nn.cast
  // CHECK-NEXT: return
  %0 = nn.conv %x, %w {octet.origin = #up} : (!x, tensor<8x3x1x1xf32>) -> !phases
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"up">} : (!phases) -> !split
  %2 = nn.transpose %1 permutation [0, 1, 4, 2, 5, 3] {octet.origin = #octet.origin<"up">} : (!split) -> !moved
  %3 = nn.reshape %2 {octet.origin = #octet.origin<"up">} : (!moved) -> !y
  %4 = nn.cast %3 : (!y) -> tensor<1x2x8x8xf16>
  return %4 : tensor<1x2x8x8xf16>
}

// CHECK: constant.repeated: "0x100000000000803F0000803F0000803F0000803F00000040000000400000004000000040"

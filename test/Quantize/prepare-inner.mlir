// Operators of the source that an import computes by several.
// RUN: octet-opt %s --octet-attach-policy=backend=native --octet-prepare --split-input-file | FileCheck %s

// A transposed convolution: the border that the slice drops is not observed.
// CHECK-LABEL: func @dropped_border
// CHECK: %[[Y:.*]] = nn.conv
// CHECK-NEXT: %[[M:.*]] = nn.transpose %[[Y]]
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[M]]
// CHECK-NEXT: octet.observe %[[S]] by @up
!t = tensor<1x4x4x4xf32>
func.func @dropped_border(%x: !t) -> tensor<1x4x3x3xf32> {
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"up", "torch.nn.ConvTranspose2d", 0>} : (!t, tensor<4x4x1x1xf32>) -> !t
  %1 = nn.transpose %0 permutation [0, 1, 3, 2] {octet.origin = #octet.origin<"up">} : (!t) -> !t
  %2 = nn.slice %1 starts [0, 0, 1, 1] sizes [1, 4, 3, 3] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"up">} : (!t) -> tensor<1x4x3x3xf32>
  return %2 : tensor<1x4x3x3xf32>
}

// -----

// A slice of the program has a class: what it reads is a result, too.
// CHECK-LABEL: func @slice_of_the_program
// CHECK: %[[Y:.*]] = nn.conv
// CHECK-NEXT: %[[O:.*]] = octet.observe %[[Y]] by @conv
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[O]]
// CHECK-NEXT: octet.observe %[[S]] by @conv
!t = tensor<1x4x4x4xf32>
func.func @slice_of_the_program(%x: !t) -> tensor<1x4x3x3xf32> {
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"conv", "torch.nn.Conv2d", 0>} : (!t, tensor<4x4x1x1xf32>) -> !t
  %1 = nn.slice %0 starts [0, 0, 1, 1] sizes [1, 4, 3, 3] steps [1, 1, 1, 1] {octet.origin = #octet.origin<"slice">} : (!t) -> tensor<1x4x3x3xf32>
  return %1 : tensor<1x4x3x3xf32>
}

// -----

// Behind an operator that reads floats, but passes on integers, a part moves integers.
// CHECK-LABEL: func @parts_behind_integers
// CHECK: nn.relu {{.*}}verdict = int8
// CHECK: nn.reshape {{.*}}verdict = int8
!t = tensor<1x4xf32>
func.func @parts_behind_integers(%x: !t) -> tensor<4xf32> {
  %0 = nn.sin %x {octet.origin = #octet.origin<"sin", "torch.sin", 0>} : (!t) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu", "torch.nn.ReLU", 0>} : (!t) -> !t
  %2 = nn.reshape %1 {octet.origin = #octet.origin<"relu">} : (!t) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// An operator that stays float does not move its parts in integers.
// CHECK-LABEL: func @parts_of_a_float_operator
// CHECK-NOT: octet.observe
// CHECK: nn.concat {{.*}}verdict = float{{.*}}"OCT108"
// CHECK-NOT: octet.observe
!t = tensor<1x4xf32>
func.func @parts_of_a_float_operator(%x: !t) -> tensor<1x8xf32> {
  %0 = nn.exp %x {octet.origin = #octet.origin<"rnn", "torch.nn.LSTM", 0>} : (!t) -> !t
  %1 = nn.sin %x {octet.origin = #octet.origin<"rnn", "torch.nn.LSTM", 0>} : (!t) -> !t
  %2 = nn.concat %0, %1 axis 1 {octet.origin = #octet.origin<"rnn">} : (!t, !t) -> tensor<1x8xf32>
  return %2 : tensor<1x8xf32>
}

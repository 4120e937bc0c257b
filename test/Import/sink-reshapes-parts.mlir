// RUN: octet-opt %s --octet-sink-reshapes=parts-only=true | FileCheck %s
// RUN: octet-opt %s --octet-sink-reshapes=parts-only=false | FileCheck %s --check-prefix=ALL

!line = tensor<1x4x9xf32>
!image = tensor<1x4x1x9xf32>
#conv = #octet.origin<"conv", "torch.nn.Conv1d", 0>
#next = #octet.origin<"next", "torch.nn.Conv1d", 1>
#squeeze = #octet.origin<"squeeze", "torch.squeeze", 0>
#again = #octet.origin<"unsqueeze", "torch.unsqueeze", 0>

// The reshape behind a convolution over one dimension is a part of it, and so is the one in front of the next.
// CHECK-LABEL: func.func @part_of_its_operator
// ALL-LABEL: func.func @part_of_its_operator
func.func @part_of_its_operator(%x: !image, %w: tensor<4x4x1x3xf32>) -> !image {
  // CHECK: %[[C:.*]] = nn.conv
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[C]] {{.*}} -> tensor<1x4x1x9xf32>
  // CHECK-NEXT: nn.conv %[[R]]
  // ALL: %[[C:.*]] = nn.conv
  // ALL-NEXT: nn.relu %[[C]]
  %0 = nn.conv %x, %w pads [0, 1, 0, 1] {octet.origin = #conv} : (!image, tensor<4x4x1x3xf32>) -> !image
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"conv">} : (!image) -> !line
  %2 = nn.relu %1 {octet.origin = #octet.origin<"relu", "torch.nn.ReLU", 0>} : (!line) -> !line
  %3 = nn.reshape %2 {octet.origin = #octet.origin<"next">} : (!line) -> !image
  %4 = nn.conv %3, %w pads [0, 1, 0, 1] {octet.origin = #next} : (!image, tensor<4x4x1x3xf32>) -> !image
  return %4 : !image
}

// Behind the operator, a part without a class is one of the operator's: patterns of its class are not for moves.
// CHECK-LABEL: func.func @part_without_class
// ALL-LABEL: func.func @part_without_class
func.func @part_without_class(%x: !image, %w: tensor<4x4x1x3xf32>) -> (!line, !line) {
  // CHECK: nn.relu {{.*}}#octet.origin<"relu", "torch.nn.ReLU", 0>
  // CHECK-NEXT: nn.reshape {{.*}}#octet.origin<"relu">}
  // CHECK: nn.tanh {{.*}}#octet.origin<"tanh", "torch.tanh", 0>
  // CHECK-NEXT: nn.reshape {{.*}}#octet.origin<"tanh", "torch.tanh", 0>
  // ALL: nn.reshape {{.*}}#octet.origin<"relu">}
  %0 = nn.conv %x, %w pads [0, 1, 0, 1] {octet.origin = #conv} : (!image, tensor<4x4x1x3xf32>) -> !image
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"conv">} : (!image) -> !line
  %2 = nn.relu %1 {octet.origin = #octet.origin<"relu", "torch.nn.ReLU", 0>} : (!line) -> !line
  %3 = nn.conv %x, %w pads [0, 1, 0, 1] {octet.origin = #next} : (!image, tensor<4x4x1x3xf32>) -> !image
  %4 = nn.reshape %3 {octet.origin = #next} : (!image) -> !line
  %5 = nn.tanh %4 {octet.origin = #octet.origin<"tanh", "torch.tanh", 0>} : (!line) -> !line
  return %2, %5 : !line, !line
}

// Operators of their own stay where they are, also those that undo one another.
// CHECK-LABEL: func.func @operator_of_its_own
// ALL-LABEL: func.func @operator_of_its_own
func.func @operator_of_its_own(%x: !image, %w: tensor<4x4x1x3xf32>) -> !image {
  // CHECK: nn.conv
  // CHECK-NEXT: nn.reshape {{.*}} -> tensor<1x4x9xf32>
  // CHECK-NEXT: nn.relu {{.*}} -> tensor<1x4x9xf32>
  // CHECK-NEXT: nn.reshape {{.*}} -> tensor<1x4x1x9xf32>
  // ALL: nn.conv
  // ALL-NOT: nn.reshape
  // ALL: return
  %0 = nn.conv %x, %w pads [0, 1, 0, 1] {octet.origin = #conv} : (!image, tensor<4x4x1x3xf32>) -> !image
  %1 = nn.reshape %0 {octet.origin = #squeeze} : (!image) -> !line
  %2 = nn.relu %1 {octet.origin = #octet.origin<"relu", "torch.nn.ReLU", 0>} : (!line) -> !line
  %3 = nn.reshape %2 {octet.origin = #again} : (!line) -> !image
  return %3 : !image
}

// Two calls of one module are two operators.
// CHECK-LABEL: func.func @calls_of_one_name
// ALL-LABEL: func.func @calls_of_one_name
func.func @calls_of_one_name(%x: !line) -> !line {
  // CHECK-NEXT: nn.reshape
  // CHECK-NEXT: nn.reshape
  // CHECK-NEXT: nn.relu
  // ALL-NEXT: nn.relu
  %0 = nn.reshape %x {octet.origin = #octet.origin<"drop", "torch.nn.Dropout", 0>} : (!line) -> !line
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"drop", "torch.nn.Dropout", 1>} : (!line) -> !line
  %2 = nn.relu %1 {octet.origin = #octet.origin<"relu", "torch.nn.ReLU", 0>} : (!line) -> !line
  return %2 : !line
}

// A pixel shuffle is moves only: none of them is a part of it.
// CHECK-LABEL: func.func @operator_of_moves
// ALL-LABEL: func.func @operator_of_moves
func.func @operator_of_moves(%x: tensor<1x4x1x1xf32>) -> tensor<1x1x2x2xf32> {
  // CHECK-COUNT-2: nn.reshape
  // CHECK-NEXT: nn.relu {{.*}} -> tensor<1x1x2x2xf32>
  // ALL: nn.relu {{.*}} -> tensor<1x1x1x2x1x2xf32>
  // ALL-NEXT: nn.reshape
  %0 = nn.reshape %x {octet.origin = #octet.origin<"shuffle", "torch.nn.PixelShuffle", 0>} : (tensor<1x4x1x1xf32>) -> tensor<1x1x2x2x1x1xf32>
  %1 = nn.transpose %0 permutation [0, 1, 4, 2, 5, 3] {octet.origin = #octet.origin<"shuffle", "torch.nn.PixelShuffle", 0>} : (tensor<1x1x2x2x1x1xf32>) -> tensor<1x1x1x2x1x2xf32>
  %2 = nn.reshape %1 {octet.origin = #octet.origin<"shuffle", "torch.nn.PixelShuffle", 0>} : (tensor<1x1x1x2x1x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = nn.relu %2 {octet.origin = #octet.origin<"relu", "torch.nn.ReLU", 0>} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %3 : tensor<1x1x2x2xf32>
}

// Parts that undo one another are gone, whoever reads them.
// CHECK-LABEL: func.func @parts_that_cancel
// ALL-LABEL: func.func @parts_that_cancel
func.func @parts_that_cancel(%x: !image, %w: tensor<4x4x1x3xf32>) -> !image {
  // CHECK: %[[R:.*]] = nn.relu {{.*}} -> tensor<1x4x1x9xf32>
  // CHECK-NEXT: return %[[R]]
  // ALL: %[[R:.*]] = nn.relu
  // ALL-NEXT: return %[[R]]
  %0 = nn.conv %x, %w pads [0, 1, 0, 1] {octet.origin = #conv} : (!image, tensor<4x4x1x3xf32>) -> !image
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"conv">} : (!image) -> !line
  %2 = nn.reshape %1 {octet.origin = #octet.origin<"conv">} : (!line) -> !image
  %3 = nn.relu %2 {octet.origin = #octet.origin<"relu", "torch.nn.ReLU", 0>} : (!image) -> !image
  return %3 : !image
}

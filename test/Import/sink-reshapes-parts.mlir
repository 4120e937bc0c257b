// RUN: octet-opt %s --octet-sink-reshapes=parts-only | FileCheck %s

!line = tensor<1x4x9xf32>
!image = tensor<1x4x1x9xf32>

// The reshape belongs to the operator in front of it.
// CHECK-LABEL: func.func @part
func.func @part(%x: !image) -> !line {
  // CHECK-NEXT: %[[T:.*]] = nn.tanh %{{.*}} {octet.origin = #octet.origin<"a", "torch.nn.Tanh", 0>} : (tensor<1x4x1x9xf32>)
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[T]] {{.*}} -> tensor<1x4x1x9xf32>
  // CHECK-NEXT: nn.reshape %[[R]]
  %0 = nn.tanh %x {octet.origin = #octet.origin<"a", "torch.nn.Tanh", 0>} : (!image) -> !image
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"a">} : (!image) -> !line
  %2 = nn.relu %1 {octet.origin = #octet.origin<"b", "torch.nn.ReLU", 0>} : (!line) -> !line
  return %2 : !line
}

// The reshape is an operator of the source.
// CHECK-LABEL: func.func @own_operator
func.func @own_operator(%x: !image) -> !line {
  // CHECK-NEXT: nn.tanh
  // CHECK-NEXT: %[[R:.*]] = nn.reshape
  // CHECK-NEXT: nn.relu %[[R]] {{.*}} -> tensor<1x4x9xf32>
  %0 = nn.tanh %x {octet.origin = #octet.origin<"a", "torch.nn.Tanh", 0>} : (!image) -> !image
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"r", "torch.Tensor.reshape", 0>} : (!image) -> !line
  %2 = nn.relu %1 {octet.origin = #octet.origin<"b", "torch.nn.ReLU", 0>} : (!line) -> !line
  return %2 : !line
}

// Without a source nothing is known.
// CHECK-LABEL: func.func @without_origin
func.func @without_origin(%x: !image) -> !line {
  // CHECK: nn.reshape
  // CHECK-NEXT: nn.relu
  %0 = nn.tanh %x : (!image) -> !image
  %1 = nn.reshape %0 : (!image) -> !line
  %2 = nn.relu %1 : (!line) -> !line
  return %2 : !line
}

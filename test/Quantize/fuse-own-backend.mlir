// RUN: octet-opt %s --octet-attach-policy=backend=%S/Inputs/inner-users.mlir --octet-fuse --allow-unregistered-dialect --split-input-file | FileCheck %s

// The convolution has two users, both inside the match; ops of any dialect match by name.
// CHECK-LABEL: func @inner_value_with_two_users_inside
// CHECK: octet.group @mine::@silu
// CHECK-NEXT: "my.conv"
// CHECK-NEXT: "my.sigmoid"
// CHECK-NEXT: "my.mul"
func.func @inner_value_with_two_users_inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = nn.constant dense<1.0> : tensor<4xf32>
  %0 = "my.conv"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "my.sigmoid"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "my.mul"(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func @inner_value_with_a_user_outside
// CHECK-NOT: octet.group
func.func @inner_value_with_a_user_outside(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %w = nn.constant dense<1.0> : tensor<4xf32>
  %0 = "my.conv"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "my.sigmoid"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "my.mul"(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The square reads one value twice.
// CHECK-LABEL: func @a_leaf_read_twice
// CHECK: octet.group @mine::@square(%[[A:.*]] = %{{.*}}) :
// CHECK-NEXT: "my.mul"(%[[A]], %[[A]])
// CHECK: "my.mul"
// CHECK-NEXT: "my.relu"
// CHECK-NOT: octet.group
func.func @a_leaf_read_twice(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "my.mul"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "my.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "my.mul"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "my.relu"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @attributes_must_agree
// CHECK: octet.group @mine::@scaled
// CHECK: "my.scale"
// CHECK-SAME: by = 2.000000e+00
// CHECK: }
// CHECK: "my.scale"
// CHECK-NOT: octet.group
func.func @attributes_must_agree(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "my.scale"(%x) {by = 2.0 : f32, mode = "exact"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "my.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "my.scale"(%x) {by = 9.0 : f32, mode = "exact"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "my.relu"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

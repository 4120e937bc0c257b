// RUN: octet-opt %s --octet-inline-calls --split-input-file --verify-diagnostics | FileCheck %s

// Twice, and through another function; what nobody calls any more is gone, what others may call stays.
// CHECK-NOT: @inner
// CHECK-LABEL: func.func @outer
// CHECK: nn.relu
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK: %[[A:.*]] = nn.relu %[[X]] {octet.origin = #octet.origin<"act">}
// CHECK-NEXT: %[[B:.*]] = nn.neg %[[A]]
// CHECK-NEXT: %[[C:.*]] = nn.relu %[[B]]
// CHECK-NEXT: return %[[C]], %[[X]]
func.func private @inner(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = nn.relu %x {octet.origin = #octet.origin<"act">} : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %x : tensor<2xf32>, tensor<2xf32>
}
func.func @outer(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0:2 = call @inner(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %1 = nn.neg %0#0 : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = call @outer(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1:2 = call @inner(%0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %1#0, %x : tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @a_function_without_a_body
// CHECK: call @opaque
func.func private @opaque(tensor<2xf32>) -> tensor<2xf32>
func.func @a_function_without_a_body(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @opaque(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @below {{expected a function that does not call itself; unroll the recursion}}
func.func @recursive(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @recursive(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// RUN: octet-opt %s -split-input-file --octet-attach-policy --octet-prepare-attention | FileCheck %s
// RUN: octet-opt %s -split-input-file --octet-attach-policy --octet-prepare-attention --octet-explain 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// The queries' and the scores' factors come behind the product and the differences; the weights of attention are divided by
// their sums behind the product with the values.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[Q:.*]]: tensor<1x8x4xf32> {{.*}}, %[[K:.*]]: tensor<1x4x8xf32> {{.*}}, %[[V:.*]]: tensor<8x4xf32>
// CHECK: %[[S:.*]] = nn.matmul %[[Q]], %[[K]]
// CHECK: %[[C:.*]] = nn.constant dense<5.000000e-01> : tensor<1xf32>
// CHECK: %[[T:.*]] = nn.mul %[[S]], %[[C]]
// CHECK: %[[A:.*]] = nn.add %[[T]],
// CHECK: %[[M:.*]] = nn.reduce_max %[[A]] axes [2] keep_dims {octet.origin = #octet.origin<"weights">} : (tensor<1x8x8xf32>) -> tensor<1x8x1xf32>
// CHECK: %[[D:.*]] = nn.sub %[[A]], %[[M]]
// CHECK: %[[F:.*]] = nn.constant dense<4.000000e+00> : tensor<1xf32>
// CHECK: %[[G:.*]] = nn.mul %[[D]], %[[F]]
// CHECK: %[[E:.*]] = nn.exp %[[G]]
// CHECK: %[[R:.*]] = nn.reshape %[[E]] {{.*}} -> tensor<8x8xf32>
// CHECK: %[[P:.*]] = nn.matmul %[[R]], %[[V]]
// CHECK: %[[N:.*]] = nn.reduce_sum %[[R]] axes [1] keep_dims {octet.origin = #octet.origin<"weights">} : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK: %[[Y:.*]] = nn.div %[[P]], %[[N]]
// CHECK: return %[[Y]]
// EXPLAIN: scores  nn.matmul      int8 to float  OCT102
// EXPLAIN: sums    nn.matmul      int8 to float  OCT102
// The product with the values reads integers, and the sum follows.
// EXPLAIN: weights nn.reduce_sum  int8 to float  OCT102
func.func @main(%q: tensor<1x8x4xf32> {nn.name = "q"}, %k: tensor<1x4x8xf32> {nn.name = "k"}, %v: tensor<8x4xf32> {nn.name = "v"}, %b: tensor<1x1x8xf32> {nn.name = "b"}) -> tensor<8x4xf32> {
  %half = nn.constant dense<0.5> : tensor<f32>
  %four = nn.constant dense<4.0> : tensor<f32>
  %h = nn.mul %half, %q : (tensor<f32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %s = nn.matmul %h, %k {octet.origin = #octet.origin<"scores">} : (tensor<1x8x4xf32>, tensor<1x4x8xf32>) -> tensor<1x8x8xf32>
  %a = nn.add %s, %b : (tensor<1x8x8xf32>, tensor<1x1x8xf32>) -> tensor<1x8x8xf32>
  %f = nn.mul %a, %four : (tensor<1x8x8xf32>, tensor<f32>) -> tensor<1x8x8xf32>
  %w = nn.softmax %f axis 2 {octet.origin = #octet.origin<"weights">} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %r = nn.reshape %w : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
  %y = nn.matmul %r, %v {octet.origin = #octet.origin<"sums">} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Weights that are NaN and become zeros, in rows that are masked altogether: quotients do so instead.
// CHECK-LABEL: func.func @main
// CHECK: %[[Z:.*]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NOT: nn.compare
// CHECK: %[[E:.*]] = nn.exp
// CHECK: %[[P:.*]] = nn.matmul %[[E]],
// CHECK: %[[N:.*]] = nn.reduce_sum %[[E]]
// CHECK: %[[Y:.*]] = nn.div %[[P]], %[[N]]
// CHECK: %[[C:.*]] = nn.compare equal %[[Y]], %[[Y]]
// CHECK: %[[R:.*]] = nn.select %[[C]], %[[Y]], %[[Z]]
// CHECK: return %[[R]]
func.func @main(%q: tensor<8x4xf32> {nn.name = "q"}, %k: tensor<4x8xf32> {nn.name = "k"}, %v: tensor<8x4xf32> {nn.name = "v"}) -> tensor<8x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %s = nn.matmul %q, %k : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %w = nn.softmax %s axis 1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = nn.compare equal %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
  %c = nn.not %n : (tensor<8x8xi1>) -> tensor<8x8xi1>
  %r = nn.select %c, %zero, %w : (tensor<8x8xi1>, tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = nn.matmul %r, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// The same without a complement.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.softmax
// CHECK: %[[Y:.*]] = nn.div
// CHECK: %[[C:.*]] = nn.compare equal %[[Y]], %[[Y]]
// CHECK: nn.select %[[C]], %[[Y]],
func.func @main(%q: tensor<8x4xf32> {nn.name = "q"}, %k: tensor<4x8xf32> {nn.name = "k"}, %v: tensor<8x4xf32> {nn.name = "v"}) -> tensor<8x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %s = nn.matmul %q, %k : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %w = nn.softmax %s axis 1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = nn.compare equal %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
  %r = nn.select %n, %w, %zero : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %y = nn.matmul %r, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Another number than zero, and the other way round: weights that are numbers become zeros.
// CHECK-LABEL: func.func @main
// CHECK: nn.softmax
// CHECK-NOT: nn.div %
func.func @main(%q: tensor<8x4xf32> {nn.name = "q"}, %k: tensor<4x8xf32> {nn.name = "k"}, %v: tensor<8x4xf32> {nn.name = "v"}) -> tensor<8x4xf32> {
  %zero = nn.constant dense<1.0> : tensor<f32>
  %s = nn.matmul %q, %k : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %w = nn.softmax %s axis 1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = nn.compare equal %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
  %r = nn.select %n, %w, %zero : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %y = nn.matmul %r, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: nn.softmax
// CHECK-NOT: nn.div %
func.func @main(%q: tensor<8x4xf32> {nn.name = "q"}, %k: tensor<4x8xf32> {nn.name = "k"}, %v: tensor<8x4xf32> {nn.name = "v"}) -> tensor<8x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %s = nn.matmul %q, %k : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %w = nn.softmax %s axis 1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = nn.compare equal %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
  %r = nn.select %n, %zero, %w : (tensor<8x8xi1>, tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = nn.matmul %r, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s

// Two sums of linear layers, the second of the first times a factor, as norms without a variance are: both stay float, the layers compute floats.
// CHECK: a {{.*}}nn.linear {{.*}}int8 to float
// CHECK: first {{.*}}nn.add {{.*}}float {{.*}}OCT127 many residual sums follow on each other
// CHECK: factor {{.*}}nn.mul {{.*}}float
// CHECK: b {{.*}}nn.linear {{.*}}int8 to float
// CHECK: second {{.*}}nn.add {{.*}}float {{.*}}OCT127
func.func @two(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w0 = nn.constant dense<0.1> : tensor<8x8xf32>
  %w1 = nn.constant dense<0.2> : tensor<8x8xf32>
  %w2 = nn.constant dense<0.3> : tensor<8x8xf32>
  %w3 = nn.constant dense<0.4> : tensor<8x8xf32>
  %f = nn.constant dense<0.9> : tensor<8xf32>
  %s = nn.linear %x, %w0 {octet.origin = #octet.origin<"stem">} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = nn.linear %s, %w1 {octet.origin = #octet.origin<"a">} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %0 = nn.add %a, %s {octet.origin = #octet.origin<"first">} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nn.mul %0, %f {octet.origin = #octet.origin<"factor">} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %b = nn.linear %1, %w2 {octet.origin = #octet.origin<"b">} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = nn.add %1, %b {octet.origin = #octet.origin<"second">} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = nn.linear %2, %w3 {octet.origin = #octet.origin<"head">} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// One sum is not many.
// CHECK-NOT: OCT127
// CHECK: one {{.*}}nn.linear+nn.add {{.*}}int8
func.func @one(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w0 = nn.constant dense<0.1> : tensor<8x8xf32>
  %w1 = nn.constant dense<0.2> : tensor<8x8xf32>
  %w2 = nn.constant dense<0.4> : tensor<8x8xf32>
  %s = nn.linear %x, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = nn.linear %s, %w1 {octet.origin = #octet.origin<"one">} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %0 = nn.add %a, %s {octet.origin = #octet.origin<"only">} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = nn.linear %0, %w2 {octet.origin = #octet.origin<"last">} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

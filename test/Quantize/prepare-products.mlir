// RUN: octet-opt %s --octet-attach-policy --octet-prepare-attention --octet-explain --split-input-file 2>&1 | FileCheck %s

// 8 of 520 multiply-adds are of two activations: not worth 8 bits, so that the softmax stays whole.
// CHECK: layer    nn.linear   int8
// CHECK: softmax  nn.softmax  float
// CHECK: product  nn.matmul   float{{.*}}OCT115 products of two activations are a small part of the network
func.func @main(%x: tensor<2x16xf32> {nn.name = "x"}) -> tensor<2x2xf32> {
  %w = nn.constant dense<0.5> : tensor<16x16xf32>
  %h = nn.linear %x, %w {octet.origin = #octet.origin<"layer">} : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
  %a = nn.slice %h starts [0, 0] sizes [2, 2] steps [1, 1] : (tensor<2x16xf32>) -> tensor<2x2xf32>
  %b = nn.slice %h starts [0, 2] sizes [2, 2] steps [1, 1] : (tensor<2x16xf32>) -> tensor<2x2xf32>
  %s = nn.softmax %a axis 1 {octet.origin = #octet.origin<"softmax">} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = nn.matmul %s, %b {octet.origin = #octet.origin<"product">} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// A product with a single row stays float, whatever its part of the network; one with several does not.
// CHECK: several  nn.matmul  int8 to float
// CHECK: single   nn.matmul  float{{.*}}OCT115
func.func @main(%x: tensor<8x8xf32> {nn.name = "x"}, %z: tensor<1x8xf32> {nn.name = "z"}) -> (tensor<8x8xf32>, tensor<1x8xf32>) {
  %a = nn.matmul %x, %x {octet.origin = #octet.origin<"several">} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = nn.matmul %z, %x {octet.origin = #octet.origin<"single">} : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<1x8xf32>
}

// -----

// Two of the three ways to read a softmax other than as the left operand, and an axis other than the last: they stay whole.
// CHECK-COUNT-3: nn.softmax
func.func @main(%x: tensor<4x4xf32> {nn.name = "x"}, %v: tensor<4x4xf32> {nn.name = "v"}) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = nn.softmax %x axis 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = nn.matmul %v, %s : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = nn.softmax %x axis 0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = nn.matmul %t, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = nn.softmax %v axis 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = nn.matmul %u, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %b, %c, %u : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A sum of what float operators compute, which nobody reads as integers, stays float.
// CHECK: alone nn.reduce_sum float OCT108
func.func @main(%x: tensor<4x4xf32> {nn.name = "x"}) -> tensor<4x1xf32> {
  %e = nn.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = nn.reduce_sum %e axes [1] keep_dims {octet.origin = #octet.origin<"alone">} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  return %s : tensor<4x1xf32>
}

// -----

// What is multiplied with exponentials element by element stays float, not what is multiplied with one for each row, nor what is computed of
// the products.
// CHECK: gated  nn.mul     float{{.*}}OCT104 no integer form: it computes element by element with what has none
// CHECK: by_row nn.mul     int8
// CHECK: after  nn.linear  int8
func.func @main(%x: tensor<16x16xf32> {nn.name = "x"}) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %w = nn.constant dense<0.5> : tensor<16x16xf32>
  %h = nn.linear %x, %w {octet.origin = #octet.origin<"h">} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = nn.exp %x {octet.origin = #octet.origin<"all">} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %g = nn.mul %h, %e {octet.origin = #octet.origin<"gated">} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = nn.slice %x starts [0, 0] sizes [16, 1] steps [1, 1] {octet.origin = #octet.origin<"column">} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %f = nn.exp %c {octet.origin = #octet.origin<"rows">} : (tensor<16x1xf32>) -> tensor<16x1xf32>
  %r = nn.mul %h, %f {octet.origin = #octet.origin<"by_row">} : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %y = nn.linear %g, %w {octet.origin = #octet.origin<"after">} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %z = nn.linear %r, %w {octet.origin = #octet.origin<"last">} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y, %z : tensor<16x16xf32>, tensor<16x16xf32>
}

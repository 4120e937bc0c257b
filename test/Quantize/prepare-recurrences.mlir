// RUN: sed 's/octet.float_states.*//' %S/../../lib/Backend/backends/cpu.mlir > %t.mlir
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-fuse --octet-explain | FileCheck %s --check-prefix=WITHOUT
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare | FileCheck %s --check-prefix=PREPARE

// Steps of a recurrence multiply their state by the same weights. What they compute element by element stays float, that of the
// first and the last step, too, and all products read one observer. The sigmoid behind the steps' concatenation is no part of it.
// CHECK: keep0 {{.*}}nn.mul {{.*}}float {{.*}}OCT107 a state that comes in and leaves again
// CHECK: product1 {{.*}}nn.linear+nn.sigmoid {{.*}}int8 to float
// CHECK: keep1 {{.*}}nn.mul {{.*}}float {{.*}}OCT107
// CHECK: product2 {{.*}}nn.linear+nn.sigmoid {{.*}}int8 to float
// CHECK: keep2 {{.*}}nn.mul {{.*}}float {{.*}}OCT107
// CHECK: product3 {{.*}}nn.linear+nn.sigmoid {{.*}}int8 to float
// CHECK: keep3 {{.*}}nn.mul {{.*}}float {{.*}}OCT107
// CHECK-NOT: OCT107
// CHECK: head {{.*}}nn.linear {{.*}}int8

// WITHOUT-NOT: OCT107
// WITHOUT: keep1 {{.*}}nn.mul {{.*}}int8
// WITHOUT-NOT: OCT107

// PREPARE-LABEL: func.func @main
// PREPARE: octet.observe %{{.*}} by @[[STATE:keep0]] {octet.origin = #octet.origin<"keep0">}
// PREPARE: octet.observe %{{.*}} by @[[STATE]] {octet.origin = #octet.origin<"keep1">}
// PREPARE: octet.observe %{{.*}} by @[[STATE]] {octet.origin = #octet.origin<"keep2">}
// PREPARE-NOT: by @[[STATE]] {
// PREPARE: return
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<3x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %v = nn.constant dense<0.25> : tensor<4x4xf32>
  %u = nn.constant dense<0.125> : tensor<4x4xf32>
  %c = nn.linear %x, %v {octet.origin = #octet.origin<"input">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %h0 = nn.mul %c, %c {octet.origin = #octet.origin<"keep0">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %p1 = nn.linear %h0, %w {octet.origin = #octet.origin<"product1">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %g1 = nn.sigmoid %p1 {octet.origin = #octet.origin<"gate1">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %h1 = nn.mul %g1, %h0 {octet.origin = #octet.origin<"keep1">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %p2 = nn.linear %h1, %w {octet.origin = #octet.origin<"product2">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %g2 = nn.sigmoid %p2 {octet.origin = #octet.origin<"gate2">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %h2 = nn.mul %g2, %h1 {octet.origin = #octet.origin<"keep2">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %p3 = nn.linear %h2, %w {octet.origin = #octet.origin<"product3">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %g3 = nn.sigmoid %p3 {octet.origin = #octet.origin<"gate3">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %h3 = nn.mul %g3, %h2 {octet.origin = #octet.origin<"keep3">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %all = nn.concat %h1, %h2, %h3 axis 0 {octet.origin = #octet.origin<"all">} : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  %s = nn.sigmoid %all {octet.origin = #octet.origin<"behind">} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = nn.linear %s, %u {octet.origin = #octet.origin<"head">} : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// Layers that share weights are no recurrence without a state that passes three of them: behind the second nothing is computed
// element by element, and the last reads the first one's result alone.
// PREPARE-LABEL: func.func @shared
// PREPARE: by @once {octet.origin = #octet.origin<"once">}
// PREPARE: nn.mul {{.*}}verdict = int8,
// PREPARE: by @gate {octet.origin = #octet.origin<"gate">}
func.func @shared(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %a = nn.linear %x, %w {octet.origin = #octet.origin<"once">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %b = nn.linear %a, %w {octet.origin = #octet.origin<"twice">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %r = nn.mul %a, %a {octet.origin = #octet.origin<"gate">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %c = nn.linear %r, %w {octet.origin = #octet.origin<"again">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  return %b, %c : tensor<1x4xf32>, tensor<1x4xf32>
}

// What steps add to the products of their state is no 8-bit operand of these: the product of the inputs has a float result, as the sums have.
// CHECK: inputs {{.*}}nn.linear {{.*}}int8 to float
// CHECK: state1 {{.*}}nn.linear {{.*}}int8 to float
// CHECK: sum1 {{.*}}nn.add {{.*}}float {{.*}}OCT107
// CHECK: state3 {{.*}}nn.linear {{.*}}int8 to float
// CHECK: sum3 {{.*}}nn.add {{.*}}float

// WITHOUT: inputs {{.*}}nn.linear {{.*}}int8 {{ *}}cpu::linear
// WITHOUT: state1 {{.*}}nn.linear+nn.add+nn.tanh {{.*}}int8
func.func @sums(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<1x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %v = nn.constant dense<0.25> : tensor<4x4xf32>
  %c = nn.linear %x, %v {octet.origin = #octet.origin<"inputs">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %h0 = nn.tanh %c {octet.origin = #octet.origin<"start">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %p1 = nn.linear %h0, %w {octet.origin = #octet.origin<"state1">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %s1 = nn.add %c, %p1 {octet.origin = #octet.origin<"sum1">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %h1 = nn.tanh %s1 {octet.origin = #octet.origin<"next1">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %p2 = nn.linear %h1, %w {octet.origin = #octet.origin<"state2">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %s2 = nn.add %c, %p2 {octet.origin = #octet.origin<"sum2">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %h2 = nn.tanh %s2 {octet.origin = #octet.origin<"next2">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %p3 = nn.linear %h2, %w {octet.origin = #octet.origin<"state3">} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %s3 = nn.add %c, %p3 {octet.origin = #octet.origin<"sum3">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %h3 = nn.tanh %s3 {octet.origin = #octet.origin<"next3">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %h3 : tensor<1x4xf32>
}

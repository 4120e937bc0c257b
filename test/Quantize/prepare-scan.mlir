// The scan of a state space model: sums each of which adds to the one before, times what is no constant, stay float; two of them are none.
// RUN: octet-opt %s --octet-attach-policy --octet-explain --split-input-file -o /dev/null | FileCheck %s

!t = tensor<1x4xf32>
!w = tensor<4x4xf32>
// CHECK: product0 nn.mul {{.*}}float {{.*}}OCT107 a state that comes in and leaves again
// CHECK: sum1 nn.add {{.*}}float {{.*}}OCT107
// CHECK: product1 nn.mul {{.*}}float {{.*}}OCT107
// CHECK: sum2 nn.add {{.*}}float {{.*}}OCT107
func.func @three(%x: !t) -> !t {
  %w = nn.constant dense<0.5> : !w
  %a = nn.linear %x, %w {octet.origin = #octet.origin<"a">} : (!t, !w) -> !t
  %b = nn.linear %a, %w {octet.origin = #octet.origin<"b">} : (!t, !w) -> !t
  %h0 = nn.add %a, %b {octet.origin = #octet.origin<"sum0">} : (!t, !t) -> !t
  %m0 = nn.mul %h0, %b {octet.origin = #octet.origin<"product0">} : (!t, !t) -> !t
  %h1 = nn.add %m0, %a {octet.origin = #octet.origin<"sum1">} : (!t, !t) -> !t
  %r = nn.reshape %h1 : (!t) -> tensor<4x1xf32>
  %s = nn.reshape %r : (tensor<4x1xf32>) -> !t
  %m1 = nn.mul %b, %s {octet.origin = #octet.origin<"product1">} : (!t, !t) -> !t
  %h2 = nn.add %a, %m1 {octet.origin = #octet.origin<"sum2">} : (!t, !t) -> !t
  %y = nn.linear %h2, %w {octet.origin = #octet.origin<"y">} : (!t, !w) -> !t
  return %y : !t
}

// -----

!t = tensor<1x4xf32>
!w = tensor<4x4xf32>
// CHECK: product0 nn.mul {{.*}}int8
// CHECK: sum1 nn.add {{.*}}int8
func.func @two(%x: !t) -> !t {
  %w = nn.constant dense<0.5> : !w
  %a = nn.linear %x, %w {octet.origin = #octet.origin<"a">} : (!t, !w) -> !t
  %b = nn.linear %a, %w {octet.origin = #octet.origin<"b">} : (!t, !w) -> !t
  %h0 = nn.add %a, %b {octet.origin = #octet.origin<"sum0">} : (!t, !t) -> !t
  %m0 = nn.mul %h0, %b {octet.origin = #octet.origin<"product0">} : (!t, !t) -> !t
  %h1 = nn.add %m0, %a {octet.origin = #octet.origin<"sum1">} : (!t, !t) -> !t
  %y = nn.linear %h1, %w {octet.origin = #octet.origin<"y">} : (!t, !w) -> !t
  return %y : !t
}

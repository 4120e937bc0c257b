// An operator that a pattern almost fits says what differs, of the nearest pattern.
// RUN: octet-opt %s --allow-unregistered-dialect --octet-fuse --octet-explain -o /dev/null | FileCheck %s

octet.backend @b {
  octet.dtypes @d input = <ui8> output = <ui8> weight = <si8>
  octet.pattern @conv_add_relu dtypes = [@d] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %r = octet.activation
    %c = octet.match ["nn.conv"](%x, %w)
    %s = octet.match ["nn.add"](%c, %r) commutative where [#octet.same_shape]
    %y = octet.match ["nn.relu"](%s)
    octet.yield %y : none
  }
  octet.pattern @conv_relu dtypes = [@d] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %c = octet.match ["nn.conv"](%x, %w)
    %y = octet.match ["nn.relu"](%c)
    octet.yield %y : none
  }
  octet.pattern @linear dtypes = [@d] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
  octet.pattern @mul dtypes = [@d] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.mul", "toy.mul"](%a, %b)
    octet.yield %y : none
  }
  octet.pattern @mul_parameter dtypes = [@d] {
    %a = octet.activation
    %k = octet.parameter
    %y = octet.match ["nn.sub"](%a, %k)
    octet.yield %y : none
  }
  octet.pattern @squared dtypes = [@d] {
    %a = octet.activation
    %y = octet.match ["nn.max"](%a, %a)
    octet.yield %y : none
  }
  octet.pattern @elu dtypes = [@d] {
    %a = octet.activation
    %y = octet.match ["nn.elu"](%a) with {alpha = 1.0 : f32}
    octet.yield %y : none
  }
  octet.pattern @leaky dtypes = [@d] {
    %a = octet.activation
    %y = octet.match ["nn.leaky_relu"](%a) where [#octet.attribute_in_range<"alpha", 0.0 : f32, 1.0 : f32>]
    octet.yield %y : none
  }
  octet.pattern @depthwise dtypes = [@d] {
    %a = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["toy.conv"](%a, %w) where [#octet.attribute_is_dimension<"groups", operand 0, dimension 1, above 1>]
    octet.yield %y : none
  }
  octet.pattern @shift dtypes = [@d] {
    %a = octet.activation
    %k = octet.parameter
    %y = octet.match ["toy.shift"](%a, %k) where [#octet.same_shape]
    octet.yield %y : none
  }
  octet.pattern @split dtypes = [@d] {
    %a = octet.activation
    %y = octet.match ["toy.split", "toy.chunk", "toy.cut"](%a)
    octet.yield %y : none
  }
  octet.pattern @wide dtypes = [@d] {
    %a = octet.activation
    %m = octet.match ["toy.split", "toy.chunk", "toy.cut"](%a)
    %n = octet.match ["toy.one"](%m)
    %o = octet.match ["toy.two"](%n)
    %p = octet.match ["toy.three"](%o)
    octet.yield %p : none
  }
}
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8>>
  octet.object_type "toy.unwanted" none
}

!t = tensor<1x2x4x4xf32>
!m = tensor<4x4xf32>
func.func @another_reader(%x: !t) -> (!t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  // CHECK: c0 {{.*}} float {{.*}}OCT116 the nearest pattern @conv_relu does not match: its result is also read by nn.tanh "t0"
  // CHECK-NEXT: -> add an octet.pattern that ends with nn.conv, or say none for it in the QConfig mapping
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c0">} : (!t, tensor<2x2x1x1xf32>) -> !t
  // CHECK: r0 {{.*}} OCT116 the nearest pattern @conv_relu does not match: result of nn.conv "c0" is also read by nn.tanh "t0"
  %r = nn.relu %c {octet.origin = #octet.origin<"r0">} : (!t) -> !t
  // CHECK: t0 {{.*}} OCT101 no pattern of backend @b matches this nn.tanh
  // CHECK-NEXT: -> add an octet.pattern that matches nn.tanh, or say none for it in the QConfig mapping
  %t = nn.tanh %c {octet.origin = #octet.origin<"t0">} : (!t) -> !t
  return %r, %t : !t, !t
}
func.func @returned(%x: !t) -> (!t, !t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  // CHECK: c1 {{.*}} does not match: its result is also returned
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c1">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %r = nn.relu %c : (!t) -> !t
  // CHECK: c2 {{.*}} the nearest pattern @conv_relu does not match: its result is returned, not read by nn.relu
  %d = nn.conv %x, %w {octet.origin = #octet.origin<"c2">} : (!t, tensor<2x2x1x1xf32>) -> !t
  return %c, %r, %d : !t, !t, !t
}
func.func @another_operator(%x: !t) -> (!t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  // CHECK: c3 {{.*}} its result is read by nn.tanh "t3", not by nn.relu
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c3">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %t = nn.tanh %c {octet.origin = #octet.origin<"t3">} : (!t) -> !t
  %e = nn.exp %t {octet.origin = #octet.origin<"e3">} : (!t) -> !t
  // CHECK: r3 {{.*}} its operand 0 comes from nn.exp "e3", not from nn.conv
  %r = nn.relu %e {octet.origin = #octet.origin<"r3">} : (!t) -> !t
  // CHECK: i3 {{.*}} its operand 0 is an input, not from nn.conv
  %i = nn.relu %x {octet.origin = #octet.origin<"i3">} : (!t) -> !t
  return %r, %i : !t, !t
}
// The longer pattern is nearer.
func.func @nearest(%x: !t, %y: tensor<1x2x4x1xf32>) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  // CHECK: c4 {{.*}} the nearest pattern @conv_add_relu does not match: form of nn.add "a4" is not #octet.same_shape: operands are tensor<1x2x4x1xf32>, tensor<1x2x4x4xf32>
  // CHECK-NEXT: -> add an octet.pattern without this `where`
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c4">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %a = nn.add %y, %c {octet.origin = #octet.origin<"a4">} : (tensor<1x2x4x1xf32>, !t) -> !t
  %r = nn.relu %a : (!t) -> !t
  return %r : !t
}
// An operator between two that is no fold: no built-in backend has one.
func.func @between(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  // CHECK: c5 {{.*}} OCT119 nn.abs "n5" stands between it and nn.relu "r5" of the pattern @conv_relu
  // CHECK-NEXT: -> add an octet.pattern that includes nn.abs "n5", or an octet.fold that puts it into the weights, or say none
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c5">} : (!t, tensor<2x2x1x1xf32>) -> !t
  // CHECK: n5 {{.*}} OCT119 it stands between nn.conv "c5" and nn.relu "r5" of the pattern @conv_relu
  %n = nn.abs %c {octet.origin = #octet.origin<"n5">} : (!t) -> !t
  // CHECK: r5 {{.*}} OCT119 nn.abs "n5" stands between nn.conv "c5" and it of the pattern @conv_relu
  %r = nn.relu %n {octet.origin = #octet.origin<"r5">} : (!t) -> !t
  return %r : !t
}
func.func @operands(%x: !m, %y: !m, %h: tensor<4x4xindex>) -> (!m, !m, !m, !m, !m) {
  %k = nn.constant dense<1.0> : tensor<4x4xf32>
  %b = nn.constant dense<1.0> : tensor<4xf32>
  // CHECK: l6 {{.*}} OCT116 the nearest pattern @linear does not match: its operand 1 is computed at run time, not an octet.weight
  // CHECK-NEXT: -> make it a constant, or add an octet.pattern with an octet.activation in its place
  %l = nn.linear %x, %y {octet.origin = #octet.origin<"l6">} : (!m, !m) -> !m
  // CHECK: m6 {{.*}} its operand 1 is a constant, not an octet.activation
  // CHECK-NEXT: -> add an octet.pattern with an octet.parameter in its place
  %m = nn.mul %x, %k {octet.origin = #octet.origin<"m6">} : (!m, !m) -> !m
  // CHECK: s6 {{.*}} its operand 1 is another value than that of the same leaf
  %s = nn.max %x, %y {octet.origin = #octet.origin<"s6">} : (!m, !m) -> !m
  // CHECK: b6 {{.*}} its number of operands is 3, not 2
  %n = nn.linear %x, %k, %b {octet.origin = #octet.origin<"b6">} : (!m, !m, tensor<4xf32>) -> !m
  // CHECK: h6 {{.*}} its operand 0 has elements of index, which are no floats, and its operand 1 has elements of index, which are no floats
  // CHECK-NEXT: -> add an octet.pattern that matches this toy.mul
  %o = "toy.mul"(%h, %h) {octet.origin = #octet.origin<"h6">} : (tensor<4x4xindex>, tensor<4x4xindex>) -> !m
  return %l, %m, %s, %n, %o : !m, !m, !m, !m, !m
}
func.func @attributes(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %w1 = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  // CHECK: e7 {{.*}} the nearest pattern @elu does not match: its attribute "alpha" is 2.000000e+00, not 1.000000e+00
  // CHECK-NEXT: -> add an octet.pattern whose `with` has this value
  %e = nn.elu %x alpha 2.0 {octet.origin = #octet.origin<"e7">} : (!t) -> !t
  // CHECK: l7 {{.*}} does not match: its form is not #octet.attribute_in_range<"alpha", 0.000000e+00 : f32, 1.000000e+00 : f32>: "alpha" is 2.000000e+00, operands are tensor<1x2x4x4xf32>
  %l = nn.leaky_relu %e alpha 2.0 {octet.origin = #octet.origin<"l7">} : (!t) -> !t
  // CHECK: d7 {{.*}} is not #octet.attribute_is_dimension<"groups", operand 0, dimension 1, above 1>: "groups" is 1, operands are tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>
  %d = "toy.conv"(%l, %w) {groups = 1, octet.origin = #octet.origin<"d7">} : (!t, tensor<2x1x1x1xf32>) -> !t
  // CHECK: g7 {{.*}} above 1>: operands are
  %g = "toy.conv"(%d, %w) {octet.origin = #octet.origin<"g7">} : (!t, tensor<2x1x1x1xf32>) -> !t
  // CHECK: k7 {{.*}} does not match: its form is not #octet.same_shape: its class is "Shift", operands are tensor<1x2x4x4xf32>, tensor<1x1x1x1xf32>
  %k = "toy.shift"(%g, %w1) {octet.origin = #octet.origin<"k7", "Shift", 0>} : (!t, tensor<1x1x1x1xf32>) -> !t
  return %k : !t
}
// The batch norm between the convolution and the rectifier is what a built-in fold is for; its text stands once.
func.func @fold(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %k = nn.constant dense<1.0> : tensor<2xf32>
  // CHECK: c9 {{.*}} OCT119 nn.batch_norm "n9" stands between it and nn.relu "r9" of the pattern @conv_relu
  // CHECK-NEXT: -> add this fold of the built-in backend @cpu to the backend, which puts it into the weights: octet.fold @conv_batch_norm channel_axis = 1 { %0 = octet.activation
  // CHECK-SAME: octet.affine {{[^{}]*}} }, or say none for it in the QConfig mapping
  // CHECK-NEXT: n9 {{.*}} OCT119 it stands between nn.conv "c9" and nn.relu "r9" of the pattern @conv_relu
  // CHECK-NEXT: -> as for "c9"
  // CHECK-NEXT: r9 {{.*}} OCT119 nn.batch_norm "n9" stands between nn.conv "c9" and it of the pattern @conv_relu
  // CHECK-NEXT: -> as for "c9"
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c9">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %n = nn.batch_norm %c, %k, %k, %k, %k epsilon 1.0e-5 {octet.origin = #octet.origin<"n9">} : (!t, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !t
  %r = nn.relu %n {octet.origin = #octet.origin<"r9">} : (!t) -> !t
  return %r : !t
}
// With another reader of the convolution there is no fold.
func.func @no_fold(%x: !t) -> (!t, !t) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %k = nn.constant dense<1.0> : tensor<2xf32>
  // CHECK: c10 {{.*}} OCT116 the nearest pattern @conv_relu does not match: nn.batch_norm "n10" stands between it and nn.relu "r10", and its result is also returned
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c10">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %n = nn.batch_norm %c, %k, %k, %k, %k epsilon 1.0e-5 {octet.origin = #octet.origin<"n10">} : (!t, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !t
  %r = nn.relu %n {octet.origin = #octet.origin<"r10">} : (!t) -> !t
  return %r, %c : !t, !t
}
func.func @results(%x: !t) -> (!t, !t) {
  // CHECK: s8 {{.*}} the nearest pattern @split does not match: its number of results is 2, not 1
  %s:2 = "toy.split"(%x) {octet.origin = #octet.origin<"s8">} : (!t) -> (!t, !t)
  // Most of the only pattern is elsewhere.
  // CHECK: o8 {{.*}} OCT101 no pattern of backend @b matches
  %o = "toy.three"(%s#0) {octet.origin = #octet.origin<"o8">} : (!t) -> !t
  // CHECK: u8 {{.*}} OCT205
  %u = "toy.unwanted"(%o) {octet.origin = #octet.origin<"u8">} : (!t) -> !t
  return %s#1, %u : !t, !t
}

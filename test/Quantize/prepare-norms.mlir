// RUN: sed 's/octet.float_norms.*//; s/float_operands = stays_float//' %S/../../lib/Backend/backends/cpu.mlir > %t.mlir
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-fuse --octet-explain | FileCheck %s --check-prefix=WITHOUT
// RUN: octet-opt %s --octet-attach-policy --octet-fuse | FileCheck %s --check-prefix=FUSE

// The sums in front of a normalization stay float, and are not fused with the linear layer in front of them; what scales and
// shifts the normalized values reads floats only, and stays float. The sum behind the last layer is no part of that.
// CHECK: first {{.*}}nn.linear {{.*}}int8 to float
// CHECK: stream {{.*}}nn.add {{.*}}float {{.*}}OCT109 a normalization reads or makes it
// CHECK: mean {{.*}}nn.reduce_mean {{.*}}float
// CHECK: gamma {{.*}}nn.mul {{.*}}float {{.*}}OCT108 operators that stay float compute all that it reads
// CHECK: beta {{.*}}nn.sub {{.*}}float {{.*}}OCT108
// CHECK: second {{.*}}nn.linear+nn.add {{.*}}int8
// CHECK: third {{.*}}nn.linear {{.*}}int8 to float

// WITHOUT-NOT: OCT108
// WITHOUT-NOT: OCT109
// WITHOUT: first {{.*}}nn.linear+nn.add {{.*}}int8
// WITHOUT: beta {{.*}}nn.sub {{.*}}int8

// FUSE: %[[FIRST:.*]] = nn.linear %arg0
// FUSE-NEXT: nn.add %[[FIRST]], %arg0
// FUSE: octet.group @cpu::@linear_add
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}) -> tensor<2x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %g = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %eps = nn.constant dense<1.0e-5> : tensor<f32>
  %a = nn.linear %x, %w {octet.origin = #octet.origin<"first">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %s = nn.add %a, %x {octet.origin = #octet.origin<"stream">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %m = nn.reduce_mean %s axes [1] keep_dims {octet.origin = #octet.origin<"mean">} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %d = nn.sub %s, %m {octet.origin = #octet.origin<"centred">} : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q = nn.mul %d, %d {octet.origin = #octet.origin<"squares">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v = nn.reduce_mean %q axes [1] keep_dims {octet.origin = #octet.origin<"variance">} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %e = nn.add %v, %eps {octet.origin = #octet.origin<"epsilon">} : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = nn.sqrt %e {octet.origin = #octet.origin<"root">} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %k = nn.div %g, %r {octet.origin = #octet.origin<"factor">} : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %h = nn.mul %s, %k {octet.origin = #octet.origin<"gamma">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = nn.sub %h, %k {octet.origin = #octet.origin<"beta">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %l = nn.linear %b, %w {octet.origin = #octet.origin<"second">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %t = nn.add %l, %b {octet.origin = #octet.origin<"behind">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = nn.linear %t, %w {octet.origin = #octet.origin<"third">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// So does what a normalization scales: a factor for each row, moved at most, which is far larger in rows of zeros than in others.
// CHECK: product {{.*}}nn.matmul {{.*}}int8 to float
// CHECK: rms {{.*}}nn.mul {{.*}}float {{.*}}OCT109
// CHECK: own {{.*}}nn.linear {{.*}}int8
func.func @rms(%x: tensor<2x4xf32>, %z: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %eps = nn.constant dense<1.0e-6> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %p = nn.matmul %x, %z {octet.origin = #octet.origin<"product">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %q = nn.mul %p, %p : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v = nn.reduce_mean %q axes [1] : (tensor<2x4xf32>) -> tensor<2xf32>
  %e = nn.add %v, %eps : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %r = nn.sqrt %e : (tensor<2xf32>) -> tensor<2xf32>
  %i = nn.div %one, %r : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %k = nn.reshape %i : (tensor<2xf32>) -> tensor<2x1xf32>
  %h = nn.mul %p, %k {octet.origin = #octet.origin<"rms">} : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %l = nn.linear %h, %w {octet.origin = #octet.origin<"own">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %y = nn.linear %l, %w {octet.origin = #octet.origin<"last">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// And the squares and their sum, of a vector's length.
// CHECK: query {{.*}}nn.linear {{.*}}int8 to float
// CHECK: squares {{.*}}nn.mul {{.*}}float {{.*}}OCT109
// CHECK: sum {{.*}}nn.reduce_sum {{.*}}float {{.*}}OCT109
// CHECK: unit {{.*}}nn.div {{.*}}float
// CHECK: similarity {{.*}}nn.matmul {{.*}}int8
func.func @length(%x: tensor<2x4xf32>, %z: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %p = nn.linear %x, %w {octet.origin = #octet.origin<"query">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %q = nn.mul %p, %p {octet.origin = #octet.origin<"squares">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = nn.reduce_sum %q axes [1] keep_dims {octet.origin = #octet.origin<"sum">} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %r = nn.sqrt %s : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %u = nn.div %p, %r {octet.origin = #octet.origin<"unit">} : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = nn.matmul %u, %z {octet.origin = #octet.origin<"similarity">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// A layer whose result a normalization and a quantized unit read computes floats, and the unit quantizes them for itself.
// CHECK: patches {{.*}}nn.linear {{.*}}int8 to float {{.*}}OCT109
// CHECK: branch {{.*}}nn.linear {{.*}}int8
// CHECK: residual {{.*}}nn.add {{.*}}float
func.func @both(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %p = nn.linear %x, %w {octet.origin = #octet.origin<"patches">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = nn.linear %p, %w {octet.origin = #octet.origin<"branch">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %s = nn.add %p, %b {octet.origin = #octet.origin<"residual">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = nn.mul %s, %s : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v = nn.reduce_mean %q axes [1] keep_dims : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %r = nn.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %n = nn.div %s, %r : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = nn.linear %n, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// So is what only moves such a result: the sum reads floats, and the convolution quantizes them for itself.
// CHECK: tokens {{.*}}nn.linear {{.*}}int8 to float
// CHECK: image {{.*}}nn.reshape {{.*}}float {{.*}}OCT109
// CHECK: position {{.*}}nn.conv {{.*}}int8 to float
// CHECK: stream {{.*}}nn.add {{.*}}float
func.func @moved(%x: tensor<4x4xf32>) -> tensor<1x4x2x2xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %k = nn.constant dense<0.5> : tensor<4x4x1x1xf32>
  %p = nn.linear %x, %w {octet.origin = #octet.origin<"tokens">} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %i = nn.reshape %p {octet.origin = #octet.origin<"image">} : (tensor<4x4xf32>) -> tensor<1x4x2x2xf32>
  %c = nn.conv %i, %k {octet.origin = #octet.origin<"position">} : (tensor<1x4x2x2xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x2x2xf32>
  %s = nn.add %i, %c {octet.origin = #octet.origin<"stream">} : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %q = nn.mul %s, %s : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %v = nn.reduce_mean %q axes [1] keep_dims : (tensor<1x4x2x2xf32>) -> tensor<1x1x2x2xf32>
  %r = nn.sqrt %v : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %n = nn.div %s, %r : (tensor<1x4x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x4x2x2xf32>
  %y = nn.conv %n, %k : (tensor<1x4x2x2xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x2x2xf32>
  return %y : tensor<1x4x2x2xf32>
}

// The squares may be averaged in another shape.
// CHECK: gated {{.*}}nn.mul {{.*}}float {{.*}}OCT109
// CHECK: scaled {{.*}}nn.mul {{.*}}float {{.*}}OCT109
func.func @groups(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %eps = nn.constant dense<1.0e-5> : tensor<f32>
  %a = nn.linear %x, %w {octet.origin = #octet.origin<"a">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = nn.linear %a, %w {octet.origin = #octet.origin<"b">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %s = nn.mul %a, %b {octet.origin = #octet.origin<"gated">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = nn.mul %s, %s : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = nn.reshape %q : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %v = nn.reduce_mean %g axes [1] keep_dims : (tensor<4x2xf32>) -> tensor<4x1xf32>
  %e = nn.add %v, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = nn.sqrt %e : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %t = nn.reshape %s : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %k = nn.div %one, %r : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %d = nn.mul %t, %k {octet.origin = #octet.origin<"scaled">} : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %h = nn.reshape %d : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %y = nn.linear %h, %w {octet.origin = #octet.origin<"y">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// A sum behind the last normalization that adds to a sum in front of it adds floats: 8 bits would round all that these carry.
// CHECK: carried {{.*}}nn.add {{.*}}float {{.*}}OCT109
// CHECK: feed {{.*}}nn.linear {{.*}}int8 to float
// CHECK: last {{.*}}nn.add {{.*}}float {{.*}}OCT109
func.func @last_sum(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %a = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %s = nn.add %a, %x {octet.origin = #octet.origin<"carried">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = nn.mul %s, %s : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v = nn.reduce_mean %q axes [1] keep_dims : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %r = nn.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %n = nn.div %s, %r : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %f = nn.linear %n, %w {octet.origin = #octet.origin<"feed">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %t = nn.add %f, %s {octet.origin = #octet.origin<"last">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = nn.linear %t, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

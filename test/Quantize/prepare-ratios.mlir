// RUN: sed 's/octet.float_ratios.*//' %S/../../lib/Backend/backends/cpu.mlir > %t.mlir
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain --split-input-file -o /dev/null | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-fuse --octet-explain --split-input-file -o /dev/null | FileCheck %s --check-prefix=WITHOUT

// A front end: frames, a Fourier transform, magnitudes, filters, a clamp, the logarithm. What follows has integers.
// CHECK: transform {{.*}}nn.linear {{.*}}float {{.*}}OCT124 ratios of it count
// CHECK: square {{.*}}nn.mul {{.*}}float
// CHECK: filters {{.*}}nn.linear {{.*}}float {{.*}}OCT124 ratios of it count
// CHECK: coefficients {{.*}}nn.linear {{.*}}int8

// WITHOUT-NOT: OCT124
// WITHOUT: filters {{.*}}nn.linear {{.*}}int8
!f = tensor<64x16xf32>
!w = tensor<16x16xf32>
func.func @main(%x: tensor<1024xf32> {nn.name = "x"}) -> !f {
  %w = nn.constant dense<0.5> : !w
  %least = nn.constant dense<1.0e-5> : tensor<f32>
  %frames = nn.reshape %x : (tensor<1024xf32>) -> !f
  %t = nn.linear %frames, %w {octet.origin = #octet.origin<"transform">} : (!f, !w) -> !f
  %s = nn.mul %t, %t {octet.origin = #octet.origin<"square">} : (!f, !f) -> !f
  %m = nn.linear %s, %w {octet.origin = #octet.origin<"filters">} : (!f, !w) -> !f
  %c = nn.max %m, %least : (!f, tensor<f32>) -> !f
  %l = nn.log %c : (!f) -> !f
  %k = nn.linear %l, %w {octet.origin = #octet.origin<"coefficients">} : (!f, !w) -> !f
  %y = nn.linear %k, %w {octet.origin = #octet.origin<"last">} : (!f, !w) -> !f
  return %y : !f
}

// -----

// No front end: layers with activations between the input and the logarithm.
// CHECK-NOT: OCT124
// CHECK: layer1 {{.*}}int8
// CHECK-NOT: OCT124
!f = tensor<64x16xf32>
!w = tensor<16x16xf32>
func.func @main(%x: !f {nn.name = "x"}) -> !f {
  %w = nn.constant dense<0.5> : !w
  %a = nn.linear %x, %w {octet.origin = #octet.origin<"layer1">} : (!f, !w) -> !f
  %r = nn.relu %a : (!f) -> !f
  %b = nn.linear %r, %w {octet.origin = #octet.origin<"layer2">} : (!f, !w) -> !f
  %e = nn.relu %b : (!f) -> !f
  %l = nn.log %e : (!f) -> !f
  return %l : !f
}

// -----

// Directions of gradients: of both operands of a quotient. A normalization divides by a mean.
// CHECK: horizontal {{.*}}nn.linear {{.*}}float {{.*}}OCT124 ratios of it count
// CHECK: vertical {{.*}}nn.linear {{.*}}float {{.*}}OCT124 ratios of it count
// CHECK: normalized {{.*}}nn.linear {{.*}}int8
// CHECK-NOT: OCT124
!f = tensor<64x16xf32>
!w = tensor<16x16xf32>
func.func @main(%x: !f {nn.name = "x"}) -> !f {
  %w = nn.constant dense<0.5> : !w
  %h = nn.linear %x, %w {octet.origin = #octet.origin<"horizontal">} : (!f, !w) -> !f
  %v = nn.linear %x, %w {octet.origin = #octet.origin<"vertical">} : (!f, !w) -> !f
  %q = nn.div %v, %h : (!f, !f) -> !f
  %a = nn.atan %q : (!f) -> !f
  %n = nn.linear %x, %w {octet.origin = #octet.origin<"normalized">} : (!f, !w) -> !f
  %s = nn.abs %n : (!f) -> !f
  %m = nn.reduce_mean %s axes [1] keep_dims : (!f) -> tensor<64x1xf32>
  %d = nn.div %n, %m : (!f, tensor<64x1xf32>) -> !f
  %k = nn.linear %a, %w {octet.origin = #octet.origin<"last">} : (!f, !w) -> !f
  %y = nn.add %k, %d : (!f, !f) -> !f
  return %y : !f
}

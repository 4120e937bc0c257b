// RUN: sed 's/octet.float_angles.*//' %S/../../lib/Backend/backends/cpu.mlir > %t.mlir
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-fuse --octet-explain | FileCheck %s --check-prefix=WITHOUT

// What only sines and cosines read stays float, moved and scaled (the factor goes into the weights): frequencies of points. The layer in front of those has integers,
// and so has one that something else reads as well, as x + sin(x)^2 of a vocoder.
// CHECK: first {{.*}}nn.linear {{.*}}int8
// CHECK: frequencies {{.*}}nn.linear {{.*}}float {{.*}}OCT123 only sines and cosines read it
// CHECK: moved {{.*}}nn.reshape {{.*}}float
// CHECK: snake {{.*}}nn.linear {{.*}}int8
// CHECK: last {{.*}}nn.linear {{.*}}int8

// WITHOUT-NOT: OCT123
// WITHOUT: frequencies {{.*}}nn.linear {{.*}}int8
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}) -> tensor<2x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %two_pi = nn.constant dense<6.2831855> : tensor<f32>
  %p = nn.linear %x, %w {octet.origin = #octet.origin<"first">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %f = nn.linear %p, %w {octet.origin = #octet.origin<"frequencies">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %t = nn.mul %f, %two_pi {octet.origin = #octet.origin<"turns">} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %m = nn.reshape %t {octet.origin = #octet.origin<"moved">} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %s = nn.sin %m : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %c = nn.cos %m : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %a = nn.mul %s, %c : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %r = nn.reshape %a : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %k = nn.linear %r, %w {octet.origin = #octet.origin<"snake">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %n = nn.sin %k : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = nn.mul %n, %n : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = nn.add %k, %q : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = nn.linear %z, %w {octet.origin = #octet.origin<"last">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

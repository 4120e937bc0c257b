// RUN: sed 's/octet.float_angles.*//' %S/../../lib/Backend/backends/cpu.mlir > %t.mlir
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-fuse --octet-explain | FileCheck %s --check-prefix=WITHOUT

// What only sines and cosines read stays float, moved and scaled (the factor goes into the weights): frequencies of points. The layer in front of those has integers,
// and so has one that something else reads as well, as x + sin(x)^2 of a vocoder.
// CHECK: first {{.*}}nn.linear {{.*}}int8
// CHECK: frequencies {{.*}}nn.linear {{.*}}float {{.*}}OCT123 sines and cosines read it
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

// Positions beside their encoding stay float, as the angle is many times the position; beside an angle that is not, they do not.
// CHECK: far {{.*}}nn.add {{.*}}float {{.*}}OCT123
// CHECK: near {{.*}}nn.add {{.*}}int8
func.func @encoding(%x: tensor<2x4xf32>, %d: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = nn.constant dense<0.5> : tensor<4x8xf32>
  %many = nn.constant dense<[1.0, 4.0, -8.0, 2.0]> : tensor<4xf32>
  %few = nn.constant dense<[1.0, 4.0, -7.0, 2.0]> : tensor<4xf32>
  %0 = nn.add %x, %d {octet.origin = #octet.origin<"far">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = nn.mul %0, %many : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = nn.sin %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = nn.concat %0, %2 axis 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %4 = nn.linear %3, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %5 = nn.sub %x, %d : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = nn.add %x, %5 {octet.origin = #octet.origin<"near">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = nn.mul %6, %few : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %8 = nn.sin %7 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = nn.concat %6, %8 axis 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %10 = nn.linear %9, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return %4, %10 : tensor<2x4xf32>, tensor<2x4xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s

// Scales and shifts by constants belong to the unit in front of them: who reads them reads its result, which is no float for that.
// CHECK: mean {{.*}}nn.avg_pool {{.*}}int8
// Not so behind what stays float,
// CHECK: mean_of_floats {{.*}}nn.avg_pool {{.*}}float {{.*}}OCT108
// where something else reads the unit's result,
// CHECK: mean_beside_a_reader {{.*}}nn.avg_pool {{.*}}float {{.*}}OCT108
// and where the constant is no vector.
// CHECK: mean_behind_a_tensor {{.*}}nn.avg_pool {{.*}}float {{.*}}OCT108
func.func @main(%x: tensor<1x4x6x6xf32>) -> (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>) {
  %w = nn.constant dense<0.5> : tensor<4x4x1x1xf32>
  %k = nn.constant dense<1.5> : tensor<f32>
  %s = nn.constant dense<0.1> : tensor<4x1x1xf32>
  %t = nn.constant dense<0.1> : tensor<4x6x6xf32>

  %a = nn.conv %x, %w {octet.origin = #octet.origin<"front">} : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %b = nn.hard_swish %a : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %c = nn.mul %k, %b : (tensor<f32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %d = nn.add %c, %s : (tensor<1x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %e = nn.avg_pool %d kernel [6, 6] {octet.origin = #octet.origin<"mean">} : (tensor<1x4x6x6xf32>) -> tensor<1x4x1x1xf32>
  %ee = nn.conv %e, %w : (tensor<1x4x1x1xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x1x1xf32>

  %f = nn.exp %x : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %g = nn.mul %f, %k : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x6xf32>
  %h = nn.avg_pool %g kernel [6, 6] {octet.origin = #octet.origin<"mean_of_floats">} : (tensor<1x4x6x6xf32>) -> tensor<1x4x1x1xf32>
  %hh = nn.conv %h, %w : (tensor<1x4x1x1xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x1x1xf32>

  %i = nn.conv %x, %w : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %j = nn.mul %i, %k : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x6xf32>
  %l = nn.avg_pool %j kernel [6, 6] {octet.origin = #octet.origin<"mean_beside_a_reader">} : (tensor<1x4x6x6xf32>) -> tensor<1x4x1x1xf32>
  %ll = nn.conv %l, %w : (tensor<1x4x1x1xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x1x1xf32>

  %m = nn.conv %x, %w : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %n = nn.hard_swish %m : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %o = nn.add %n, %t : (tensor<1x4x6x6xf32>, tensor<4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %p = nn.avg_pool %o kernel [6, 6] {octet.origin = #octet.origin<"mean_behind_a_tensor">} : (tensor<1x4x6x6xf32>) -> tensor<1x4x1x1xf32>
  %pp = nn.conv %p, %w : (tensor<1x4x1x1xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  return %ee, %hh, %ll, %i, %pp : tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>
}

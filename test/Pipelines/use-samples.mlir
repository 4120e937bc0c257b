// RUN: %python %S/Inputs/make-samples.py %t.npz
// Samples stay with the module whatever passes change in it.
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-prepare --canonicalize --octet-calibrate | FileCheck %s
// Those that are named last are used.
// RUN: octet-opt %s --octet-attach-policy --octet-prepare --octet-use-samples=files=%t.missing --octet-use-samples=files=%t.npz --octet-calibrate | FileCheck %s

// CHECK: octet.observer @{{.*}} statistics dense
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<0.5> : tensor<2x2x1x1xf32>
  %y = nn.conv %x, %w {octet.origin = #octet.origin<"conv">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}

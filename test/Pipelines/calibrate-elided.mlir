// Constants are told apart by their values, also where printed IR leaves them out.
// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-calibrate --mlir-elide-elementsattrs-if-larger=1 | FileCheck %s

// The input is in [-1, 2], of which the second constant is the negation: [-2, 1].
// CHECK: octet.observer @y #octet.min_max<dtype = ui8> statistics dense<[-2.000000e+00, 1.000000e+00]> : tensor<2xf32>
octet.observer @y #octet.min_max<dtype = ui8>
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x4x4xf32> {
  %a = nn.constant dense<[[[[1.0]], [[0.0]]], [[[0.0]], [[1.0]]]]> : tensor<2x2x1x1xf32>
  %b = nn.constant dense<[[[[-1.0]], [[0.0]]], [[[0.0]], [[-1.0]]]]> : tensor<2x2x1x1xf32>
  %0 = nn.conv %x, %a : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.conv %0, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = octet.observe %1 by @y : tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

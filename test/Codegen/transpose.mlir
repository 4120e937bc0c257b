// RUN: octet-opt %s --octet-emit-program=levels=avx512vnni --split-input-file | FileCheck %s

// Three matrices of 40 rows, in blocks of sixteen of them.
// CHECK: kernel.step @transpose{{.*}} range 9
func.func @main(%x: tensor<3x20x40xf32> {nn.name = "x"}) -> (tensor<3x40x20xf32> {nn.name = "y"}) {
  %0 = nn.transpose %x permutation [0, 2, 1] : (tensor<3x20x40xf32>) -> tensor<3x40x20xf32>
  return %0 : tensor<3x40x20xf32>
}

// -----

// Too few columns for a vector, and elements that lie side by side on both sides.
// CHECK-NOT: kernel.step @transpose
func.func @main(%x: tensor<3x2x40xf32> {nn.name = "x"}) -> (tensor<3x40x2xf32> {nn.name = "y"}, tensor<2x3x40xf32> {nn.name = "z"}) {
  %0 = nn.transpose %x permutation [0, 2, 1] : (tensor<3x2x40xf32>) -> tensor<3x40x2xf32>
  %1 = nn.transpose %x permutation [1, 0, 2] : (tensor<3x2x40xf32>) -> tensor<2x3x40xf32>
  return %0, %1 : tensor<3x40x2xf32>, tensor<2x3x40xf32>
}

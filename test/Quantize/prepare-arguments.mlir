// Observers of arguments stand in the order of the arguments, in which they update what they share.
// RUN: octet-opt %s --octet-attach-policy=backend=native --octet-prepare | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    octet.observe %arg0 by @[[O:[a-z0-9]+]] : tensor<2x4xf32>
// CHECK-NEXT:    octet.observe %arg1 by @[[O]] : tensor<2x4xf32>
// CHECK-NEXT:    octet.observe %arg2 by @[[O]] : tensor<2x4xf32>
func.func @main(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>, %c: tensor<2x4xf32>) -> tensor<6x4xf32> {
  %0 = nn.concat %c, %a, %b axis 0 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

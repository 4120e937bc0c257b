// RUN: octet-opt %s --octet-emit-program=levels=reference --split-input-file | FileCheck %s

!q = !quant.uniform<u8<5:255>:f32, 0.5:5>

// The last windows lie in the padding: their maximum is what minus infinity is quantized to.
// CHECK-LABEL: func.func private @max_pool_0
// CHECK-NOT: arith.constant -1000
// CHECK: arith.constant 5 : i32
func.func @main(%x: tensor<1x1x4x4x!q>) -> tensor<1x1x6x6x!q> {
  %y = nn.max_pool %x kernel [2, 2] pads [0, 0, 3, 3] : (tensor<1x1x4x4x!q>) -> tensor<1x1x6x6x!q>
  return %y : tensor<1x1x6x6x!q>
}

// -----

!q = !quant.uniform<u8<5:255>:f32, 0.5:5>

// All windows have elements: the loop starts below all bytes.
// CHECK-LABEL: func.func private @max_pool_0
// CHECK: arith.constant -1000 : i32
func.func @main(%x: tensor<1x1x4x4x!q>) -> tensor<1x1x5x5x!q> {
  %y = nn.max_pool %x kernel [2, 2] pads [1, 1, 1, 1] : (tensor<1x1x4x4x!q>) -> tensor<1x1x5x5x!q>
  return %y : tensor<1x1x5x5x!q>
}

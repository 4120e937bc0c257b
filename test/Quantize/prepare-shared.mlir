// The observers of operators that share one.
// RUN: octet-opt %s --octet-attach-policy --octet-prepare --split-input-file | FileCheck %s

// A sigmoid and a tanh know different ranges: neither holds for both.
// CHECK: octet.observer @sigmoid #octet.min_max<dtype = ui8>
// CHECK-LABEL: func @constants_that_differ
!t = tensor<1x2x4x4xf32>
func.func @constants_that_differ(%x: !t) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x4x1x1xf32>
  %0 = nn.sigmoid %x {octet.origin = #octet.origin<"sigmoid">} : (!t) -> !t
  %1 = nn.tanh %x : (!t) -> !t
  %2 = nn.concat %0, %1 axis 1 : (!t, !t) -> tensor<1x4x4x4xf32>
  %3 = nn.conv %2, %w : (tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>) -> !t
  return %3 : !t
}

// -----

// Zeros lie in a sigmoid's range.
// CHECK: octet.observer @sigmoid #octet.fixed_qparams<ui8
// CHECK-LABEL: func @padding_with_zeros
!t = tensor<1x2x4x4xf32>
func.func @padding_with_zeros(%x: !t) -> tensor<1x2x6x6xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.sigmoid %x {octet.origin = #octet.origin<"sigmoid">} : (!t) -> !t
  %1 = nn.pad %0 low [0, 0, 1, 1] high [0, 0, 1, 1] value 0.0 : (!t) -> tensor<1x2x6x6xf32>
  %2 = nn.conv %1, %w : (tensor<1x2x6x6xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  return %2 : tensor<1x2x6x6xf32>
}

// -----

// CHECK: octet.observer @sigmoid #octet.min_max<dtype = ui8>
// CHECK-LABEL: func @padding_outside_the_range
!t = tensor<1x2x4x4xf32>
func.func @padding_outside_the_range(%x: !t) -> tensor<1x2x6x6xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.sigmoid %x {octet.origin = #octet.origin<"sigmoid">} : (!t) -> !t
  %1 = nn.pad %0 low [0, 0, 1, 1] high [0, 0, 1, 1] value -2.5 : (!t) -> tensor<1x2x6x6xf32>
  %2 = nn.conv %1, %w : (tensor<1x2x6x6xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  return %2 : tensor<1x2x6x6xf32>
}

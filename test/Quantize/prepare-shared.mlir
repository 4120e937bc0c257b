// The observers of operators that share one.
// RUN: octet-opt %s --octet-attach-policy --octet-prepare --split-input-file | FileCheck %s

// A sigmoid and a tanh know different ranges: neither holds for both.
// CHECK: octet.observer @sigmoid #octet.mean_squared_error<dtype = ui8,
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

// CHECK: octet.observer @sigmoid #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @padding_outside_the_range
!t = tensor<1x2x4x4xf32>
func.func @padding_outside_the_range(%x: !t) -> tensor<1x2x6x6xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.sigmoid %x {octet.origin = #octet.origin<"sigmoid">} : (!t) -> !t
  %1 = nn.pad %0 low [0, 0, 1, 1] high [0, 0, 1, 1] value -2.5 : (!t) -> tensor<1x2x6x6xf32>
  %2 = nn.conv %1, %w : (tensor<1x2x6x6xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  return %2 : tensor<1x2x6x6xf32>
}

// -----

// The first operand's observer is that of all, in whichever order they are computed.
// CHECK: octet.observer @add #octet.min_max<dtype = ui8, scheme = symmetric>
// CHECK-LABEL: func @first_operand_decides
!t = tensor<1x2x4x4xf32>
func.func @first_operand_decides(%x: !t) -> tensor<1x4x4x4xf32> {
  %0 = nn.add %x, %x {octet.origin = #octet.origin<"add">} : (!t, !t) -> !t
  %1 = nn.mul %x, %x {octet.origin = #octet.origin<"mul">} : (!t, !t) -> !t
  %2 = nn.concat %1, %0 axis 1 : (!t, !t) -> tensor<1x4x4x4xf32>
  %w = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %3 = nn.conv %2, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %3 : tensor<1x4x4x4xf32>
}
octet.qconfig_mapping @own {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8, scheme = symmetric>>
  octet.object_type "nn.mul" #octet.qconfig<activation = #octet.min_max<dtype = ui8, scheme = symmetric>, weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}

// Scales of slices of channels.
// RUN: octet-opt %s --octet-attach-policy --octet-convert --split-input-file | FileCheck %s

// Channel 2, which no slice takes, keeps its own scale: 255 / 255.
octet.observer @v #octet.per_channel_min_max<dtype = ui8, axis = 1> statistics dense<"0x00000000000000000000000000000000000000400000004000007F4300000040"> : tensor<32xi8>
octet.observer @low #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 7>
octet.observer @high #octet.fixed_qparams<ui8, scale = 4.0 : f32, zero_point = 0>

// CHECK-LABEL: func @the_operand_has_the_scales_of_its_slices
// CHECK: octet.quantize {{.*}} -> tensor<1x4x1x1x!quant.uniform<u8:f32:1, {5.000000e-01:7,5.000000e-01:7,1.000000e+00,4.000000e+00}>>
// CHECK: nn.slice
// CHECK-NEXT: octet.quantize {{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 5.000000e-01:7>>
// CHECK: nn.slice
// CHECK-NEXT: octet.quantize {{.*}} -> tensor<1x1x1x1x!quant.uniform<u8:f32, 4.000000e+00>>
func.func @the_operand_has_the_scales_of_its_slices(%x: tensor<1x4x1x1xf32>) -> (tensor<1x2x1x1xf32>, tensor<1x1x1x1xf32>) {
  %0 = octet.observe %x by @v : tensor<1x4x1x1xf32>
  %1 = nn.slice %0 starts [0, 0, 0, 0] sizes [1, 2, 1, 1] steps [1, 1, 1, 1] : (tensor<1x4x1x1xf32>) -> tensor<1x2x1x1xf32>
  %2 = octet.observe %1 by @low : tensor<1x2x1x1xf32>
  %3 = nn.slice %0 starts [0, 3, 0, 0] sizes [1, 1, 1, 1] steps [1, 1, 1, 1] : (tensor<1x4x1x1xf32>) -> tensor<1x1x1x1xf32>
  %4 = octet.observe %3 by @high : tensor<1x1x1x1xf32>
  return %2, %4 : tensor<1x2x1x1xf32>, tensor<1x1x1x1xf32>
}

// -----

octet.observer @v #octet.per_channel_min_max<dtype = ui8, axis = 1> statistics dense<"0x00000000000000000000004000000040"> : tensor<16xi8>
octet.observer @part #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 7>

// CHECK-LABEL: func @slices_of_one_scale
// CHECK: octet.quantize {{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 5.000000e-01:7>>
// CHECK: nn.slice
func.func @slices_of_one_scale(%x: tensor<1x2x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) {
  %0 = octet.observe %x by @v : tensor<1x2x1x1xf32>
  %1 = nn.slice %0 starts [0, 0, 0, 0] sizes [1, 1, 1, 1] steps [1, 1, 1, 1] : (tensor<1x2x1x1xf32>) -> tensor<1x1x1x1xf32>
  %2 = octet.observe %1 by @part : tensor<1x1x1x1xf32>
  %3 = nn.slice %0 starts [0, 1, 0, 0] sizes [1, 1, 1, 1] steps [1, 1, 1, 1] : (tensor<1x2x1x1xf32>) -> tensor<1x1x1x1xf32>
  %4 = octet.observe %3 by @part : tensor<1x1x1x1xf32>
  return %2, %4 : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}

// -----

octet.observer @near #octet.fixed_qparams<ui8, scale = 0.501 : f32, zero_point = 7>
octet.observer @far #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 7>
octet.observer @all #octet.fixed_qparams<ui8, scale = 2.0 : f32, zero_point = 0>

// A quarter of the concatenation's scale is kept, more is not.
// CHECK-LABEL: func @operands_of_a_concatenation
// CHECK: octet.quantize {{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 2.000000e+00>>
// CHECK: octet.quantize {{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 5.000000e-01:7>>
// CHECK: nn.concat
// CHECK-NEXT: octet.quantize {{.*}} -> tensor<1x4x1x1x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @operands_of_a_concatenation(%x: tensor<1x2x1x1xf32>, %y: tensor<1x2x1x1xf32>) -> tensor<1x4x1x1xf32> {
  %0 = octet.observe %x by @near : tensor<1x2x1x1xf32>
  %1 = octet.observe %y by @far : tensor<1x2x1x1xf32>
  %2 = nn.concat %0, %1 axis 1 : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x4x1x1xf32>
  %3 = octet.observe %2 by @all : tensor<1x4x1x1xf32>
  return %3 : tensor<1x4x1x1xf32>
}

// -----

octet.observer @near #octet.fixed_qparams<ui8, scale = 0.501 : f32, zero_point = 7>
octet.observer @all #octet.fixed_qparams<ui8, scale = 2.0 : f32, zero_point = 0>

// CHECK-LABEL: func @operands_of_a_float_concatenation
// CHECK-COUNT-2: octet.quantize {{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 0.50{{[0-9]+}}:7>>
// CHECK: nn.concat
// CHECK-NEXT: octet.quantize {{.*}} -> tensor<1x4x1x1x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @operands_of_a_float_concatenation(%x: tensor<1x2x1x1xf32>, %y: tensor<1x2x1x1xf32>) -> tensor<1x4x1x1xf32> {
  %0 = octet.observe %x by @near : tensor<1x2x1x1xf32>
  %1 = octet.observe %y by @near : tensor<1x2x1x1xf32>
  %2 = nn.concat %0, %1 axis 1 {octet.decision = #octet.decision<number = 0, verdict = float, reason = <"OCT205", "the QConfig mapping says none here", "">>} : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x4x1x1xf32>
  %3 = octet.observe %2 by @all : tensor<1x4x1x1xf32>
  return %3 : tensor<1x4x1x1xf32>
}

// -----

octet.observer @near #octet.fixed_qparams<ui8, scale = 1.0 : f32, zero_point = 0>
octet.observer @wide #octet.fixed_qparams<ui8, scale = 3.0 : f32, zero_point = 0>
octet.observer @all #octet.fixed_qparams<ui8, scale = 2.0 : f32, zero_point = 0>

// What shares an operand's observer changes with it. Where its range is wider than the concatenation's, both keep it.
// CHECK-LABEL: func @operands_that_share_observers
// CHECK: octet.quantize {{.*}} -> tensor<1x4x1x1x!quant.uniform<u8:f32, 2.000000e+00>>
// CHECK: nn.slice
// CHECK-NEXT: octet.quantize {{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 2.000000e+00>>
// CHECK: octet.quantize {{.*}} -> tensor<1x4x1x1x!quant.uniform<u8:f32, 3.000000e+00>>
// CHECK: nn.slice
// CHECK-NEXT: octet.quantize {{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 3.000000e+00>>
// CHECK: nn.concat
// CHECK-NEXT: octet.quantize {{.*}} -> tensor<1x4x1x1x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @operands_that_share_observers(%x: tensor<1x4x1x1xf32>, %y: tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32> {
  %0 = octet.observe %x by @near : tensor<1x4x1x1xf32>
  %1 = nn.slice %0 starts [0, 0, 0, 0] sizes [1, 2, 1, 1] steps [1, 1, 1, 1] : (tensor<1x4x1x1xf32>) -> tensor<1x2x1x1xf32>
  %2 = octet.observe %1 by @near : tensor<1x2x1x1xf32>
  %3 = octet.observe %y by @wide : tensor<1x4x1x1xf32>
  %4 = nn.slice %3 starts [0, 0, 0, 0] sizes [1, 2, 1, 1] steps [1, 1, 1, 1] : (tensor<1x4x1x1xf32>) -> tensor<1x2x1x1xf32>
  %5 = octet.observe %4 by @wide : tensor<1x2x1x1xf32>
  %6 = nn.concat %2, %5 axis 1 : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x4x1x1xf32>
  %7 = octet.observe %6 by @all : tensor<1x4x1x1xf32>
  return %7 : tensor<1x4x1x1xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-convert --split-input-file | FileCheck %s
// Plain canonicalization keeps every pair.
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-convert --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=KEPT

// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-convert --split-input-file --remarks-filter='octet-convert' --remark-format=emitRemark \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: [Analysis] OCT110 | Category:octet-convert | Remark="weight scales raised so that the bias fits into int32", channels=1

octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
octet.observer @y #octet.fixed_qparams<ui8, scale = 0.25 : f32, zero_point = 0>
octet.observer @w #octet.fixed_qparams<si8, scale = 0.25 : f32, zero_point = 0>

// Weight 1.0, -0.375 (a tie, to even), 100.0 (out of range), NaN at scale 0.25; bias 1.0, -0.0625 (a tie) at 0.5 * 0.25.
// CHECK-NOT: octet.observer
// CHECK-LABEL: func @weights_and_biases_become_integers
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2xf32>
// CHECK-DAG: %[[W:.*]] = nn.constant dense_resource<w.i8> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-DAG: %[[B:.*]] = nn.constant dense_resource<b.i32> : tensor<2xi32> -> tensor<2x!quant.uniform<i32:f32, 1.250000e-01>>
// CHECK-DAG: %[[XQ:.*]] = octet.quantize %[[X]] : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-DAG: %[[XD:.*]] = octet.dequantize %[[XQ]]
// CHECK-DAG: %[[WD:.*]] = octet.dequantize %[[W]]
// CHECK-DAG: %[[BD:.*]] = octet.dequantize %[[B]]
// CHECK: %[[L:.*]] = nn.linear %[[XD]], %[[WD]], %[[BD]]
// CHECK: %[[LQ:.*]] = octet.quantize %[[L]] : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<u8:f32, 2.500000e-01>>
// CHECK: %[[LD:.*]] = octet.dequantize %[[LQ]]
// CHECK: return %[[LD]]
// CHECK-NOT: dense_resource<w>
// CHECK-DAG: w.i8: "0x1000000004FE7F00"
// CHECK-DAG: b.i32: "0x100000000800000000000000"

// KEPT-LABEL: func @weights_and_biases_become_integers
// KEPT-COUNT-4: octet.{{(de)?}}quantize
// KEPT: nn.linear
// KEPT: octet.quantize
// KEPT: octet.dequantize
// KEPT: return
func.func @weights_and_biases_become_integers(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense_resource<w> : tensor<2x2xf32>
  %b = nn.constant dense_resource<b> : tensor<2xf32>
  %0 = octet.observe %x by @x : tensor<1x2xf32>
  %1 = octet.observe %w by @w : tensor<2x2xf32>
  %2 = nn.linear %0, %1, %b {octet.origin = #octet.origin<"fc">} : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %3 = octet.observe %2 by @y : tensor<1x2xf32>
  return %3 : tensor<1x2xf32>
}
{-# dialect_resources: { builtin: {
  w: "0x040000000000803F0000C0BE0000C8420000C07F", b: "0x040000000000803F000080BD" } } #-}

// -----

octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
octet.observer @w #octet.fixed_qparams<si8, scale = 1.0e-12 : f32, zero_point = 0>

// A bias of 1.0 would be 2e12 steps: the weight's scale becomes 1 / (0.5 * 2^30) and one float more.
// CHECK-LABEL: func @scale_of_all_but_zero_weights_is_raised_for_the_bias
// CHECK-DAG: nn.constant {{.*}} -> tensor<1x1x!quant.uniform<i8:f32, 1.8626453{{.*}}E-9>>
// CHECK-DAG: nn.constant {{.*}} -> tensor<1x!quant.uniform<i32:f32, 9.3132{{.*}}E-10>>
func.func @scale_of_all_but_zero_weights_is_raised_for_the_bias(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<1.0e-12> : tensor<1x1xf32>
  %b = nn.constant dense<1.0> : tensor<1xf32>
  %0 = octet.observe %x by @x : tensor<1x1xf32>
  %1 = octet.observe %w by @w : tensor<1x1xf32>
  %2 = nn.linear %0, %1, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// -----

octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
octet.observer @w #octet.fixed_qparams<si8, scale = 0.25 : f32, zero_point = 0>

// No scale suits a bias that is not finite: infinity is the largest integer, NaN 0.
// CHECK-LABEL: func @biases_that_are_not_finite_raise_no_scale
// CHECK: nn.constant dense_resource<b.i32> : tensor<2xi32> -> tensor<2x!quant.uniform<i32:f32, 1.250000e-01>>
// CHECK: b.i32: "0x10000000FFFFFF7F00000000"
func.func @biases_that_are_not_finite_raise_no_scale(%x: tensor<1x1xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1xf32>
  %b = nn.constant dense_resource<b> : tensor<2xf32>
  %0 = octet.observe %x by @x : tensor<1x1xf32>
  %1 = octet.observe %w by @w : tensor<2x1xf32>
  %2 = nn.linear %0, %1, %b : (tensor<1x1xf32>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}
{-# dialect_resources: { builtin: { b: "0x040000000000807F0000C07F" } } #-}

// -----

octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
octet.observer @w #octet.fixed_qparams<si8, scale = 0.25 : f32, zero_point = 0>

// CHECK-LABEL: func @groups_stay_groups
// CHECK: %[[B:.*]] = octet.dequantize %{{.*}} : (tensor<1x!quant.uniform<i32:f32, 1.250000e-01>>)
// CHECK: octet.group @cpu::@linear_act(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %[[B]])
func.func @groups_stay_groups(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1xf32>
  %b = nn.constant dense<1.0> : tensor<1xf32>
  %0 = octet.observe %x by @x : tensor<1x1xf32>
  %1 = octet.observe %w by @w : tensor<1x1xf32>
  %2 = nn.linear %0, %1, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  %3 = nn.silu %2 : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return %3 : tensor<1x1xf32>
}

// -----

octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>

// An operator without a quantized weight keeps its float bias.
// CHECK-LABEL: func @a_float_layer_keeps_its_bias
// CHECK: nn.constant dense<1.000000e+00> : tensor<1xf32>
// CHECK: octet.quantize
// CHECK: nn.linear
func.func @a_float_layer_keeps_its_bias(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<2.0> : tensor<1x1xf32>
  %b = nn.constant dense<1.0> : tensor<1xf32>
  %0 = octet.observe %x by @x : tensor<1x1xf32>
  %2 = nn.linear %0, %w, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// -----

// Eight equal bytes are the statistics of a value that was always zero.
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<0> : tensor<8xi8>
// CHECK-LABEL: func @always_zero
// CHECK: octet.quantize {{.*}} -> tensor<2x!quant.uniform<u8:f32,
func.func @always_zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>

// A recovery pass has chosen the integers: they stay, and the bias becomes int32 at 0.5 * 0.125.
// CHECK-LABEL: func @weights_that_are_integers_stay
// CHECK-DAG: %[[W:.*]] = nn.constant dense<[{{\[}}3, -5]]> : tensor<1x2xi8> -> tensor<1x2x!quant.uniform<i8:f32, 1.250000e-01>>
// CHECK-DAG: %[[B:.*]] = nn.constant dense_resource<{{.*}}i32> : tensor<1xi32> -> tensor<1x!quant.uniform<i32:f32, 6.250000e-02>>
// CHECK-DAG: %[[WD:.*]] = octet.dequantize %[[W]]
// CHECK-DAG: %[[BD:.*]] = octet.dequantize %[[B]]
// CHECK: nn.linear %{{.*}}, %[[WD]], %[[BD]]
func.func @weights_that_are_integers_stay(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<[[3, -5]]> : tensor<1x2xi8> -> tensor<1x2x!quant.uniform<i8:f32, 0.125>>
  %b = nn.constant dense<2.0> : tensor<1xf32>
  %0 = octet.observe %x by @x : tensor<1x2xf32>
  %1 = octet.dequantize %w : (tensor<1x2x!quant.uniform<i8:f32, 0.125>>) -> tensor<1x2xf32>
  %2 = nn.linear %0, %1, %b {octet.origin = #octet.origin<"fc">} : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// -----

octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
octet.observer @w #octet.fixed_qparams<si8, scale = 0x3F0BDE9D : f32, zero_point = 0>

// Weights are multiplied by the reciprocal of the scale: 19 here; a division gives the tie 19.5, and 20.
// CHECK-LABEL: func @weights_are_multiplied_by_the_reciprocal
// CHECK: w.i8: "0x1000000013"
func.func @weights_are_multiplied_by_the_reciprocal(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense_resource<w> : tensor<1x1xf32>
  %0 = octet.observe %x by @x : tensor<1x1xf32>
  %1 = octet.observe %w by @w : tensor<1x1xf32>
  %2 = nn.linear %0, %1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000004F772A41" } } #-}

// -----

octet.observer @up #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>

// A value inside of an operator of the source, which is not observed, has the type of the result. What stays float has none.
// CHECK-LABEL: func @inner_values_have_the_type_of_the_result
// CHECK: %[[Y:.*]] = nn.sin
// CHECK-NEXT: %[[Q:.*]] = octet.quantize %[[Y]] {{.*}} -> tensor<1x4x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-NEXT: %[[D:.*]] = octet.dequantize %[[Q]]
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[D]]
// CHECK-NEXT: octet.quantize %[[S]] {{.*}} -> tensor<1x3x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK: %[[Z:.*]] = nn.sin
// CHECK-NEXT: %[[R:.*]] = nn.slice %[[Z]]
// CHECK-NEXT: octet.quantize %[[R]]
// KEPT-LABEL: func @inner_values_have_the_type_of_the_result
func.func @inner_values_have_the_type_of_the_result(%x: tensor<1x4xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %0 = nn.sin %x {octet.origin = #octet.origin<"up">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = nn.slice %0 starts [0, 1] sizes [1, 3] steps [1, 1] {octet.decision = #octet.decision<verdict = int8>, octet.origin = #octet.origin<"up">} : (tensor<1x4xf32>) -> tensor<1x3xf32>
  %2 = octet.observe %1 by @up : tensor<1x3xf32>
  %3 = nn.sin %x {octet.origin = #octet.origin<"other">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = nn.slice %3 starts [0, 1] sizes [1, 3] steps [1, 1] {octet.origin = #octet.origin<"other">} : (tensor<1x4xf32>) -> tensor<1x3xf32>
  %5 = octet.observe %4 by @up : tensor<1x3xf32>
  return %2, %5 : tensor<1x3xf32>, tensor<1x3xf32>
}

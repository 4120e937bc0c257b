// Weights that no constant holds are quantized at run time; the scale of those with known values follows from these.
// RUN: split-file %s %t
// RUN: octet-opt %t/known.mlir --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-prepare,octet-convert)' | FileCheck %s
// RUN: not octet-opt %t/unknown.mlir --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-prepare,octet-convert)' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN

// 1 / 127.5 and 2 / 127.5.
// CHECK: %[[L:.*]] = "my.load"
// CHECK: %[[Q:.*]] = octet.quantize %[[L]] : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.0078431
// CHECK-NEXT: %[[D:.*]] = octet.dequantize %[[Q]]
// CHECK: "my.dense"(%{{.*}}, %[[D]])
// CHECK: %[[W:.*]] = "my.weight"
// CHECK: %[[P:.*]] = octet.quantize %[[W]] : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.0156862
// CHECK-NEXT: %[[E:.*]] = octet.dequantize %[[P]]
// CHECK: "my.dense"(%{{.*}}, %[[E]])
// UNKNOWN: error: 'octet.observer' op has seen nothing; calibrate before octet-convert

//--- known.mlir
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "my.load"() {from = @global} : () -> tensor<2x2xf32>
  %0 = "my.dense"(%x, %a) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  %b = "my.weight"() {value = dense<2.0> : tensor<2x2xf32>, octet.weight} : () -> tensor<2x2xf32>
  %1 = "my.dense"(%0, %b) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
"my.global"() {sym_name = "global", initial = dense<[[1.0, -0.5], [0.25, 0.0]]> : tensor<2x2xf32>, octet.weight} : () -> ()
octet.qconfig_mapping @fixed {
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>,
    weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}
//--- unknown.mlir
func.func @main(%x: tensor<2xf32>, %w: tensor<2x2xf32> {octet.weight}) -> tensor<2xf32> {
  %0 = "my.dense"(%x, %w) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
octet.qconfig_mapping @fixed {
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>,
    weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}

// The reference model in upstream's operators, readable without Octet.
// RUN: octet-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(octet-to-quant)' \
// RUN:   | mlir-opt --allow-unregistered-dialect | FileCheck %s --implicit-check-not='octet.'
// REQUIRES: mlir-opt

// CHECK-LABEL: func @reference
// CHECK-SAME: %[[X:.*]]: tensor<2x?xf32>
// CHECK: %[[Q:.*]] = quant.qcast %[[X]] : tensor<2x?xf32> to tensor<2x?x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NEXT: %[[D:.*]] = quant.dcast %[[Q]] : tensor<2x?x!quant.uniform<u8:f32, 5.000000e-01>> to tensor<2x?xf32>
// CHECK: %[[W:.*]] = quant.scast
// CHECK: %[[V:.*]] = quant.dcast %[[W]]
// CHECK: %[[R:.*]] = "my.dense"(%[[D]], %[[V]]) {my.kept}
// CHECK-NEXT: return %[[R]]
octet.backend @mine {
  octet.dtypes @d input = <ui8>
  octet.pattern @dense dtypes = [@d] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["my.dense"](%x, %w)
    octet.yield %y : none
  }
}
octet.qconfig_mapping @mapping {}
func.func @reference(%x: tensor<2x?xf32>) -> tensor<2x2xf32> {
  %q = octet.quantize %x : (tensor<2x?xf32>) -> tensor<2x?x!quant.uniform<u8:f32, 0.5>>
  %d = octet.dequantize %q : (tensor<2x?x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x?xf32>
  %i = arith.constant dense<1> : tensor<2x2xi8>
  %s = quant.scast %i : tensor<2x2xi8> to tensor<2x2x!quant.uniform<i8:f32:0, {0.25, 0.5}>>
  %w = octet.dequantize %s : (tensor<2x2x!quant.uniform<i8:f32:0, {0.25, 0.5}>>) -> tensor<2x2xf32>
  %0 = octet.group @mine::@dense(%a = %d, %b = %w) : (tensor<2x?xf32>, tensor<2x2xf32>) -> tensor<2x2xf32> {
    %1 = "my.dense"(%a, %b) {my.kept, octet.origin = #octet.origin<"fc">} : (tensor<2x?xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    octet.yield %1 : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}

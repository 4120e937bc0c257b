// The reference model of a program with branches, a loop and several blocks.
// RUN: octet-opt %s --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-fuse,octet-prepare,octet-convert)' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[Q:.*]] = octet.quantize %arg0
// CHECK-NEXT: %[[X:.*]] = octet.dequantize %[[Q]]
// CHECK: %[[IF:.*]] = scf.if
// CHECK-NEXT: "my.relu"(%[[X]])
// CHECK-NEXT: octet.quantize
// CHECK-NEXT: %[[THEN:.*]] = octet.dequantize
// CHECK-NEXT: scf.yield %[[THEN]]
// CHECK: else
// CHECK-NEXT: octet.group @mine::@sized(%{{.*}} = %[[X]])
// CHECK: %[[FOR:.*]] = scf.for {{.*}} iter_args(%[[Y:.*]] = %[[IF]])
// CHECK: octet.quantize %[[Y]]
// CHECK: "my.dense"
// CHECK: octet.quantize
// CHECK: %[[R:.*]] = octet.quantize %[[FOR]]
// CHECK: cf.cond_br {{.*}}^bb1(%[[FOR]] : tensor<4xf32>)
// CHECK: ^bb1(%[[Z:.*]]: tensor<4xf32>):
// CHECK: octet.quantize %[[Z]]
// CHECK-NOT: octet.observe
func.func @main(%x: tensor<4xf32>, %c: i1, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.if %c -> tensor<4xf32> {
    %1 = "my.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    %1 = "my.resize"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "my.relu"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  %3 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %0) -> tensor<4xf32> {
    %w = arith.constant dense<1.0> : tensor<4x4xf32>
    %4 = "my.dense"(%y, %w) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
    scf.yield %4 : tensor<4xf32>
  }
  cf.cond_br %c, ^a(%3 : tensor<4xf32>), ^b
^a(%z: tensor<4xf32>):
  %5 = "my.relu"(%z) : (tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
^b:
  %6 = "my.relu"(%3) : (tensor<4xf32>) -> tensor<4xf32>
  return %6 : tensor<4xf32>
}
octet.qconfig_mapping @fixed {
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>, weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}

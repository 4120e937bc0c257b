// Operands that are left alone, several results, and what regions read from outside.
// RUN: octet-opt %s --allow-unregistered-dialect --split-input-file \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-fuse)' | FileCheck %s

#map = affine_map<(i, j) -> (i, j)>

// The constant that the region reads becomes a part of the group, destinations are operands.
// CHECK-LABEL: func @a_region_reads_a_constant
// CHECK: octet.group @mine::@matmul_max(%[[X:.*]] = %arg0, %{{.*}} = %{{.*}}, %[[TO:.*]] = %arg1, %[[END:.*]] = %arg2)
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT: %[[C:.*]] = linalg.matmul ins(%[[X]], {{.*}} outs(%[[TO]]
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[C]] {{.*}} outs(%[[END]]
// CHECK: arith.maximumf %{{.*}}, %[[ZERO]]
func.func @a_region_reads_a_constant(%x: tensor<2x4xf32>, %to: tensor<2x8xf32>, %end: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<1.0> : tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<2x4xf32>, tensor<4x8xf32>) outs(%to : tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%0 : tensor<2x8xf32>) outs(%end : tensor<2x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

#map = affine_map<(i, j) -> (i, j)>

// Any other value becomes an operand.
// CHECK-LABEL: func @a_region_reads_a_value
// CHECK: octet.group @mine::@matmul_max({{.*}}, %[[LOW:.*]] = %arg1)
// CHECK: arith.maximumf %{{.*}}, %[[LOW]]
// CHECK-LABEL: func @another_body
// CHECK-NOT: octet.group
func.func @a_region_reads_a_value(%x: tensor<2x4xf32>, %low: f32) -> tensor<2x8xf32> {
  %w = arith.constant dense<1.0> : tensor<4x8xf32>
  %to = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<2x4xf32>, tensor<4x8xf32>) outs(%to : tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%0 : tensor<2x8xf32>) outs(%to : tensor<2x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %m = arith.maximumf %a, %low : f32
    linalg.yield %m : f32
  } -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
func.func @another_body(%x: tensor<2x4xf32>, %low: f32) -> tensor<2x8xf32> {
  %w = arith.constant dense<1.0> : tensor<4x8xf32>
  %to = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<2x4xf32>, tensor<4x8xf32>) outs(%to : tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%0 : tensor<2x8xf32>) outs(%to : tensor<2x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %m = arith.minimumf %a, %low : f32
    linalg.yield %m : f32
  } -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

// A variadic leaf that is left alone matches any number of operands; constants become a part of the group.
// CHECK-LABEL: func @any_number_of_operands
// CHECK: octet.group @mine::@sized(%{{.*}} = %arg0) : (tensor<4xf32>)
// CHECK-NEXT: "my.resize"
// CHECK: octet.group @mine::@sized(%{{.*}} = %arg0, %[[N:.*]] = %arg1) : (tensor<4xf32>, index)
// CHECK-NEXT: %[[C:.*]] = arith.constant 2 : index
// CHECK-NEXT: "my.resize"(%{{.*}}, %[[N]], %[[C]])
func.func @any_number_of_operands(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "my.resize"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "my.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %c = arith.constant 2 : index
  %2 = "my.resize"(%x, %n, %c) : (tensor<4xf32>, index, index) -> tensor<4xf32>
  %3 = "my.relu"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// An inner operator has as many results as its match, and the one that the pattern reads.
// CHECK-LABEL: func @results_of_an_inner_operator
// CHECK: octet.group @mine::@largest
// CHECK-NEXT: "my.max_and_index"
// CHECK-NEXT: "my.relu"
// CHECK-NOT: octet.group
func.func @results_of_an_inner_operator(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi64>) {
  %0:2 = "my.max_and_index"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  %1 = "my.relu"(%0#0) : (tensor<4xf32>) -> tensor<4xf32>
  %2:2 = "my.max_and_index"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  %3 = "my.relu"(%2#0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3, %2#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>
}

// -----

// A group has all results of its root.
// CHECK-LABEL: func @results_of_the_root
// CHECK: %[[G:.*]]:2 = octet.group @mine::@halves
// CHECK: %[[H:.*]]:2 = "my.halves"
// CHECK-NEXT: octet.yield %[[H]]#0, %[[H]]#1
// CHECK: return %[[G]]#0, %[[G]]#1
func.func @results_of_the_root(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "my.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = "my.halves"(%0) : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %1#0, %1#1 : tensor<2xf32>, tensor<2xf32>
}

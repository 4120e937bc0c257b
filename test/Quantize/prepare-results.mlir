// Operators with several results; weights that are no constants; programs with blocks and regions.
// RUN: octet-opt %s --allow-unregistered-dialect --split-input-file \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-fuse,octet-prepare)' | FileCheck %s

// The parts of a split share the observer of the whole; indices have none.
// CHECK: octet.observer @arg0 #octet.min_max
// CHECK-NOT: octet.observer @
// CHECK-LABEL: func @shared_by_all_results
// CHECK: %[[X:.*]] = octet.observe %arg0 by @arg0
// CHECK: %[[S:.*]]:3 = "my.split"(%[[X]])
// CHECK-DAG: %[[P:.*]] = octet.observe %[[S]]#0 by @arg0
// CHECK-DAG: %[[Q:.*]] = octet.observe %[[S]]#1 by @arg0
// CHECK: return %[[P]], %[[Q]], %[[S]]#2
func.func @shared_by_all_results(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi64>) {
  %0:3 = "my.split"(%x) : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi64>)
  return %0#0, %0#1, %0#2 : tensor<2xf32>, tensor<2xf32>, tensor<2xi64>
}

// -----

// Otherwise each result has an observer of its own.
// CHECK-LABEL: func @one_for_each_result
// CHECK: %[[S:.*]]:2 = "my.cell"
// CHECK-DAG: octet.observe %[[S]]#0 by @[[A:.*]] :
// CHECK-DAG: octet.observe %[[S]]#1 by @{{.*}} :
func.func @one_for_each_result(%x: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = "my.cell"(%x, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A mark makes weights of an argument, of what an operator computes, and of a global that it loads.
// CHECK-DAG: octet.observer @arg1 #octet.min_max<dtype = si8
// CHECK-DAG: octet.observer @weight #octet.min_max<dtype = si8
// CHECK-DAG: octet.observer @load #octet.min_max<dtype = si8
// CHECK-LABEL: func @marked_weights
// CHECK: %[[A:.*]] = octet.observe %arg1 by @arg1
// CHECK: "my.dense"(%{{.*}}, %[[A]])
// CHECK: %[[B:.*]] = octet.observe %{{.*}} by @weight
// CHECK: "my.dense"(%{{.*}}, %[[B]])
// CHECK: %[[C:.*]] = octet.observe %{{.*}} by @load
// CHECK: "my.dense"(%{{.*}}, %[[C]])
func.func @marked_weights(%x: tensor<2xf32>, %a: tensor<2x2xf32> {octet.weight}) -> tensor<2xf32> {
  %0 = "my.dense"(%x, %a) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  %b = "my.weight"() {octet.weight} : () -> tensor<2x2xf32>
  %1 = "my.dense"(%0, %b) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  %c = "my.load"() {from = @global} : () -> tensor<2x2xf32>
  %2 = "my.dense"(%1, %c) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
"my.global"() {sym_name = "global", octet.weight} : () -> ()

// -----

// Both branches of control flow are parts of the network, and so is what they read from outside.
// CHECK-LABEL: func @branches_of_control_flow
// CHECK: %[[X:.*]] = octet.observe %arg0
// CHECK: scf.if
// CHECK-NEXT: %[[A:.*]] = "my.relu"(%[[X]])
// CHECK-NEXT: %[[B:.*]] = octet.observe %[[A]]
// CHECK-NEXT: scf.yield %[[B]]
// CHECK: else
// CHECK: octet.group @mine::@sized(%{{.*}} = %[[X]]
// CHECK: octet.observe
func.func @branches_of_control_flow(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = scf.if %c -> tensor<4xf32> {
    %1 = "my.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    %1 = "my.resize"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "my.relu"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A value that another block reads has one observer.
// CHECK-COUNT-2: octet.observer @
// CHECK-NOT: octet.observer @
// CHECK-LABEL: func @blocks
// CHECK: %[[A:.*]] = "my.relu"
// CHECK-NEXT: %[[B:.*]] = octet.observe %[[A]]
// CHECK: ^bb1:
// CHECK-NEXT: "my.split"(%[[B]])
func.func @blocks(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = "my.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^next
^next:
  %1:2 = "my.split"(%0) : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %1#0 : tensor<2xf32>
}

// -----

// Sizes may be known at run time only.
// CHECK-LABEL: func @sizes_at_run_time
// CHECK: octet.observe %{{.*}} : tensor<?x4xf32>
func.func @sizes_at_run_time(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = "my.relu"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

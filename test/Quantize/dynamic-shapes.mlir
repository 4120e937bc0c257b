// Sizes that are known at run time: one scale for the tensor needs none, one for each row does.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --allow-unregistered-dialect --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir'
// RUN: %{attach} --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: %{attach} --octet-prepare --octet-convert | FileCheck %s

// EXPLAIN: all my.dense int8 to float OCT218
// EXPLAIN: rows my.dense float OCT216 the activation observer has one scale per row, and the rows are known at run time only
// EXPLAIN-NEXT: -> omit per_row in the activation observer

// CHECK: octet.choose_qparams %{{.*}} range [0, 255] : (tensor<?x4xf32>) -> (tensor<f32>, tensor<i32>)
// CHECK: octet.dequantize_dynamic %{{.*}} -> tensor<?x4xf32>
// CHECK-NOT: octet.choose_qparams

//--- backend.mlir
octet.backend @b {
  octet.dtypes @dynamic dynamic input = <ui8> weight = <si8>
  octet.pattern @dense dtypes = [@dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["my.dense"](%x, %w)
    octet.yield %y : none
  }
}

//--- mapping.mlir
#weight = #octet.min_max<dtype = si8, scheme = symmetric>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #octet.placeholder<dtype = ui8, dynamic = true>, weight = #weight>
  octet.module_name "rows" #octet.qconfig<activation = #octet.placeholder<dtype = ui8, dynamic = true, per_row = true>, weight = #weight>
}

//--- network.mlir
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = arith.constant dense<1.0> : tensor<4x4xf32>
  %0 = "my.dense"(%x, %w) {octet.origin = #octet.origin<"all">} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %1 = "my.dense"(%0, %w) {octet.origin = #octet.origin<"rows">} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

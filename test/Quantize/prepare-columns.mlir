// What observes values whose columns may be split is text of the mapping; it does not depend on the number of rows.
// RUN: split-file %s %t
// RUN: octet-opt %t/network.mlir --octet-attach-policy --octet-prepare | FileCheck %t/network.mlir
// RUN: sed 's/2x4xf32/1x4xf32/g' %t/network.mlir | octet-opt --octet-attach-policy --octet-prepare | FileCheck %t/network.mlir
// RUN: sed 's/^func.func/module attributes {octet.bucket = 0.0} {&/; $s/$/}/' %t/network.mlir | octet-opt --octet-attach-policy --octet-prepare | FileCheck %t/network.mlir
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/mapping.mlir --octet-prepare | FileCheck %t/network.mlir --check-prefix=MINE

//--- mapping.mlir
// What is asked for without a column_activation stays as it is.
#weights = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>
octet.qconfig_mapping @mine {
  octet.global #octet.qconfig<activation = #octet.mean_squared_error<dtype = ui8>, weight = #weights, column_activation = #octet.percentile<dtype = ui8>>
  octet.module_name "relu" #octet.qconfig<activation = #octet.mean_squared_error<dtype = ui8>, weight = #weights>
  octet.module_name "last" #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #weights>
}

//--- network.mlir
// `first` reads the input in two shapes of the same columns. `relu` computes what only `second` reads, `second` what another
// operator reads, too.
// CHECK-DAG: octet.observer @x #octet.column_min_max<dtype = ui8,
// CHECK-DAG: octet.observer @relu #octet.column_min_max<dtype = ui8,
// CHECK-DAG: octet.observer @second #octet.mean_squared_error<dtype = ui8,
// CHECK-DAG: octet.observer @z #octet.column_min_max<dtype = ui8,

// MINE-DAG: octet.observer @x #octet.percentile<dtype = ui8>
// MINE-DAG: octet.observer @relu #octet.mean_squared_error<dtype = ui8>
// MINE-DAG: octet.observer @second #octet.mean_squared_error<dtype = ui8>
// MINE-DAG: octet.observer @z #octet.min_max<dtype = ui8>
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}, %z: tensor<2x4xf32> {nn.name = "z"}) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<4x4xf32>
  %v = nn.constant dense<2.0> : tensor<4x4xf32>
  %r = nn.reshape %x {octet.origin = #octet.origin<"rows">} : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %a = nn.linear %r, %w {octet.origin = #octet.origin<"first">} : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32>
  %b = nn.reshape %a {octet.origin = #octet.origin<"back">} : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
  %c = nn.relu %b {octet.origin = #octet.origin<"relu">} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %d = nn.linear %c, %w {octet.origin = #octet.origin<"second">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %e = nn.linear %d, %w {octet.origin = #octet.origin<"third">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %f = nn.relu %d {octet.origin = #octet.origin<"other">} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = nn.linear %f, %v {octet.origin = #octet.origin<"fourth">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %g = nn.linear %z, %w {octet.origin = #octet.origin<"last">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %e, %h, %g : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

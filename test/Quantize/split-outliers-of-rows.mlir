// RUN: octet-opt %s --octet-attach-policy --octet-prepare | sed 's/@x #octet.column_min_max<dtype = ui8[^>]*>/& statistics dense<"0x000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF000080BF0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F000080410004000000000000"> : tensor<136xi8>/' | %python %S/Inputs/add-powers.py > %t.mlir
// RUN: octet-opt %t.mlir --octet-split-outliers | FileCheck %s
// RUN: octet-opt %t.mlir --octet-split-outliers=cost=0.2 | FileCheck %s --check-prefix=MORE

// The layer with the wide column has few weights, but 64 rows: as many further columns as columns would be a notable part of the
// network's multiply-adds.
// CHECK: nn.linear %{{.*}} : (tensor<64x20xf32>, tensor<2x20xf32>)
// MORE: nn.linear %{{.*}} : (tensor<64x32xf32>, tensor<2x32xf32>)
func.func @main(%x: tensor<64x16xf32> {nn.name = "x"}, %z: tensor<1x128xf32> {nn.name = "z"}) -> (tensor<64x2xf32>, tensor<1x128xf32>) {
  %w = nn.constant dense<0.5> : tensor<2x16xf32>
  %v = nn.constant dense<0.5> : tensor<128x128xf32>
  %e = nn.exp %x {octet.origin = #octet.origin<"x">} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %a = nn.linear %e, %w {octet.origin = #octet.origin<"small">} : (tensor<64x16xf32>, tensor<2x16xf32>) -> tensor<64x2xf32>
  %b = nn.linear %z, %v {octet.origin = #octet.origin<"large">} : (tensor<1x128xf32>, tensor<128x128xf32>) -> tensor<1x128xf32>
  return %a, %b : tensor<64x2xf32>, tensor<1x128xf32>
}

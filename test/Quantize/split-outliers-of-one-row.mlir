// RUN: octet-opt %s --octet-attach-policy --octet-prepare | sed 's/@x #octet.column_min_max<dtype = ui8[^>]*>/& statistics dense<"0x000080BF000080BF000080BF000080BF0000803F0000803F0000803F000080400004000000000000"> : tensor<40xi8>/' | %python %S/Inputs/add-powers.py > %t.mlir
// RUN: octet-opt %t.mlir --octet-split-outliers | FileCheck %s

// RUN: octet-opt %t.mlir --octet-split-outliers=numbers=4096 | FileCheck %s --check-prefix=KNOWN

// A layer on a single row is as slow as its weights are read, which further columns would cost in full. 1024 rows of four numbers
// from -1 to 4 leave room: √(ln 100000 / ln 4096) as much.
// CHECK: octet.observer @x #octet.min_max<dtype = ui8{{.*}}> statistics dense<[-1.17649341, 4.70597363]> : tensor<2xf32>
// KNOWN: octet.observer @x #octet.column_min_max<dtype = ui8{{.*}}> statistics
// CHECK-NOT: nn.gather
// CHECK: nn.linear {{.*}} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x4xf32>
  %y = nn.linear %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare | sed 's/@gelu #octet.column_min_max<dtype = ui8[^>]*>/& statistics dense<"0x000080BF000080BF000080BF000080BF0000803F0000803F0000803F000080400004000000000000"> : tensor<40xi8>/' | %python %S/Inputs/add-powers.py > %t.mlir
// RUN: octet-opt %t.mlir --octet-split-outliers | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare | sed 's/@gelu #octet.column_min_max<dtype = ui8[^>]*>/& statistics dense<"0x000080BF000080BF000080BF000080BF0000803F0000803F0000803F000000400004000000000000"> : tensor<40xi8>/' | %python %S/Inputs/add-powers.py | octet-opt --octet-split-outliers | FileCheck %s --check-prefix=SAME

// Where the range stays two thirds of what it was, nothing is split.
// SAME-LABEL: func.func @main
// SAME-NOT: = nn.sub

// The layer that computes the value computes further columns of it with copies of its weights' rows.
// CHECK-LABEL: func.func @main
// CHECK: %[[WEIGHTS:.*]] = octet.observe %{{.*}} : tensor<8x4xf32>
// CHECK: %[[BIAS:.*]] = nn.constant {{.*}} : tensor<8xf32>
// CHECK-NOT: nn.gather
// CHECK: %[[H:.*]] = octet.group @cpu::@linear_act(%{{.*}} = %{{.*}}, %{{.*}} = %[[WEIGHTS]], %{{.*}} = %[[BIAS]]) {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT: nn.linear {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT: nn.gelu {{.*}} -> tensor<2x8xf32>
// CHECK: nn.sub %[[H]]
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}) -> tensor<2x2xf32> {
  %v = nn.constant dense<1.0> : tensor<4x4xf32>
  %b = nn.constant dense<1.0> : tensor<4xf32>
  %w = nn.constant dense<1.0> : tensor<2x4xf32>
  %h = nn.linear %x, %v, %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %t = nn.gelu %h none : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = nn.linear %t, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

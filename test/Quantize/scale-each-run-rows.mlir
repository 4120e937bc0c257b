// RUN: %python -c "import numpy as np; x = np.full((4, 16, 4), .1, np.float32); x[:, 0] = 1; np.savez('%t.npz', x=x)"
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate -o %t.mlir
// RUN: octet-opt %t.mlir --octet-scale-each-run=decibels=60 | FileCheck %s
// RUN: octet-opt %t.mlir --octet-scale-each-run=decibels=60 --octet-convert | FileCheck %s --check-prefix=CONVERT
// RUN: octet-opt %t.mlir --octet-scale-each-run | FileCheck %s --check-prefix=COLUMNS
// RUN: octet-opt %t.mlir --octet-scale-each-run='decibels=60 row-decibels=20' | FileCheck %s --check-prefix=VALUES
// RUN: octet-opt %t.mlir --octet-scale-each-run=row-decibels=20 | FileCheck %s --check-prefix=SAME
// RUN: octet-opt %t.mlir --octet-scale-each-run='row-decibels=20 columns=0.0' | FileCheck %s --check-prefix=COLUMNS
// RUN: octet-opt %t.mlir --octet-scale-each-run='row-decibels=20 gain=0.1' | FileCheck %s --check-prefix=COLUMNS

// One of sixteen rows is ten times as large as the others, and a hundred times where two layers are multiplied: there, one scale leaves the others
// a few steps. A column that is four times as wide counts for nothing, since it would be split. The products, which nothing else reads as
// integers, compute floats, and so do the layers in front of them. What only moves a value moves floats.
// CHECK-DAG: octet.observer @gated.rows #octet.placeholder<dtype = ui8, dynamic = true, per_row = true>
// CHECK-DAG: octet.observer @square.rows #octet.placeholder<dtype = ui8, dynamic = true, per_row = true>
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = octet.observe %arg0 by @x
// CHECK: %[[F:.*]] = nn.linear %[[X]], {{.*}}verdict = int8_to_float
// CHECK: %[[G:.*]] = nn.linear %[[X]], {{.*}}verdict = int8_to_float
// CHECK: %[[M:.*]] = nn.mul %[[F]], %[[G]] {{.*}}verdict = float, {{.*}}OCT102
// CHECK: %[[ROWS:.*]] = octet.observe %[[M]] by @gated.rows
// CHECK: nn.linear %[[ROWS]], {{.*}}verdict = int8_to_float, {{.*}}OCT218{{.*}}one scale would be too coarse for most of its input
// CHECK: %[[S:.*]] = nn.mul %[[G]], %[[G]] {{.*}}verdict = float, {{.*}}OCT102
// CHECK: %[[T:.*]] = nn.transpose %[[S]] {{.*}}verdict = float, {{.*}}OCT102
// CHECK: %[[MOVED:.*]] = octet.observe %[[T]] by @square.rows
// CHECK: nn.linear %[[MOVED]], {{.*}}verdict = int8_to_float, {{.*}}OCT218
// CONVERT-COUNT-2: octet.choose_qparams
// COLUMNS-NOT: @square.rows
// COLUMNS: @gated.rows
// COLUMNS-NOT: @square.rows
// VALUES-NOT: @gated.rows
// VALUES: @square.rows
// VALUES-NOT: @gated.rows
// SAME-NOT: placeholder
!t = tensor<16x4xf32>
!w = tensor<4x4xf32>
func.func @main(%x: !t {nn.name = "x"}) -> (!t, tensor<4x4xf32>) {
  %w = nn.constant dense<[[0.5, 0.5, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]> : !w
  %v = nn.constant dense<0.5> : !w
  %u = nn.constant dense<0.25> : tensor<4x16xf32>
  %f = nn.linear %x, %w {octet.origin = #octet.origin<"f">} : (!t, !w) -> !t
  %g = nn.linear %x, %v {octet.origin = #octet.origin<"g">} : (!t, !w) -> !t
  %m = nn.mul %f, %g {octet.origin = #octet.origin<"gated">} : (!t, !t) -> !t
  %y = nn.linear %m, %v {octet.origin = #octet.origin<"y">} : (!t, !w) -> !t
  %s = nn.mul %g, %g {octet.origin = #octet.origin<"square">} : (!t, !t) -> !t
  %t = nn.transpose %s permutation [1, 0] {octet.origin = #octet.origin<"moved">} : (!t) -> tensor<4x16xf32>
  %z = nn.linear %t, %u {octet.origin = #octet.origin<"z">} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return %y, %z : !t, tensor<4x4xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-prepare | sed 's/@x #octet.column_min_max<dtype = ui8[^>]*>/& statistics dense<"0x000080BF000080BF000080BF000080BF0000803F0000803F0000803F000080400004000000000000"> : tensor<40xi8>/' | %python %S/Inputs/add-powers.py > %t.mlir
// RUN: octet-opt %t.mlir --octet-split-outliers | FileCheck %s
// RUN: octet-opt %t.mlir --octet-split-outliers --octet-convert | FileCheck %s --check-prefix=CONVERT
// RUN: octet-opt %t.mlir --octet-split-outliers=gain=0.3 | FileCheck %s --check-prefix=SAME
// RUN: octet-opt %t.mlir --octet-split-outliers="columns=0 cost=0" | FileCheck %s --check-prefix=SAME
// RUN: octet-opt %t.mlir --octet-split-outliers="gain=0.3 columns=0.25 cost=0 kept=0.3" --octet-convert | FileCheck %s --check-prefix=CLIP
// RUN: octet-opt %t.mlir --octet-split-outliers="gain=0.3 columns=0.25 cost=0" --octet-convert | FileCheck %s --check-prefix=KEPT
// RUN: octet-opt %t.mlir --octet-split-outliers="gain=0.3 columns=0.25 cost=0 rows=1025" | FileCheck %s --check-prefix=SAME
// RUN: sed 's/^module {/module attributes {octet.bucket = 0.0} {/' %t.mlir | octet-opt --octet-split-outliers | FileCheck %s

// Calibration saw the last column up to 4 and the others up to 1: three further columns, and a fourth of zeros. Both readers get them, the one behind
// the reshape, too, which moves floats now; nn.exp reads what the network was given.
// CHECK: octet.observer @x.split #octet.min_max<dtype = ui8{{.*}}> statistics dense<{{.*}}> : tensor<2xf32>
// CHECK-NOT: column_min_max
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>
// CHECK: %[[COLUMNS:.*]] = nn.constant dense_resource<split.columns> : tensor<4xi64>
// CHECK: %[[TAKEN:.*]] = nn.gather %[[X]], %[[COLUMNS]] axis 1 {{.*}} -> tensor<2x4xf32>
// CHECK: %[[WIDE:.*]] = nn.concat %[[X]], %[[TAKEN]] axis 1 {{.*}} -> tensor<2x8xf32>
// CHECK: %[[SHIFT:.*]] = nn.constant dense_resource<split.shift>
// CHECK: %[[SHIFTED:.*]] = nn.sub %[[WIDE]], %[[SHIFT]]
// CHECK: %[[LOW:.*]] = nn.constant dense_resource<split.low>
// CHECK: %[[ABOVE:.*]] = nn.max %[[SHIFTED]], %[[LOW]]
// CHECK: %[[HIGH:.*]] = nn.constant dense_resource<split.high>
// CHECK: %[[CLIPPED:.*]] = nn.min %[[ABOVE]], %[[HIGH]]
// CHECK: %[[PARTS:.*]] = octet.observe %[[CLIPPED]] by @x.split
// CHECK: %[[WEIGHTS:.*]] = octet.observe %{{.*}} by @constant : tensor<2x8xf32>
// CHECK: nn.reshape %[[X]] {{.*}}verdict = float
// CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<1x2x8xf32>, tensor<2x8xf32>) -> tensor<1x2x2xf32>
// CHECK: nn.linear %[[PARTS]], %{{.*}} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x2xf32>
// CHECK: nn.exp %[[X]]

// [-1, 1] and a little more, so that its ends are integers: from -127 to 128 times 1/127.
// CONVERT: octet.quantize {{.*}} -> tensor<2x8x!quant.uniform<u8:f32, 0.007874015{{[0-9]*}}:127>>

// One further column would do for [-1, 2]. Where it is not worth it, what is beyond is clipped, but no end moves to less than 0.8 of what was seen,
// and only if as many rows were seen.
// CLIP: octet.quantize %arg0 {{.*}} -> tensor<2x4x!quant.uniform<u8:f32, 0.011764{{[0-9]*}}:85>>
// CLIP-NOT: nn.gather
// KEPT: octet.quantize %arg0 {{.*}} -> tensor<2x4x!quant.uniform<u8:f32, 0.016470{{[0-9]*}}:61>>

// Nothing changes where the range would stay wide.
// SAME: octet.observer @x #octet.column_min_max<dtype = ui8{{.*}}> statistics
// SAME-NOT: nn.gather
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}) -> (tensor<2x2xf32>, tensor<2x4xf32>) {
  %w = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %r = nn.reshape %x {octet.origin = #octet.origin<"rows">} : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %a = nn.linear %r, %w {octet.origin = #octet.origin<"first">} : (tensor<1x2x4xf32>, tensor<2x4xf32>) -> tensor<1x2x2xf32>
  %y = nn.linear %x, %w {octet.origin = #octet.origin<"second">} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  %e = nn.exp %x {octet.origin = #octet.origin<"other">} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y, %e : tensor<2x2xf32>, tensor<2x4xf32>
}

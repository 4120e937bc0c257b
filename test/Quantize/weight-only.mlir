// Weights in fewer bits of units that compute with floats: no observers of activations, integers with real zero points, rounded halves.
// RUN: octet-opt %s --octet-attach-policy=backend=%S/Inputs/weight-only.mlir --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: octet-opt %s --octet-attach-policy=backend=%S/Inputs/weight-only.mlir --octet-fuse --octet-prepare \
// RUN:   | FileCheck %s --check-prefix=PREPARE
// RUN: octet-opt %s --octet-attach-policy=backend=%S/Inputs/weight-only.mlir --octet-fuse --octet-prepare --octet-convert \
// RUN:   | FileCheck %s

// EXPLAIN: rows {{.*}} weight only {{.*}}weight_only::rows
// EXPLAIN: small {{.*}} weight only
// EXPLAIN: wide {{.*}} float {{.*}}OCT204 the weight observer yields si16, but the backend takes ui8
// EXPLAIN: static {{.*}} float {{.*}}OCT204 the activation observer yields ui8, but the backend takes f32
// EXPLAIN-NEXT: -> observe the activation with #octet.placeholder<dtype = f32>
// EXPLAIN: half {{.*}} weight only {{.*}}weight_only::product
// EXPLAIN: brain {{.*}} weight only

// PREPARE-DAG: octet.observer @constant #octet.per_channel_min_max<dtype = ui8, scheme = affine_float_qparams>
// PREPARE-DAG: octet.observer @x #octet.placeholder<dtype = f16>
// PREPARE: func.func @main
// PREPARE-NOT: octet.observe %x by @arg

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
// CHECK-NOT: octet.observe
// Halves: the input, weights and the result are rounded.
// CHECK: %[[H:.*]] = nn.cast %[[X]] {{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK: %[[R:.*]] = nn.cast %[[H]] {{.*}} : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK: %[[Q4:.*]] = nn.constant dense_resource<{{.*}}> : tensor<2x3xi8> -> tensor<2x3xui4>
// CHECK: %[[W4:.*]] = octet.dequantize_weights %[[Q4]] scales %{{.*}} zero_points %{{.*}} : (tensor<2x3xui4>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK: %[[Q8:.*]] = nn.constant dense_resource<{{.*}}> : tensor<2x3xi8> -> tensor<2x3xui8>
// CHECK: %[[W8:.*]] = octet.dequantize_weights %[[Q8]] scales
// CHECK: %[[WB:.*]] = octet.dequantize_weights %{{.*}} : (tensor<4x3xbf16>) -> tensor<4x3xf32>
// CHECK: %[[WH:.*]] = octet.dequantize_weights %{{.*}} : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CHECK: nn.gather %[[W8]]
// CHECK: nn.gather %[[W4]]
// CHECK: %[[Y:.*]] = nn.linear %[[R]], %[[WH]]
// CHECK: nn.cast %[[Y]] {{.*}} -> tensor<2x4xf16>
// CHECK: nn.linear %[[X]], %[[WB]]
func.func @main(%x: tensor<2x3xf32> {nn.name = "x"}, %i: tensor<2xi64>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %t = nn.constant dense<[[0.0, 1.0, 2.55], [-1.5, 0.0, -0.5]]> : tensor<2x3xf32>
  %w = nn.constant dense<[[0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [0.5, 0.25, 0.125], [7.0, 6.0, 5.0]]> : tensor<4x3xf32>
  %0 = nn.gather %t, %i axis 0 {octet.origin = #octet.origin<"rows">} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %1 = nn.gather %t, %i axis 0 {octet.origin = #octet.origin<"small">} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %2 = nn.gather %t, %i axis 0 {octet.origin = #octet.origin<"wide">} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %3 = nn.gather %t, %i axis 0 {octet.origin = #octet.origin<"static">} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %4 = nn.linear %x, %w {octet.origin = #octet.origin<"half">} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %5 = nn.linear %x, %w {octet.origin = #octet.origin<"brain">} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

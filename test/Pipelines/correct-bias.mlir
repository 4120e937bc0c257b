// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-prepare --octet-calibrate="calibration-data=%t.npz" --octet-correct-bias="calibration-data=%t.npz backend=cpu" | FileCheck %s
// RUN: not octet-opt %s --octet-prepare --octet-calibrate="calibration-data=%t.npz" --octet-correct-bias="calibration-data=%t.missing" 2>&1 | FileCheck %s --check-prefix=MISSING

// An operator may have the name that a layer has while it is measured.
// RUN: octet-opt %s --octet-prepare --octet-calibrate="calibration-data=%t.npz" --octet-correct-bias="calibration-data=%t.npz backend=cpu" | sed 's/@relu/@octet.layer0/' > %t.plain
// RUN: sed 's/"relu"/"octet.layer0"/' %s > %t.named.mlir
// RUN: octet-opt %t.named.mlir --octet-prepare --octet-calibrate="calibration-data=%t.npz" --octet-correct-bias="calibration-data=%t.npz backend=cpu" | diff - %t.plain

// MISSING: error: '{{.*}}.missing': no such file or folder

// The bias that was there changes a little, the one that was not appears; names and places stay.
// CHECK-LABEL: func.func @main
// CHECK-NOT: dense_resource<b>
// CHECK: %[[B:.*]] = nn.constant dense_resource<b.corrected> : tensor<2xf32>
// CHECK: nn.conv %{{.*}}, %{{.*}}, %[[B]] {{.*}}-> tensor<1x2x4x4xf32>
// CHECK: %[[NEW:.*]] = nn.constant dense_resource<second.bias> : tensor<2xf32>
// CHECK: nn.conv %{{.*}}, %{{.*}}, %[[NEW]] {{.*}}-> tensor<1x2x2x2xf32>
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x2x2xf32> {
  %w = nn.constant dense<[[[[0.311]], [[-0.127]]], [[[0.077]], [[0.413]]]]> : tensor<2x2x1x1xf32>
  %b = nn.constant dense_resource<b> : tensor<2xf32>
  %r = nn.relu %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> loc("relu")
  %c = nn.conv %r, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("first")
  %d = nn.conv %c, %w strides [2, 2] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x2xf32> loc("second")
  return %d : tensor<1x2x2x2xf32>
}
{-#
  dialect_resources: { builtin: { b: "0x040000000000803F00000040" } }
#-}

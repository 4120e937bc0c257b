// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-compare-layers=output=- -o /dev/null | FileCheck %s --check-prefix=TABLE
// RUN: octet-opt %s --octet-use-samples="files=%t.npz threads=3" --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-compare-layers="json=true output=%t.json values=2" -o %t.mlir
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: FileCheck %s < %t.mlir
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-run-recipe --octet-compare-layers=json=false -o /dev/null | FileCheck %s --check-prefix=TABLE
// RUN: not octet-opt %s --octet-attach-policy --octet-prepare --octet-compare-layers 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-prepare --octet-calibrate --octet-compare-layers=output=%t.missing/file 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: echo 'func.func @other() { return }' | not octet-opt --octet-attach-policy --octet-compare-layers 2>&1 | FileCheck %s --check-prefix=NETWORK

// NOTHING: error: the layers are not compared: octet-compare-layers needs samples, not only statistics of them; give some with --calibration-data, too
// FILE: error: cannot open output file '{{.*}}.missing/file'
// NETWORK: error: expected a network, a function 'main'

// Groups are one layer; what only moves values, and what stays float, has no row.
// TABLE: layer operator output local alone weights cosine
// TABLE-NEXT: first nn.conv+nn.relu {{.*}} dB {{.*}} dB {{.*}} dB {{.*}} dB {{[01]}}.
// TABLE-NEXT: second nn.conv {{.*}} dB {{.*}} dB {{.*}} dB {{.*}} dB {{[01]}}.
// TABLE-NEXT: sum nn.add {{[-0-9.]+}} dB {{[-0-9.]+}} dB {{[-0-9.]+}} dB {{[01]}}.
// TABLE-NEXT: third nn.conv {{.*}} dB {{.*}} dB {{.*}} dB {{.*}} dB {{[01]}}.
// TABLE-NOT: nn.

// JSON: "alone": {
// JSON-NEXT: "cosine":
// JSON-NEXT: "normalized_l2":
// JSON-NEXT: "sqnr":
// JSON: "local": {
// JSON: "name": "first"
// JSON-NEXT: "operator": "nn.conv+nn.relu"
// JSON-NEXT: "output": {
// JSON: "weights": {
// JSON: "name": "sum"
// JSON-NOT: "weights"
// JSON: "name": "third"

// The program is as it was: no twins, no taps.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: nn.conv
// CHECK-NOT: nn.conv
// CHECK: return
// CHECK-NOT: octet.tap
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x16xf32> {
  %w = nn.constant dense<[[[[0.311]], [[-0.126]]], [[[0.0763]], [[0.413]]]]> : tensor<2x2x1x1xf32>
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"first">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = nn.relu %c {octet.origin = #octet.origin<"relu">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %d = nn.conv %r, %w {octet.origin = #octet.origin<"second">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %p = nn.max_pool %d kernel [1, 1] {octet.origin = #octet.origin<"pool">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %s = nn.add %p, %r {octet.origin = #octet.origin<"sum">} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %m = nn.max_pool %s kernel [1, 1] {octet.origin = #octet.origin<"last">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %t = nn.conv %m, %w {octet.origin = #octet.origin<"third">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %f = nn.reshape %t {octet.origin = #octet.origin<"flat">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x16xf32>
  %e = nn.exp %f {octet.origin = #octet.origin<"exp">} : (tensor<1x2x16xf32>) -> tensor<1x2x16xf32>
  return %e : tensor<1x2x16xf32>
}

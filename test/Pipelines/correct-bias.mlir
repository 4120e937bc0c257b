// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-prepare --octet-calibrate --octet-correct-bias | FileCheck %s
// RUN: octet-opt %s --octet-use-samples="files=%t.npz threads=3" --octet-attach-policy --octet-prepare --octet-calibrate --octet-correct-bias=judged=true | FileCheck %s
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-prepare --octet-calibrate --octet-correct-bias=judged=false | FileCheck %s
// RUN: not octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-prepare --octet-calibrate --octet-use-samples=files=%t.missing --octet-correct-bias 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: octet-opt %s --octet-attach-policy --octet-prepare --octet-correct-bias 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: echo 'func.func @other() { return }' | not octet-opt --octet-attach-policy --octet-correct-bias 2>&1 | FileCheck %s --check-prefix=NETWORK

// MISSING: error: '{{.*}}.missing': no such file or folder
// NOTHING: warning: the biases are not corrected: octet-correct-bias needs samples
// NETWORK: error: expected a network, a function 'main'

// The bias that was there changes a little, the one that was not appears; names and places stay.
// CHECK-LABEL: func.func @main
// CHECK-NOT: dense_resource<b>
// CHECK: %[[B:.*]] = nn.constant dense_resource<b.corrected> : tensor<2xf32>
// CHECK: nn.conv %{{.*}}, %{{.*}}, %[[B]] {{.*}}-> tensor<1x2x4x4xf32>
// CHECK: %[[NEW:.*]] = nn.constant dense_resource<second.bias> : tensor<2xf32>
// CHECK: nn.conv %{{.*}}, %{{.*}}, %[[NEW]] {{.*}}-> tensor<1x2x2x2xf32>
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x2x2xf32> {
  %w = nn.constant dense<[[[[0.311]], [[-0.126]]], [[[0.0763]], [[0.413]]]]> : tensor<2x2x1x1xf32>
  %b = nn.constant dense_resource<b> : tensor<2xf32>
  %r = nn.relu %x {octet.origin = #octet.origin<"relu">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = nn.conv %r, %w, %b {octet.origin = #octet.origin<"first">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %d = nn.conv %c, %w strides [2, 2] {octet.origin = #octet.origin<"second">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x2xf32>
  return %d : tensor<1x2x2x2xf32>
}
{-#
  dialect_resources: { builtin: { b: "0x040000000000803F00000040" } }
#-}

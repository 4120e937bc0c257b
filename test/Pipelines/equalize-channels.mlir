// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-equalize-channels | FileCheck %s
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-equalize-channels=gain=0 | FileCheck %s --check-prefix=NONE
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-equalize-channels=excess=1 | FileCheck %s --check-prefix=NONE
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate -o %t.mlir
// RUN: octet-opt %t.mlir --octet-equalize-channels | FileCheck %s --check-prefix=NONE
// RUN: sed 's/%%d, %%w/%%d, %%v/' %s | octet-opt --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-equalize-channels | FileCheck %s --check-prefix=NONE
// RUN: not octet-opt %t.mlir --octet-use-samples=files=%t.missing --octet-equalize-channels 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: echo 'func.func @other() { return }' | not octet-opt --octet-attach-policy --octet-equalize-channels 2>&1 | FileCheck %s --check-prefix=NETWORK

// MISSING: error: '{{.*}}.missing': no such file or folder
// NETWORK: error: expected a network, a function 'main'

// Nor is a layer equalized whose weights others read (NONE).
// The first layer's results differ in their ranges by 100, and the second one's weights undo it. Two read the second one's
// results, and the network's input has no operator that could take factors.
// CHECK: octet.observer @relu #octet.min_max<dtype = ui8{{.*}}> statistics
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = octet.group {{.*}}@cpu::@conv
// CHECK: %[[F:.*]] = nn.constant dense_resource<second.factors> : tensor<1x2x1x1xf32>
// CHECK: %[[M:.*]] = nn.mul %[[G]], %[[F]] {octet.decision = {{.*}}OCT122{{.*}}octet.origin = #octet.origin<"second">}
// CHECK: octet.observe %[[M]] by @relu
// CHECK-NOT: nn.mul %
// CHECK: v.equalized:

// NONE-NOT: nn.mul %
// NONE-NOT: equalized
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x4x4xf32> {
  %u = nn.constant dense<[[[[1.0]], [[0.0]]], [[[0.0]], [[0.01]]]]> : tensor<2x2x1x1xf32>
  %v = nn.constant dense_resource<v> : tensor<2x2x1x1xf32>
  %w = nn.constant dense_resource<w> : tensor<2x2x1x1xf32>
  %c = nn.conv %x, %u {octet.origin = #octet.origin<"first">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = nn.relu %c {octet.origin = #octet.origin<"relu">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %d = nn.conv %r, %v {octet.origin = #octet.origin<"second">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %a = nn.conv %d, %w {octet.origin = #octet.origin<"left">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = nn.conv %d, %w {octet.origin = #octet.origin<"right">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %m = nn.sub %a, %b {octet.origin = #octet.origin<"difference">} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %m : tensor<1x2x4x4xf32>
}
// Weights 0.01 and 1 for both outputs.
{-#
  dialect_resources: { builtin: { v: "0x040000000AD7233C0000803F0AD7233C0000803F", w: "0x040000000AD7233C0000803F0AD7233C0000803F" } }
#-}

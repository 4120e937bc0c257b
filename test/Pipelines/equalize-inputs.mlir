// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-equalize-inputs 2>&1 | FileCheck %s
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-equalize-inputs=layers=second | FileCheck %s --check-prefix=SECOND
// RUN: not octet-opt %s --octet-attach-policy --octet-equalize-inputs=layers=frist 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: octet-opt %s --octet-attach-policy --octet-equalize-inputs=layers=second 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not octet-opt %s --octet-use-samples=files=%t.missing --octet-attach-policy --octet-equalize-inputs 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: echo 'func.func @other() { return }' | not octet-opt --octet-attach-policy --octet-equalize-inputs 2>&1 | FileCheck %s --check-prefix=NETWORK

// NAME: error: octet-equalize-inputs: no layer has the name "frist"; give the name of a convolution or linear layer with constant weights
// NOTHING: warning: the inputs are not equalized: octet-equalize-inputs needs samples, not only statistics of them; give some with --calibration-data, too
// MISSING: error: '{{.*}}.missing': no such file or folder
// NETWORK: error: expected a network, a function 'main'

// A multiplication where the chain begins, and none in it; the layers with a common input are left alone.
// CHECK: warning: the input is not equalized: other operators read it, too
// CHECK-NEXT: "left"
// CHECK: warning: the input is not equalized: other operators read it, too
// CHECK-NEXT: "right"
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]] = nn.constant dense_resource<first.factors> : tensor<1x2x1x1xf32>
// CHECK: %[[X:.*]] = nn.mul %{{.*}}, %[[F]] {octet.decision = {{.*}}OCT122{{.*}}octet.origin = #octet.origin<"first">}
// CHECK: octet.group {{.*}} = %[[X]],
// CHECK-NOT: nn.mul
// CHECK: return

// One layer alone: the one in front of it takes the factors.
// SECOND-LABEL: func.func @main
// SECOND-NOT: nn.mul
// SECOND: return
// SECOND-COUNT-2: w.equalized{{(_1)?}}:
// SECOND-NOT: w.equalized
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense_resource<w> : tensor<2x2x1x1xf32>
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"first">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = nn.relu %c {octet.origin = #octet.origin<"relu">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %d = nn.conv %r, %w {octet.origin = #octet.origin<"second">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = nn.sigmoid %d {octet.origin = #octet.origin<"sigmoid">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %a = nn.conv %s, %w {octet.origin = #octet.origin<"left">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = nn.conv %s, %w {octet.origin = #octet.origin<"right">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %m = nn.sub %a, %b {octet.origin = #octet.origin<"difference">} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %m : tensor<1x2x4x4xf32>
}
{-#
  dialect_resources: { builtin: { w: "0x040000000000003F0000803F000040400000803E" } }
#-}

// RUN: %python -c "import numpy as np; np.savez('%t.npz', x=np.linspace(-1, 1, 4 * 64, dtype=np.float32).reshape(4, 1, 1, 2, 32))"
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-scale-each-run | FileCheck %s

// The observer of a concatenation sees a small operand and the result; the large one, which another layer computes with, has its own. The
// concatenation is not small in half of the runs.
// CHECK-NOT: placeholder
// CHECK-LABEL: func.func @main
// CHECK: octet.observe %{{.*}} by @small
// CHECK: octet.observe %{{.*}} by @large
// CHECK: nn.concat
// CHECK-NEXT: octet.observe %{{.*}} by @small
!t = tensor<1x1x2x32xf32>
func.func @main(%x: !t {nn.name = "x"}) -> (!t, !t) {
  %u = nn.constant dense<0.03125> : tensor<1x1x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %w = nn.constant dense<1.0> : tensor<1x2x1x1xf32>
  %a = nn.conv %x, %u {octet.origin = #octet.origin<"small">} : (!t, tensor<1x1x1x1xf32>) -> !t
  %b = nn.conv %x, %v {octet.origin = #octet.origin<"large">} : (!t, tensor<1x1x1x1xf32>) -> !t
  %j = nn.concat %a, %b axis 1 : (!t, !t) -> tensor<1x2x2x32xf32>
  %y = nn.conv %j, %w {octet.origin = #octet.origin<"y">} : (tensor<1x2x2x32xf32>, tensor<1x2x1x1xf32>) -> !t
  %z = nn.conv %b, %v {octet.origin = #octet.origin<"z">} : (!t, tensor<1x1x1x1xf32>) -> !t
  return %y, %z : !t, !t
}

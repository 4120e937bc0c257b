// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate -o %t.mlir
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate --octet-round-weights | FileCheck %s
// RUN: octet-opt %t.mlir --octet-round-weights | FileCheck %s --check-prefix=NONE
// RUN: not octet-opt %t.mlir --octet-use-samples=files=%t.missing --octet-round-weights 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: echo 'func.func @other() { return }' | not octet-opt --octet-attach-policy --octet-round-weights 2>&1 | FileCheck %s --check-prefix=NETWORK

// MISSING: error: '{{.*}}.missing': no such file or folder
// NETWORK: error: expected a network, a function 'main'
// NONE-NOT: rounded

// Columns of the samples differ little: their weights 0.4, 0.3 and 0.4 are one step together, not none. The two layers with the weights of
// both stay as they are, and so does the one that reads the network's input.
// CHECK-LABEL: func.func @main
// CHECK: nn.constant dense_resource<w.rounded> : tensor<1x4xf32>
// CHECK: nn.constant dense_resource<own.bias> : tensor<1xf32>
// CHECK: nn.linear {{.*}}octet.origin<"own">
// CHECK-NOT: rounded
// CHECK: w.rounded: "0x10000000000000000000803F000000000000FE42"
!t = tensor<1x2x4x4xf32>
!o = tensor<1x2x4x1xf32>
func.func @main(%x: !t {nn.name = "x"}) -> (!o, !o, !o, !o) {
  %w = nn.constant dense_resource<w> : tensor<1x4xf32>
  %v = nn.constant dense_resource<v> : tensor<1x4xf32>
  %u = nn.constant dense_resource<u> : tensor<1x4xf32>
  %r = nn.relu %x : (!t) -> !t
  %a = nn.linear %r, %w {octet.origin = #octet.origin<"own">} : (!t, tensor<1x4xf32>) -> !o
  %b = nn.linear %r, %v : (!t, tensor<1x4xf32>) -> !o
  %c = nn.linear %r, %v : (!t, tensor<1x4xf32>) -> !o
  %d = nn.linear %x, %u : (!t, tensor<1x4xf32>) -> !o
  return %a, %b, %c, %d : !o, !o, !o, !o
}
{-#
  dialect_resources: { builtin: {
    w: "0x04000000CDCCCC3E9A99993ECDCCCC3E0000FE42", v: "0x04000000CDCCCC3E9A99993ECDCCCC3E0000FE42", u: "0x04000000CDCCCC3E9A99993ECDCCCC3E0000FE42"
  } }
#-}

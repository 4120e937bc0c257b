// A module inside of another one is not the policy's, and has a row that says so; the passes may run on it.
// RUN: octet-opt %s --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-explain)' -o /dev/null | FileCheck %s
// RUN: octet-opt %s --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-prepare))' \
// RUN:   | FileCheck %s --check-prefix=INSIDE
// The passes on the outer module leave the inner one's observers alone.
// RUN: octet-opt %s --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-prepare),octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-convert)' \
// RUN:   | FileCheck %s --check-prefix=INSIDE

// CHECK: my.relu{{.*}}float{{.*}}OCT118 it stands in a module inside of the one that has the policy
// CHECK-NEXT: -> run the passes on the inner module
// INSIDE: module
// INSIDE: module
// INSIDE: octet.observer
// INSIDE: octet.observe
module {
  module {
    func.func @inside(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "my.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

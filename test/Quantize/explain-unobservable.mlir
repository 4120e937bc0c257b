// What cannot be observed stays float, and explain says it as prepare does.
// RUN: octet-opt %s --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-fuse,octet-explain)' -o /dev/null | FileCheck %s
// RUN: octet-opt %s --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-fuse,octet-prepare)' \
// RUN:   | FileCheck %s --check-prefix=PREPARED --implicit-check-not=octet.observe
// RUN: not octet-opt %s --allow-unregistered-dialect \
// RUN:   --pass-pipeline='builtin.module(octet-attach-policy{backend=%S/Inputs/any-operand.mlir},octet-fuse,octet-prepare{strict})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STRICT

// CHECK: my.relu{{.*}}float{{.*}}OCT117 it reads a tensor<4xf16>, and observers take tensors of f32 of known rank
// CHECK-NEXT: -> convert the values around it to f32
// CHECK-NEXT: my.relu{{.*}}float{{.*}}OCT117 it reads a tensor<*xf32>
// CHECK-NEXT: -> infer the shapes of the program before
// CHECK-NEXT: my.dense{{.*}}float{{.*}}OCT218 the weight observer has one scale per element of axis 0, whose size is known at run time only
// CHECK-NEXT: -> give the weights an observer of the whole tensor

// PREPARED: reason = <"OCT117"
// PREPARED: reason = <"OCT218"

// STRICT: error: stays float [OCT117]: it reads a tensor<4xf16>
func.func @main(%h: tensor<4xf16>, %u: tensor<*xf32>, %x: tensor<2xf32>, %w: tensor<?x2xf32> {octet.weight})
    -> (tensor<4xf16>, tensor<*xf32>, tensor<?xf32>) {
  %0 = "my.relu"(%h) : (tensor<4xf16>) -> tensor<4xf16>
  %1 = "my.relu"(%u) : (tensor<*xf32>) -> tensor<*xf32>
  %2 = "my.dense"(%x, %w) : (tensor<2xf32>, tensor<?x2xf32>) -> tensor<?xf32>
  return %0, %1, %2 : tensor<4xf16>, tensor<*xf32>, tensor<?xf32>
}
octet.qconfig_mapping @channels {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric>>
}

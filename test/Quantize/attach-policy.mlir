// Backend and mapping stand behind the network; what is there already stays.
// RUN: rm -rf %t && mkdir -p %t
// RUN: octet-opt %s --octet-attach-policy | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy > %t/once.mlir
// RUN: octet-opt %t/once.mlir --octet-attach-policy='backend=cpu qconfig-mapping=cpu_default_mapping' | diff - %t/once.mlir

// Two alike leaves of a pattern stay two, whatever runs over the module in between.
// RUN: octet-opt %t/once.mlir --cse --canonicalize --symbol-dce | diff - %t/once.mlir

// CHECK: func.func @cpu_like
// CHECK: octet.backend @cpu {
// CHECK: octet.qconfig_mapping @cpu_default {

// Going on with another policy names both.
// RUN: sed 's/@cpu /@mine /' %octet_src/lib/Backend/backends/cpu.mlir > %t/mine.mlir
// RUN: not octet-opt %t/once.mlir --octet-attach-policy=backend=%t/mine.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: once.mlir:1:1: error: the network was begun with octet.backend @cpu and cannot go on with @mine from '{{.*}}mine.mlir', which is another one; omit that, or begin again with the float network
// RUN: echo 'octet.qconfig_mapping @cpu_default { octet.global none }' > %t/none.mlir
// RUN: not octet-opt %t/once.mlir --octet-attach-policy=qconfig-mapping=%t/none.mlir 2>&1 | FileCheck %s --check-prefix=CHANGED
// CHANGED: error: the network was begun with octet.qconfig_mapping @cpu_default and cannot go on with @cpu_default from '{{.*}}none.mlir', which is another one

// RUN: sed 's/@cpu /@cpu_like /' %octet_src/lib/Backend/backends/cpu.mlir > %t/taken.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/taken.mlir 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN: taken.mlir:{{.*}}: error: the policy @cpu_like cannot be put into the module, which has a symbol of this name; rename the policy

// A group names a pattern of the module's backend.
// RUN: octet-opt %t/once.mlir --octet-fuse | FileCheck %s --check-prefix=GROUP
// GROUP: octet.group @cpu::@binary_act(
func.func @cpu_like(%a: tensor<1x2xf32>, %b: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = nn.add %a, %b : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = nn.relu %0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// A mapping includes another: per kind of entry, own keys override, all others stand beside them.
// RUN: rm -rf %t && split-file %s %t
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/own.mlir | FileCheck %s
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/own.mlir --octet-explain -o /dev/null | FileCheck %s --check-prefix=VERDICT

// The inclusion is resolved: own entries first, then those that none of them overrides, down to the last.
// CHECK: octet.qconfig_mapping @own {
// CHECK-NEXT: octet.global none
// CHECK-NEXT: octet.module_name "kept" #octet.qconfig
// CHECK-NEXT: octet.module_name_regex "a.*" #octet.qconfig
// CHECK-NEXT: octet.object_type "nn.tanh" none
// CHECK-NEXT: octet.module_name "body" #octet.qconfig
// CHECK-NEXT: octet.module_name_regex "ab.*" none
// CHECK-NEXT: octet.object_type "nn.sigmoid" #octet.qconfig
// CHECK-NEXT: octet.object_type "nn.hard_sigmoid" #octet.qconfig
// CHECK-NEXT: }

// An included module_name wins over the own global, an own one over the included one; own expressions are tried first.
// VERDICT: body {{.*}} OCT102
// VERDICT: kept {{.*}} OCT102
// VERDICT: abc {{.*}} OCT102
// VERDICT: tanh {{.*}} OCT205
// VERDICT: relu {{.*}} OCT205
// VERDICT: sigmoid {{.*}} OCT102

// A mapping in the module itself includes, too; what cannot be resolved says where.
// RUN: cat %t/network.mlir %t/own-builtin.mlir > %t/inside.mlir
// RUN: octet-opt %t/inside.mlir --octet-attach-policy | FileCheck %s --check-prefix=INSIDE
// INSIDE: octet.qconfig_mapping @inside {
// INSIDE-NEXT: octet.object_type "nn.relu" none
// INSIDE-NEXT: octet.global
// RUN: not octet-opt %t/inside.mlir --octet-attach-policy --octet-fuse --mlir-disable-threading -o /dev/null \
// RUN:   --octet-attach-policy=qconfig-mapping=%t/own.mlir 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: the network was begun with octet.qconfig_mapping @inside and cannot go on with @own
// RUN: cat %t/backend.mlir %t/own-builtin.mlir > %t/unresolved.mlir
// RUN: not octet-opt %t/unresolved.mlir --octet-prepare 2>&1 | FileCheck %s --check-prefix=UNRESOLVED
// UNRESOLVED: unresolved.mlir:{{[0-9]+}}:1: error: 'octet.qconfig_mapping' op expected a mapping whose inclusion is resolved; octet-attach-policy does that
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/unknown.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown.mlir:1:1: error: cannot read QConfig mapping '{{.*}}nowhere': No such file or directory
// UNKNOWN: note: expected a file, or a built-in name: cpu, cpu_default_mapping, cpu_dynamic, {{.*}}, x86, x86_default_mapping, x86_default_qat_mapping
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/circle.mlir 2>&1 | FileCheck %s --check-prefix=CIRCLE
// CIRCLE: circle.mlir:1:1: error: 'octet.qconfig_mapping' op includes '{{.*}}circle.mlir', which includes this one; omit one of them
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/outside.mlir 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/above.mlir 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: 'octet.qconfig_mapping' op includes '{{.*}}passwd', which is outside of its folder; copy that file beside it

//--- backend.mlir
octet.backend @b { octet.float ["nn.softmax"] because "it is a choice" }

//--- outside.mlir
octet.qconfig_mapping @outside includes "/etc/passwd" { octet.global none }

//--- above.mlir
octet.qconfig_mapping @above includes "a/../../passwd" { octet.global none }

//--- network.mlir
func.func @main(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  %0 = nn.silu %x {octet.origin = #octet.origin<"body">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = nn.silu %x {octet.origin = #octet.origin<"kept">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = nn.silu %x {octet.origin = #octet.origin<"abc">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %3 = nn.tanh %x {octet.origin = #octet.origin<"tanh">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %4 = nn.relu %x {octet.origin = #octet.origin<"relu">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %5 = nn.sigmoid %x {octet.origin = #octet.origin<"sigmoid">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>
}

//--- own.mlir
#int8 = #octet.qconfig<activation = #octet.min_max<dtype = ui8>>
octet.qconfig_mapping @own includes "team.mlir" {
  octet.global none
  octet.module_name "kept" #int8
  octet.module_name_regex "a.*" #int8
}

//--- team.mlir
#int8 = #octet.qconfig<activation = #octet.min_max<dtype = ui8>>
octet.qconfig_mapping @team includes "cpu_default_mapping" {
  octet.object_type "nn.tanh" none
  octet.module_name "body" #int8
  octet.module_name "kept" none
  octet.module_name_regex "ab.*" none
}

//--- own-builtin.mlir
octet.qconfig_mapping @inside includes "cpu_default_mapping" {
  octet.object_type "nn.relu" none
}

//--- unknown.mlir
octet.qconfig_mapping @unknown includes "nowhere" {}

//--- circle.mlir
octet.qconfig_mapping @circle includes "circle.mlir" {}

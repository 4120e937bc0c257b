// Entries of a mapping that apply to no operator: a warning that names what is near, an error in strict mode. Operators that a
// dialect has, and those of built-in mappings and backends, need not be in the network.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/mapping.mlir -o /dev/null
// RUN: %{attach} --octet-prepare 2>&1 | FileCheck %s
// RUN: not %{attach} --octet-prepare=strict=true 2>&1 | FileCheck %s --check-prefix=STRICT
// CHECK: mapping.mlir:3:{{.*}} warning: the QConfig mapping's entry for "Gem" applies to no operator; the nearest names are "Gemm"
// CHECK: mapping.mlir:4:{{.*}} warning: the QConfig mapping's entry for "Gemm" applies to no operator; entries of higher precedence apply to its operators; omit it
// CHECK: mapping.mlir:8:{{.*}} warning: the QConfig mapping's entry for "body.fc9" applies to no operator; the nearest names are "body.fc1", "body.fc2"
// CHECK: mapping.mlir:9:{{.*}} warning: the QConfig mapping's entry for "body" applies to no operator; entries of higher precedence apply to its operators; omit it
// CHECK: mapping.mlir:12:{{.*}} warning: the QConfig mapping's entry for "fc\\d" applies to no operator; a name must match from its first character on, and no earlier entry may match it
// CHECK: mapping.mlir:13:{{.*}} warning: the QConfig mapping's entry for number 2 of "Gemm" in "body" applies to no operator; there are 2 operators of this class, counted from 0
// CHECK: mapping.mlir:14:{{.*}} warning: the QConfig mapping's entry for number 0 of "Gem" in "body" applies to no operator; the nearest names are "Gemm"
// CHECK: mapping.mlir:15:{{.*}} warning: the QConfig mapping's entry for number 0 of "Gemm" in "bod" applies to no operator; the nearest names are "body"
// CHECK-NOT: warning
// STRICT: mapping.mlir:3:{{.*}} error: the QConfig mapping's entry for "Gem" applies to no operator

//--- mapping.mlir
#q = #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8, range = [-127, 127]>>
octet.qconfig_mapping @m includes "fbgemm_default_mapping" {
  octet.object_type "Gem" #q
  octet.object_type "Gemm" #q
  octet.object_type "nn.relu" #q
  octet.object_type "torch.nn.LayerNorm" #q
  octet.object_type "torch.Tensor.sigmoid_" #q
  octet.module_name "body.fc9" #q
  octet.module_name "body" #q
  octet.module_name "body.fc1" #q
  octet.module_name "body.fc2" #q
  octet.module_name_regex "fc\\d" #q
  octet.module_name_object_type_order "body", "Gemm", 2 #q
  octet.module_name_object_type_order "body", "Gem", 0 #q
  octet.module_name_object_type_order "bod", "Gemm", 0 #q
}

//--- network.mlir
!t = tensor<1x2xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"body.fc1", "Gemm", 0>} : (!t, tensor<2x2xf32>) -> !t
  %1 = nn.linear %0, %w {octet.origin = #octet.origin<"body.fc2", "Gemm", 1>} : (!t, tensor<2x2xf32>) -> !t
  return %1 : !t
}

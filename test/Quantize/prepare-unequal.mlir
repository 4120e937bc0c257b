// Two QConfigs in a fused group: an error where both come from object types, as in FX. Names say which operator's holds.
// RUN: split-file %s %t
// DEFINE: %{network} =
// DEFINE: %{mapping} =
// DEFINE: %{prepare} = octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/%{mapping}.mlir --octet-fuse
// REDEFINE: %{mapping} = unequal
// RUN: not %{prepare} --octet-prepare 2>&1 | FileCheck %s
// RUN: not %{prepare} --octet-explain 2>&1 | FileCheck %s
// CHECK: network.mlir:5:{{.*}} error: expected one activation observer for the fused nn.linear "fc" and nn.relu "act", but the QConfig mapping has two; give both object types the same activation observer, or name one of the operators by module_name
// CHECK: unequal.mlir:5:{{.*}} note: the entry for nn.linear "fc"
// CHECK: unequal.mlir:6:{{.*}} note: the entry for nn.relu "act"
// REDEFINE: %{mapping} = beside-global
// RUN: not %{prepare} --octet-prepare 2>&1 | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: error: expected one activation observer for the fused nn.linear "fc" and nn.relu "act"
// GLOBAL: beside-global.mlir:4:{{.*}} note: the entry for nn.linear "fc"
// REDEFINE: %{mapping} = named
// RUN: %{prepare} --octet-prepare | FileCheck %s --check-prefix=NAMED
// NAMED: octet.observer @act #octet.histogram<dtype = ui8>
// NAMED-NOT: octet.observer @{{.*}} #octet.min_max<dtype = ui8>
// REDEFINE: %{mapping} = weighted-only
// RUN: %{prepare} --octet-prepare | FileCheck %s --check-prefix=NAMED
// REDEFINE: %{mapping} = known-range
// RUN: %{prepare} --octet-prepare | FileCheck %s --check-prefix=NAMED
// Without a weight, the last operator's holds.
// RUN: octet-opt %t/without-weight.mlir --octet-attach-policy=qconfig-mapping=%t/last.mlir --octet-fuse --octet-prepare \
// RUN:   | FileCheck %s --check-prefix=NAMED

//--- without-weight.mlir
!t = tensor<1x2xf32>
func.func @main(%x: !t, %y: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.add %x, %y {octet.origin = #octet.origin<"sum", "Add", 0>} : (!t, !t) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"act", "Relu", 0>} : (!t) -> !t
  %2 = nn.linear %1, %w {octet.origin = #octet.origin<"fc", "Gemm", 0>} : (!t, tensor<2x2xf32>) -> !t
  return %2 : !t
}

//--- last.mlir
#w = #octet.min_max<dtype = si8, range = [-127, 127]>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #w>
  octet.object_type "Add" #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #w>
  octet.object_type "nn.relu" #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #w>
}

//--- network.mlir
!t = tensor<1x2xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %k = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"fc", "Gemm", 0>} : (!t, tensor<2x2xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"act", "Relu", 0>} : (!t) -> !t
  %2 = nn.linear %1, %k {octet.origin = #octet.origin<"last", "Gemm", 1>} : (!t, tensor<2x2xf32>) -> !t
  return %2 : !t
}

//--- unequal.mlir
#w = #octet.min_max<dtype = si8, range = [-127, 127]>
#a = #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #w>
#b = #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #w>
octet.qconfig_mapping @m {
  octet.object_type "Gemm" #a
  octet.object_type "nn.relu" #b
}

//--- beside-global.mlir
#w = #octet.min_max<dtype = si8, range = [-127, 127]>
octet.qconfig_mapping @m {
  octet.object_type "Relu" #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #w>
  octet.global #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #w>
}

//--- named.mlir
#w = #octet.min_max<dtype = si8, range = [-127, 127]>
octet.qconfig_mapping @m {
  octet.object_type "nn.relu" #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #w>
  octet.module_name_regex ".*" #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #w>
}

//--- weighted-only.mlir
#w = #octet.min_max<dtype = si8, range = [-127, 127]>
octet.qconfig_mapping @m {
  octet.object_type "nn.linear" #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #w>
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #w>
}

//--- known-range.mlir
#w = #octet.min_max<dtype = si8, range = [-127, 127]>
octet.qconfig_mapping @m {
  octet.object_type "nn.relu" #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    result = #octet.fixed_qparams<ui8, scale = 1.0 : f32, zero_point = 0>>
  octet.global #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #w>
}

// All levels of a mapping in their order, by origins: which entry applies to which operator.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/mapping.mlir -o /dev/null
// RUN: %{attach} --octet-print-mapping | FileCheck %s --match-full-lines
// RUN: %{attach} --octet-print-mapping=json=false | FileCheck %s --match-full-lines
// RUN: %{attach} --octet-fuse --octet-print-mapping | FileCheck %s --check-prefix=FUSED
// RUN: %{attach} --octet-fuse --octet-print-mapping='json=true output=%t/rows.json' && FileCheck %s --check-prefix=JSON < %t/rows.json
// RUN: not %{attach} --octet-print-mapping=output=%t/nowhere/rows 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: error: cannot open output file '{{.*}}/nowhere/rows'

//      CHECK: layer        class            operator    entry
// CHECK-NEXT: body.0       torch.nn.Linear  nn.linear   object_type "torch.nn.Linear"
// CHECK-NEXT: body.1       torch.nn.ReLU    nn.relu     object_type "nn.relu"
// CHECK-NEXT: body.2       torch.nn.Linear  nn.linear   module_name_object_type_order "body", "torch.nn.Linear", 1
// CHECK-NEXT: body.3       torch.nn.Linear  nn.linear   module_name "body.3" none
// CHECK-NEXT: head/fc/0    torch.nn.Linear  nn.linear   module_name "head/fc"
// CHECK-NEXT: head/fc2     torch.nn.Linear  nn.linear   module_name_regex "head/fc\\d"
// CHECK-NEXT: nn.sigmoid                    nn.sigmoid  global

// FUSED: body.0 torch.nn.Linear nn.linear object_type "torch.nn.Linear"
// FUSED-NEXT: body.1 torch.nn.ReLU nn.relu object_type "torch.nn.Linear" (fused with body.0)

// JSON: "class": "torch.nn.ReLU"
// JSON-NEXT: "entry": "object_type \"torch.nn.Linear\""
// JSON-NEXT: "fused_with": "body.0"
// JSON-NEXT: "name": "body.1"
// JSON-NEXT: "operator": "nn.relu"
// JSON-NEXT: "qconfig": "#octet.qconfig<activation = #octet.min_max<dtype = ui8>

//--- mapping.mlir
#q = #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8, range = [-127, 127]>>
octet.qconfig_mapping @m {
  octet.global #q
  octet.object_type "nn.linear" none
  octet.object_type "nn.relu" #q
  octet.object_type "torch.nn.Linear" #q
  octet.module_name_regex "head/fc\\d" #q
  octet.module_name_regex "head/fc." none
  octet.module_name "body.3" none
  octet.module_name "body.2" none
  octet.module_name "head/fc" #q
  octet.module_name_object_type_order "body", "torch.nn.Linear", 1 #q
}

//--- network.mlir
!t = tensor<1x2xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"body.0", "torch.nn.Linear", 0>} : (!t, tensor<2x2xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"body.1", "torch.nn.ReLU", 0>} : (!t) -> !t
  %2 = nn.linear %1, %w {octet.origin = #octet.origin<"body.2", "torch.nn.Linear", 1>} : (!t, tensor<2x2xf32>) -> !t
  %3 = nn.linear %2, %w {octet.origin = #octet.origin<"body.3", "torch.nn.Linear", 2>} : (!t, tensor<2x2xf32>) -> !t
  %4 = nn.linear %3, %w {octet.origin = #octet.origin<"head/fc/0", "torch.nn.Linear", 0>} : (!t, tensor<2x2xf32>) -> !t
  %5 = nn.linear %4, %w {octet.origin = #octet.origin<"head/fc2", "torch.nn.Linear", 0>} : (!t, tensor<2x2xf32>) -> !t
  %6 = nn.sigmoid %5 : (!t) -> !t
  return %6 : !t
}

// Names and texts from files stand in the table on one line each, without control characters and shortened; JSON holds them as
// they are.
// RUN: split-file %s %t
// RUN: octet-opt %t/network.mlir --octet-attach-policy=backend=%t/backend.mlir --octet-explain -o /dev/null | FileCheck %s
// RUN: octet-opt %t/network.mlir --octet-attach-policy=backend=%t/backend.mlir --octet-explain='json=true' -o /dev/null | FileCheck %s --check-prefix=JSON

// CHECK: layer
// CHECK-NEXT: {{^}}a\x0Aforged int8\x1B[2J nn.relu float OCT104 no integer form: one\x0Atwo{{$}}
// CHECK-NEXT: {{^}}xxxxxxxx{{x*}}...(40 more)...{{x*}}yyyy nn.relu float OCT104 {{[^\\]*}}one\x0Atwo{{$}}
// CHECK-NEXT: what the codes mean: docs/reasons.md{{$}}
// CHECK-NOT: {{.}}
// JSON: "name": "a\nforged  int8\u001b[2J",
// JSON: "reason": "no integer form: one\ntwo",

//--- backend.mlir
octet.backend @b { octet.float ["nn.relu"] because "one\0Atwo" }
octet.qconfig_mapping @m { octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>> }

//--- network.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = nn.relu %x {octet.origin = #octet.origin<"a\0Aforged  int8\1B[2J">} : (tensor<4xf32>) -> tensor<4xf32>
  %b = nn.relu %a {octet.origin = #octet.origin<"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxyyyy">} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

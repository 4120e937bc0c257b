// DEFINE: %{fuse} = --octet-attach-policy=qconfig-mapping=%S/Inputs/constants.mlir --octet-fuse
// RUN: octet-opt %s %{fuse} --octet-explain -o /dev/null | FileCheck %s
// The table is the same before and after octet-prepare.
// RUN: octet-opt %s %{fuse} --octet-prepare --octet-explain -o /dev/null | FileCheck %s
// RUN: octet-opt %s %{fuse} --octet-explain='json=true output=%t.json' -o /dev/null
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: not octet-opt %s %{fuse} --octet-explain=output=/nowhere/x -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: not octet-opt %s %{fuse} --octet-prepare --octet-prepare -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWICE

// CHECK:      layer    operator           verdict        why
// CHECK-NEXT: conv     nn.conv+nn.relu    int8           cpu::conv_act
// CHECK-NEXT: gate     nn.tanh            float          OCT205 the QConfig mapping says none here
// CHECK-NEXT: block1   nn.conv            float          OCT205 the QConfig mapping says none here
// CHECK-NEXT: act      nn.conv+nn.tanh    float          OCT207 the QConfig mapping says none for the fused nn.tanh
// CHECK-NEXT:                                            -> give all parts of a fused group a QConfig, or none of them
// CHECK-NEXT: minus    nn.neg             float          OCT101 no pattern of backend @cpu matches this nn.neg
// CHECK-NEXT:                                            -> add an octet.pattern that matches nn.neg, or say none for it in the QConfig mapping
// CHECK-NEXT: last     nn.conv            int8 to float  OCT102 no quantized operator reads the result
// CHECK-NEXT: softmax  nn.softmax         float          OCT104 no integer form: its result spans many orders
// CHECK-NEXT: product  nn.matmul          int8 to float  OCT102 no quantized operator reads the result

// CHECK-NEXT: what the codes mean: docs/reasons.md

// JSON: "location": "{{.*}}explain.mlir:[[#@LINE+20]]:8",
// JSON: "name": "conv",
// JSON: "operator": "nn.conv+nn.relu",
// JSON: "pattern": "cpu::conv_act",
// JSON: "refused": false,
// JSON: "verdict": "int8"
// JSON: "code": "OCT205",
// JSON: "refused": false,
// JSON: "code": "OCT207",
// JSON: "refused": true,
// A product of two values counts its multiply-adds, too.
// JSON: "macs": 8,
// JSON-NEXT: "name": "product",

// UNWRITABLE: error: cannot open output file '/nowhere/x'
// TWICE: error: 'octet.observe' op expected a float program without observers; run this pass before octet-prepare

!t = tensor<1x1x2x2xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"conv">} : (!t, tensor<1x1x1x1xf32>) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %2 = nn.tanh %1 {octet.origin = #octet.origin<"gate">} : (!t) -> !t
  %3 = nn.conv %2, %w {octet.origin = #octet.origin<"block1">} : (!t, tensor<1x1x1x1xf32>) -> !t
  %4 = nn.conv %3, %w {octet.origin = #octet.origin<"act">} : (!t, tensor<1x1x1x1xf32>) -> !t
  %5 = nn.tanh %4 {octet.origin = #octet.origin<"tanh">} : (!t) -> !t
  %6 = nn.neg %5 {octet.origin = #octet.origin<"minus">} : (!t) -> !t
  %7 = nn.conv %1, %w {octet.origin = #octet.origin<"last">} : (!t, tensor<1x1x1x1xf32>) -> !t
  %8 = nn.softmax %7 axis 1 {octet.origin = #octet.origin<"softmax">} : (!t) -> !t
  %9 = nn.matmul %8, %8 {octet.origin = #octet.origin<"product">} : (!t, !t) -> !t
  return %9 : !t
}

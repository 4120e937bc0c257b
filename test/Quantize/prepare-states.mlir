// RUN: sed 's/octet.float_states.*//' %S/../../lib/Backend/backends/cpu.mlir > %t.mlir
// RUN: octet-opt %s --octet-attach-policy --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-explain | FileCheck %s --check-prefix=WITHOUT
// RUN: octet-opt %s --octet-attach-policy --octet-explain=quantized-outputs=true | FileCheck %s --check-prefix=WITHOUT
// RUN: octet-opt %s --octet-attach-policy --octet-prepare | FileCheck %s --check-prefix=PREPARE

// What the state %s passes on its way to the output, and slices of it, stay float although linear layers read them; the gate
// follows, since no quantized operator reads it. %x, which does not leave, is quantized before its slice.
// CHECK: hidden {{.*}}nn.slice {{.*}}float {{.*}}OCT107 a state that comes in and leaves again
// CHECK: part {{.*}}nn.slice {{.*}}int8
// CHECK: gates {{.*}}nn.linear {{.*}}int8 to float
// CHECK: gate {{.*}}nn.sigmoid {{.*}}float {{.*}}OCT102
// CHECK: cell {{.*}}nn.slice {{.*}}float {{.*}}OCT107
// CHECK: keep {{.*}}nn.mul {{.*}}float {{.*}}OCT107
// CHECK: head {{.*}}nn.linear {{.*}}int8 to float

// WITHOUT-NOT: OCT107
// WITHOUT: keep {{.*}}nn.mul {{.*}}int8
// WITHOUT-NOT: OCT107

// PREPARE-LABEL: func.func @main
// PREPARE-SAME: %[[X:.*]]: tensor<1x4xf32> {{.*}}, %[[S:.*]]: tensor<1x4xf32>
// PREPARE-DAG: %[[H:.*]] = nn.slice %[[S]]
// PREPARE-DAG: octet.observe %[[H]]
// PREPARE-DAG: octet.observe %[[X]]
// PREPARE: nn.mul %{{.*}}, %{{.*}} {{.*}}verdict = float
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}, %s: tensor<1x4xf32> {nn.name = "s"}) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %w = nn.constant dense<0.5> : tensor<2x2xf32>
  %h = nn.slice %s starts [0, 0] sizes [1, 2] steps [1, 1] {octet.origin = #octet.origin<"hidden">} : (tensor<1x4xf32>) -> tensor<1x2xf32>
  %p = nn.slice %x starts [0, 0] sizes [1, 2] steps [1, 1] {octet.origin = #octet.origin<"part">} : (tensor<1x4xf32>) -> tensor<1x2xf32>
  %a = nn.linear %h, %w {octet.origin = #octet.origin<"gates">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %b = nn.linear %p, %w {octet.origin = #octet.origin<"input">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %g = nn.sigmoid %a {octet.origin = #octet.origin<"gate">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %c = nn.slice %s starts [0, 2] sizes [1, 2] steps [1, 1] {octet.origin = #octet.origin<"cell">} : (tensor<1x4xf32>) -> tensor<1x2xf32>
  %m = nn.mul %g, %c {octet.origin = #octet.origin<"keep">} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = nn.linear %m, %w {octet.origin = #octet.origin<"head">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %z = nn.add %y, %b {octet.origin = #octet.origin<"sum">} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %m, %z : tensor<1x2xf32>, tensor<1x2xf32>
}

// A mask of integers is no state, though it goes from an input to an output.
// CHECK: masked {{.*}}nn.mul {{.*}}float {{.*}}OCT102
func.func @mask(%x: tensor<1x4xf32> {nn.name = "x"}, %s: tensor<1x4xi32> {nn.name = "s"}) -> tensor<1x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %y = nn.linear %x, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %m = nn.cast %s : (tensor<1x4xi32>) -> tensor<1x4xf32>
  %z = nn.mul %y, %m {octet.origin = #octet.origin<"masked">} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  return %z : tensor<1x4xf32>
}

// Values that a network keeps from run to run lie in its state, are no inputs and outputs, and are written at the end.
// RUN: octet-opt %s --octet-assign-layout | FileCheck %s
// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=reference | FileCheck %s --check-prefix=PROGRAM

// The first copies take what lies in the memory of a state out of it; a cast writes a state of its own type; one that stays as
// it is, %s, has no copy.
// CHECK-LABEL: func @main
// CHECK-SAME: (%[[X:.*]]: tensor<1x8xf32> {nn.name = "x"}, %[[H:.*]]: tensor<1x8xf32> {nn.state = "h"}, %[[A:.*]]: tensor<1x4xf32> {nn.state = "a"}, %[[B:.*]]: tensor<1x4xf32> {nn.state = "b"}, %[[S:.*]]: tensor<1x4xf32> {nn.state = "s"}, %[[N:.*]]: tensor<1x8xf16> {nn.state = "n"})
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[X]], %[[H]]
// CHECK-NEXT: %[[OLD_B:.*]] = nn.relayout %[[B]]
// CHECK-NEXT: %[[OLD_A:.*]] = nn.relayout %[[A]]
// CHECK-NEXT: %[[REAL:.*]] = nn.relayout %[[SUM]]
// CHECK-NEXT: %[[NEW_H:.*]] = nn.relayout %[[SUM]]
// CHECK-NEXT: %[[NEW_A:.*]] = nn.relayout %[[OLD_B]]
// CHECK-NEXT: %[[NEW_B:.*]] = nn.relayout %[[OLD_A]]
// CHECK-NEXT: %[[NEW_N:.*]] = nn.cast %[[REAL]]
// CHECK-NEXT: return %[[SUM]], %[[NEW_H]], %[[NEW_A]], %[[NEW_B]], %[[S]], %[[NEW_N]]

// PROGRAM: kernel.program @main level "reference" arena {{[0-9]+}} state 320 prepared 0 inputs [#kernel.tensor<"x", tensor<1x8xf32>>] outputs [#kernel.tensor<"y", tensor<1x8xf32>>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<input 0>, #kernel.arg<state 0>, #kernel.arg<output 0>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<state 128>, #kernel.arg<arena [[OLD_B:[0-9]+]]>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<state 64>, #kernel.arg<arena [[OLD_A:[0-9]+]]>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<output 0>, #kernel.arg<arena [[REAL:[0-9]+]]>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<output 0>, #kernel.arg<state 0>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<arena [[OLD_B]]>, #kernel.arg<state 64>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<arena [[OLD_A]]>, #kernel.arg<state 128>]
// PROGRAM-NEXT: kernel.step {{.*}} [#kernel.arg<arena [[REAL]]>, #kernel.arg<state 256>]
// PROGRAM-NEXT: }
func.func @main(%x: tensor<1x8xf32> {nn.name = "x"}, %h: tensor<1x8xf32> {nn.state = "h"}, %a: tensor<1x4xf32> {nn.state = "a"},
                %b: tensor<1x4xf32> {nn.state = "b"}, %s: tensor<1x4xf32> {nn.state = "s"}, %n: tensor<1x8xf16> {nn.state = "n"})
    -> (tensor<1x8xf32> {nn.name = "y"}, tensor<1x8xf32> {nn.state = "h"}, tensor<1x4xf32> {nn.state = "a"},
        tensor<1x4xf32> {nn.state = "b"}, tensor<1x4xf32> {nn.state = "s"}, tensor<1x8xf16> {nn.state = "n"}) {
  %0 = nn.add %x, %h : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = nn.cast %0 : (tensor<1x8xf32>) -> tensor<1x8xf16>
  return %0, %0, %b, %a, %s, %1 : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x8xf16>
}

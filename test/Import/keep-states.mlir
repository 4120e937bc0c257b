// REQUIRES: octet-compile, octet-run
// Inputs and outputs that the library keeps.
// RUN: octet-opt %s --octet-keep-states="states=h=hn" | FileCheck %s --check-prefixes=ALL,ONE
// RUN: octet-opt %s --octet-keep-states="states=state=stateN,h=hn" | FileCheck %s --check-prefixes=ALL,BOTH
// RUN: octet-opt %s --octet-keep-states="states=auto" | FileCheck %s --check-prefixes=ALL,BOTH
// RUN: octet-opt %s --octet-keep-states="states=auto,h=hn" | FileCheck %s --check-prefixes=ALL,BOTH
// A second run finds what the first one left.
// RUN: octet-opt %s --octet-keep-states="states=h=hn" --octet-keep-states="states=auto" | FileCheck %s --check-prefixes=ALL,BOTH

// The same of IR that a compilation reads, which says what it took; a later one goes on with it.
// RUN: octet-compile %s --float --state=auto --stop-after=import -o %t.mlirbc | FileCheck %s --check-prefix=TELL
// RUN: FileCheck %s --check-prefixes=ALL,BOTH --input-file=%t.mlir
// RUN: octet-compile %s --float --stop-after=import -o %t.import.mlirbc
// RUN: octet-compile %t.import.mlirbc --float --state=auto --stop-after=fuse -o %t.mlirbc | FileCheck %s --check-prefix=TELL
// RUN: octet-compile %s --float --state h=hn --state state=stateN --stop-after=fuse -o %t.mlirbc | FileCheck %s --check-prefix=TELL
// RUN: octet-compile %t.mlirbc --float -o %t.so | FileCheck %s --check-prefix=TELL
// RUN: octet-run %t.so | FileCheck %s --check-prefix=LIBRARY
// TELL: states h → hn · state → stateN
// LIBRARY: input x: float32[1,2]
// LIBRARY-NEXT: output y: float32[1,2]
// LIBRARY-NEXT: memory: {{.*}}, 128 of state

// ALL: func.func @main(%arg0: tensor<1x2xf32> {nn.name = "x"}
// ALL-SAME: %arg1: tensor<1x2xf32> {nn.name = "h", nn.state = "h"}
// ONE-SAME: %arg2: tensor<2x1xf32> {nn.name = "state"}
// BOTH-SAME: %arg2: tensor<2x1xf32> {nn.name = "state", nn.state = "state"}
// ALL-SAME: tensor<1x2xf32> {nn.name = "hn", nn.state = "h"}, tensor<1x2xf32> {nn.name = "y"}
// ONE-SAME: tensor<2x1xf32> {nn.name = "stateN"}
// BOTH-SAME: tensor<2x1xf32> {nn.name = "stateN", nn.state = "state"}
func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}, %h: tensor<1x2xf32> {nn.name = "h"}, %state: tensor<2x1xf32> {nn.name = "state"})
    -> (tensor<1x2xf32> {nn.name = "hn"}, tensor<1x2xf32> {nn.name = "y"}, tensor<2x1xf32> {nn.name = "stateN"}) {
  %0 = nn.add %x, %h : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = nn.reshape %0 : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %2 = nn.mul %1, %state : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  return %0, %0, %2 : tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x1xf32>
}

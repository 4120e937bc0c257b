// RUN: octet-opt %s --octet-keep-states="states=h=hn" --split-input-file --verify-diagnostics
// RUN: not octet-opt %S/Inputs/states.mlir --octet-keep-states="states=h" 2>&1 | FileCheck %s --check-prefix=FORM-ERROR
// RUN: not octet-opt %S/Inputs/states.mlir --octet-keep-states="states=x=hn,h=y" 2>&1 | FileCheck %s --check-prefix=TYPE-ERROR
// RUN: not octet-opt %S/Inputs/states.mlir --octet-keep-states="states=h=hn,h=y" 2>&1 | FileCheck %s --check-prefix=TWICE-ERROR
// RUN: not octet-opt %S/Inputs/states.mlir --octet-keep-states="states=h=hn,i=hn" 2>&1 | FileCheck %s --check-prefix=GIVEN-ERROR
// RUN: not octet-opt %S/Inputs/states.mlir --octet-keep-states="states=auto,h=hn" 2>&1 | FileCheck %s --check-prefix=NONE-ERROR
// RUN: not octet-opt %S/Inputs/states.mlir --octet-keep-states="states=auto" 2>&1 | FileCheck %s --check-prefix=CHOICE-ERROR
// FORM-ERROR: error: the state "h": expected an input and an output, as in h=hn, or auto
// TYPE-ERROR: error: the state "x" is a 'tensor<2xf32>', but its output "hn" is a 'tensor<1xf32>'
// TWICE-ERROR: error: the input "h" belongs to a state already; give each input and output once
// GIVEN-ERROR: error: the output "hn" belongs to a state already; give each input and output once
// NONE-ERROR: error: no input and output have names of one state, such as h and hn, and one type; name them instead of auto, as in h=hn
// CHOICE-ERROR: error: the input "h" may be a state with the output "hn" or "h_out"; name the right one instead of auto

// expected-error @below {{a state names the input "h", but the inputs are "x" "input1"}}
func.func @main(%x: tensor<1xf32> {nn.name = "x"}, %u: tensor<1xf32>) -> (tensor<1xf32> {nn.name = "hn"}) {
  return %x : tensor<1xf32>
}

// -----

// expected-error @below {{a state names the output "hn", but the outputs are "output0"}}
func.func @main(%h: tensor<1xf32> {nn.name = "h"}) -> tensor<1xf32> {
  return %h : tensor<1xf32>
}

// -----

!q = tensor<1x!quant.uniform<u8:f32, 0.5:128>>
// expected-error @below {{the state "h" is quantized; a state starts as zeros, which stand for other numbers there; leave it in the interface}}
func.func @main(%h: !q {nn.name = "h"}) -> (!q {nn.name = "hn"}) {
  return %h : !q
}

// -----

// expected-error @below {{expected a function named 'main'}}
module {
}

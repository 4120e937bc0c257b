// Decisions that are not verdicts: observers merged or ignored, scales raised, operators that no entry names.
// RUN: octet-opt %s --octet-attach-policy=qconfig-mapping=%S/Inputs/differing.mlir --octet-prepare --remarks-filter='octet-.*' \
// RUN:   --remark-format=emitRemark --split-input-file -o /dev/null 2>&1 | FileCheck %s

// CHECK-DAG: remark: [Passed] quantized | Category:octet-prepare | Remark="pattern @unary"
// CHECK-DAG: remark: [Analysis] OCT209 | Category:octet-prepare | Remark="operators that share this observer ask for different ones"
!t = tensor<1x2xf32>
func.func @merged(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x4xf32>
  %0 = nn.relu %x : (!t) -> !t
  %1 = nn.elu %x alpha 1.0 : (!t) -> !t
  %2 = nn.concat %0, %1 axis 1 : (!t, !t) -> tensor<1x4xf32>
  %3 = nn.linear %2, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> !t
  return %3 : !t
}

// -----

// CHECK-DAG: remark: [Analysis] OCT210 | Category:octet-prepare | Remark="its activation observer is ignored
!t = tensor<1x2xf32>
func.func @ignored(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.relu %x : (!t) -> !t
  %1 = nn.elu %0 alpha 1.0 : (!t) -> !t
  %3 = nn.linear %1, %w : (!t, tensor<2x2xf32>) -> !t
  return %3 : !t
}

// -----

// CHECK-DAG: remark: [Missed] OCT206 | Category:octet-prepare | Remark="no entry of the QConfig mapping applies", Suggestion="add an octet.global to the mapping"
!t = tensor<1x2xf32>
func.func @unnamed(%x: !t) -> !t {
  %0 = nn.silu %x : (!t) -> !t
  return %0 : !t
}

// Linear layers of a file that quantizes their input in each run, as PT2E's dynamic graphs do.
// RUN: octet-opt %s --octet-adopt | FileCheck %s
// RUN: octet-opt %s --octet-adopt --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

!q = tensor<3x8x!quant.uniform<u8:f32, 1.0>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.25>>

// What chooses scales, and what quantizes by them, has no decision.
// CHECK-LABEL: func @dynamic
// CHECK-NOT:     octet.choose_qparams {{.*}}octet.decision
// CHECK:         nn.linear {{.*}} {octet.decision = #octet.decision<number = 0, verdict = int8_to_float, reason = <"OCT218"
// EXPLAIN:       layer    operator    verdict        why
// EXPLAIN-NEXT:  layer    nn.linear   int8 to float  OCT218
func.func @dynamic(%x: tensor<3x8xf32>) -> tensor<3x16xf32> {
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<3x8xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<3x8xf32>, tensor<f32>, tensor<i32>) -> !q
  %d = octet.dequantize_dynamic %q by %s, %z : (!q, tensor<f32>, tensor<i32>) -> tensor<3x8xf32>
  %w = nn.constant dense<3> : tensor<16x8xi8> -> !w
  %f = octet.dequantize %w : (!w) -> tensor<16x8xf32>
  %y = nn.linear %d, %f {octet.origin = #octet.origin<"layer">} : (tensor<3x8xf32>, tensor<16x8xf32>) -> tensor<3x16xf32>
  return %y : tensor<3x16xf32>
}

// Weights of the run are no stored ones.
// CHECK-LABEL: func @computed_weights
// CHECK:         nn.linear {{.*}}verdict = float
// EXPLAIN-NEXT:  computed nn.linear   float
func.func @computed_weights(%x: tensor<3x8xf32>, %v: !w) -> tensor<3x16xf32> {
  %s, %z = octet.choose_qparams %x range [0, 255] : (tensor<3x8xf32>) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (tensor<3x8xf32>, tensor<f32>, tensor<i32>) -> !q
  %d = octet.dequantize_dynamic %q by %s, %z : (!q, tensor<f32>, tensor<i32>) -> tensor<3x8xf32>
  %f = octet.dequantize %v : (!w) -> tensor<16x8xf32>
  %y = nn.linear %d, %f {octet.origin = #octet.origin<"computed">} : (tensor<3x8xf32>, tensor<16x8xf32>) -> tensor<3x16xf32>
  return %y : tensor<3x16xf32>
}

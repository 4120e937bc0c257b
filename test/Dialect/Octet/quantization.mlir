// RUN: octet-opt %s --canonicalize --cse | octet-opt | FileCheck %s

!q = !quant.uniform<u8:f32, 0.5:3>
// The pair marks where a value is quantized: it is never folded.
// CHECK-LABEL: func @pairs_stay
func.func @pairs_stay(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: %[[Q:.*]] = octet.quantize
  %q = octet.quantize %x : (tensor<2xf32>) -> tensor<2x!q>
  // CHECK: %[[D:.*]] = octet.dequantize %[[Q]]
  %d = octet.dequantize %q : (tensor<2x!q>) -> tensor<2xf32>
  // CHECK: %[[Q2:.*]] = octet.quantize %[[D]]
  %q2 = octet.quantize %d : (tensor<2xf32>) -> tensor<2x!q>
  // CHECK: octet.dequantize %[[Q2]]
  %d2 = octet.dequantize %q2 : (tensor<2x!q>) -> tensor<2xf32>
  return %d2 : tensor<2xf32>
}

octet.backend @mine {
  octet.pattern @act dtypes = [] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

// CHECK-LABEL: func @group_of_two_results
func.func @group_of_two_results(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK: %[[G:.*]]:2 = octet.group(%[[A:.*]] = %{{.*}}) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK-NEXT: octet.yield %[[A]], %[[A]] : tensor<2xf32>, tensor<2xf32>
  %two:2 = octet.group(%a = %x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    octet.yield %a, %a : tensor<2xf32>, tensor<2xf32>
  }
  return %two#0, %two#1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @group(
func.func @group(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: octet.group @mine::@act(%{{.*}} = %{{.*}}) : (tensor<2xf32>) -> tensor<2xf32> {
  %y = octet.group @mine::@act(%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    %r = nn.relu %a : (tensor<2xf32>) -> tensor<2xf32>
    // CHECK: octet.yield
    octet.yield %r : tensor<2xf32>
  }
  // CHECK: octet.group(%{{.*}} = %{{.*}}) : (tensor<2xf32>) -> tensor<2xf32> {
  %z = octet.group(%a = %y) : (tensor<2xf32>) -> tensor<2xf32> {
    %r = nn.tanh %a : (tensor<2xf32>) -> tensor<2xf32>
    octet.yield %r : tensor<2xf32>
  }
  return %z : tensor<2xf32>
}

// An operator of any dialect says where it comes from.
// CHECK-LABEL: func @origins
func.func @origins(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: nn.relu %{{.*}} {octet.origin = #octet.origin<"body.act", "Relu", 3>}
  %r = nn.relu %x {octet.origin = #octet.origin<"body.act", "Relu", 3>} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: nn.relu %{{.*}} {octet.origin = #octet.origin<"body.act", "Relu", 0>}
  %s = nn.relu %r {octet.origin = #octet.origin<"body.act", "Relu", 0>} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: arith.negf %{{.*}} {octet.origin = #octet.origin<"sign">}
  %n = arith.negf %s {octet.origin = #octet.origin<"sign">} : tensor<2xf32>
  return %n : tensor<2xf32>
}

// Decisions and their reasons.
// CHECK-LABEL: func @decisions
func.func @decisions(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: nn.relu %{{.*}} {octet.decision = #octet.decision<number = 0, verdict = int8, pattern = @mine::@act>}
  %r = nn.relu %x {octet.decision = #octet.decision<number = 0, verdict = int8, pattern = @mine::@act>} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: nn.exp %{{.*}} {octet.decision = #octet.decision<number = 1, verdict = float, reason = <"OCT101", "no pattern", "add one">, refused = true>}
  %n = nn.exp %r {octet.decision = #octet.decision<number = 1, verdict = float, reason = <"OCT101", "no pattern", "add one">, refused = true>} : (tensor<2xf32>) -> tensor<2xf32>
  return %n : tensor<2xf32>
}

// RUN: octet-opt %s --octet-drop-neutral | FileCheck %s

// The constant may be a number or have one for each element, and be either operand of a sum or product.
// CHECK-LABEL: func.func @neutral_operators_become_their_operand
// CHECK-SAME: (%[[X:.*]]: tensor<1x2xf32>)
// CHECK-NOT: nn.add
// CHECK-NOT: nn.sub
// CHECK-NOT: nn.mul
// CHECK-NOT: nn.div
// CHECK: nn.relu %[[X]]
// CHECK: return %[[X]], %{{.*}}
func.func @neutral_operators_become_their_operand(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %zero = nn.constant dense<0.0> : tensor<1xf32>
  %zeros = nn.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %a = nn.add %x, %zeros : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %b = nn.add %zero, %a : (tensor<1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %c = nn.mul %one, %b : (tensor<f32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %d = nn.mul %c, %one : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %e = nn.div %d, %one : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %f = nn.sub %e, %zero : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x2xf32>
  %y = nn.relu %f : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %f, %y : tensor<1x2xf32>, tensor<1x2xf32>
}

// CHECK-LABEL: func.func @others_stay
// CHECK: nn.sub
// CHECK: nn.div
// CHECK: nn.mul
// CHECK: nn.add
// CHECK: nn.mul
func.func @others_stay(%x: tensor<1x2xf32>, %i: tensor<1x2xi64>) -> (tensor<3x2xf32>, tensor<1x2xi64>) {
  %zero = nn.constant dense<0.0> : tensor<1xf32>
  %one = nn.constant dense<1.0> : tensor<1xf32>
  %mixed = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %wide = nn.constant dense<0.0> : tensor<3x2xf32>
  %integer = nn.constant dense<1> : tensor<1xi64>
  %a = nn.sub %zero, %x : (tensor<1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %b = nn.div %one, %a : (tensor<1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %c = nn.mul %b, %mixed : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %d = nn.add %c, %wide : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %j = nn.mul %i, %integer : (tensor<1x2xi64>, tensor<1xi64>) -> tensor<1x2xi64>
  return %d, %j : tensor<3x2xf32>, tensor<1x2xi64>
}

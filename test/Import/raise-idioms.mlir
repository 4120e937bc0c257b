// RUN: octet-opt %s --octet-raise-idioms | FileCheck %s

// CHECK-LABEL: func.func @value_times_its_sigmoid
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
func.func @value_times_its_sigmoid(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[Y:.*]] = nn.silu %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %s = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @value_times_another_sigmoid_stays
func.func @value_times_another_sigmoid_stays(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.sigmoid
  // CHECK: nn.mul
  %s = nn.sigmoid %z : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @sigmoid_that_is_read_elsewhere_stays
func.func @sigmoid_that_is_read_elsewhere_stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: nn.sigmoid
  %s = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %s : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @gelu_halved_last
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
func.func @gelu_halved_last(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[Y:.*]] = nn.gelu %[[X]] none
  // CHECK-NEXT: return %[[Y]]
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %a = nn.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = nn.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %s = nn.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %m = nn.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %m, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @gelu_halved_first
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
func.func @gelu_halved_first(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[Y:.*]] = nn.gelu %[[X]] none
  // CHECK-NEXT: return %[[Y]]
  %scale = nn.constant dense<0.707106769> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %h = nn.mul %half, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %a = nn.mul %x, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = nn.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %s = nn.add %one, %e : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %h, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @error_function_of_another_scale_stays
func.func @error_function_of_another_scale_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.erf
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %a = nn.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = nn.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %s = nn.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %m = nn.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %m, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @hard_swish_divided_last
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
func.func @hard_swish_divided_last(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[Y:.*]] = nn.hard_swish %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %three = nn.constant dense<3.0> : tensor<f32>
  %six = nn.constant dense<6.0> : tensor<f32>
  %a = nn.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nn.clip %a min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %m = nn.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.div %m, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @hard_swish_scaled_first
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
func.func @hard_swish_scaled_first(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[Y:.*]] = nn.hard_swish %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %three = nn.constant dense<3.0> : tensor<f32>
  %sixth = nn.constant dense<0.16666667> : tensor<1xf32>
  %a = nn.add %three, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %c = nn.clip %a min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %g = nn.mul %sixth, %c : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %g, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @hard_swish_of_hard_sigmoid
func.func @hard_swish_of_hard_sigmoid(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.hard_swish
  %g = nn.hard_sigmoid %x alpha 0.16666667 beta 0.5 : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %x, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @gate_with_other_constants_is_no_hard_swish
func.func @gate_with_other_constants_is_no_hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.hard_sigmoid
  // CHECK-NEXT: nn.mul
  %g = nn.hard_sigmoid %x alpha 0.2 beta 0.5 : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %x, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @hard_sigmoid_divided
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
func.func @hard_sigmoid_divided(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[Y:.*]] = nn.hard_sigmoid %[[X]] alpha 0.166666{{[0-9]*}} beta 5.000000e-01
  // CHECK-NEXT: return %[[Y]]
  %three = nn.constant dense<3.0> : tensor<f32>
  %six = nn.constant dense<6.0> : tensor<f32>
  %a = nn.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nn.clip %a min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.div %c, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @product_and_sum_clamped_to_one
func.func @product_and_sum_clamped_to_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.hard_sigmoid %{{.*}} alpha 2.500000e-01 beta 1.250000e-01
  %p = nn.constant dense<0.25> : tensor<f32>
  %q = nn.constant dense<0.125> : tensor<f32>
  %m = nn.mul %x, %p : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %a = nn.add %m, %q : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = nn.clip %a min 0.0 max 1.0 : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @clip_to_another_interval_stays
func.func @clip_to_another_interval_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.add
  // CHECK: nn.clip
  // CHECK: nn.div
  %three = nn.constant dense<3.0> : tensor<f32>
  %five = nn.constant dense<5.0> : tensor<f32>
  %a = nn.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nn.clip %a min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.div %c, %five : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @slopes
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>
func.func @slopes(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK: %[[S:.*]] = nn.constant dense_resource<constant.slopes>
  // CHECK: %[[P:.*]] = nn.prelu %[[X]], %[[S]]
  // CHECK: %[[L:.*]] = nn.leaky_relu %[[P]] alpha 2.500000e-01
  // CHECK-NEXT: return %[[P]], %[[L]]
  %c = nn.constant dense<[1.0, -2.0, 3.0, -4.0]> : tensor<4xf32>
  %d = nn.constant dense<-0.25> : tensor<f32>
  %a = nn.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %n = nn.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = nn.relu %n : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %m = nn.mul %c, %b : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = nn.add %a, %m : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %e = nn.relu %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %o = nn.neg %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %f = nn.relu %o : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = nn.mul %f, %d : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %l = nn.add %g, %e : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %p, %l : tensor<2x4xf32>, tensor<2x4xf32>
}

// The mirrored value is another one.
// CHECK-LABEL: func.func @no_slopes
func.func @no_slopes(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.add
  %c = nn.constant dense<0.5> : tensor<f32>
  %a = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %n = nn.neg %z : (tensor<4xf32>) -> tensor<4xf32>
  %b = nn.relu %n : (tensor<4xf32>) -> tensor<4xf32>
  %m = nn.mul %b, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = nn.add %a, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// The factors make the result wider than what is rectified.
// CHECK-LABEL: func.func @wider
func.func @wider(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // CHECK: nn.add
  %c = nn.constant dense<0.5> : tensor<2x1xf32>
  %a = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %n = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = nn.relu %n : (tensor<4xf32>) -> tensor<4xf32>
  %m = nn.mul %b, %c : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = nn.add %a, %m : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// CHECK: constant.slopes: "0x{{[0-9A-F]*}}000080BF00000040000040C000008040"

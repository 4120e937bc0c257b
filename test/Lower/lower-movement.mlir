// RUN: octet-opt %s --octet-lower --split-input-file --verify-diagnostics --remarks-filter=octet-lower --remark-format=emitRemark | FileCheck %s

!q = !quant.uniform<u8:f32, 0.5:128>
!wide = !quant.uniform<u8:f32, 1.0:128>

// CHECK-LABEL: func @equal_parameters_are_copied
// CHECK-SAME: %[[X:.*]]: tensor<1x2x4x4x!quant
// CHECK-NEXT: %[[M:.*]] = nn.max_pool %[[X]] kernel [2, 2] strides [2, 2] : {{.*}} -> tensor<1x2x2x2x!quant
// CHECK-NEXT: %[[P:.*]] = nn.pad %[[M]]
// CHECK-NEXT: %[[C:.*]] = nn.concat %[[P]], %[[X]] axis 1 :
// CHECK-NEXT: %[[U:.*]] = nn.resize %[[C]]
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[U]] : {{.*}} -> tensor<1x256x!quant
// CHECK-NEXT: octet.dequantize %[[R]]
// CHECK-NEXT: return
func.func @equal_parameters_are_copied(%xq: tensor<1x2x4x4x!q>) -> tensor<1x256xf32> {
  %x = octet.dequantize %xq : (tensor<1x2x4x4x!q>) -> tensor<1x2x4x4xf32>
  %m = nn.max_pool %x kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %mq = octet.quantize %m : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2x!q>
  %md = octet.dequantize %mq : (tensor<1x2x2x2x!q>) -> tensor<1x2x2x2xf32>
  %p = nn.pad %md low [0, 0, 1, 1] high [0, 0, 1, 1] : (tensor<1x2x2x2xf32>) -> tensor<1x2x4x4xf32>
  %pq = octet.quantize %p : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4x!q>
  %pd = octet.dequantize %pq : (tensor<1x2x4x4x!q>) -> tensor<1x2x4x4xf32>
  %c = nn.concat %pd, %x axis 1 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
  %cq = octet.quantize %c : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4x!q>
  %cd = octet.dequantize %cq : (tensor<1x4x4x4x!q>) -> tensor<1x4x4x4xf32>
  %u = nn.resize %cd size [8, 8] scales [2.0, 2.0] nearest asymmetric floor : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
  %uq = octet.quantize %u : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8x!q>
  %ud = octet.dequantize %uq : (tensor<1x4x8x8x!q>) -> tensor<1x4x8x8xf32>
  %r = nn.reshape %ud : (tensor<1x4x8x8xf32>) -> tensor<1x256xf32>
  %rq = octet.quantize %r : (tensor<1x256xf32>) -> tensor<1x256x!q>
  %rd = octet.dequantize %rq : (tensor<1x256x!q>) -> tensor<1x256xf32>
  return %rd : tensor<1x256xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:128>
!wide = !quant.uniform<u8:f32, 1.0:128>

// A change of scale is a table: behind what drops or moves values, in front of what adds or joins some. The table of
// q -> rne((q - 128) * 0.5) + 128 starts at 64, then rne(-63.5) + 128 = 64, then 65.
// CHECK-LABEL: func @change_of_scale
// CHECK-SAME: %[[X:.*]]: tensor<1x2x4x4x!quant
// CHECK-NEXT: %[[M:.*]] = nn.max_pool %[[X]] {{.*}} -> tensor<1x2x2x2x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-NEXT: %[[T:.*]] = nn.table %[[M]], [64, 64, 65, 66, 66, {{.*}} -> tensor<1x2x2x2x!quant.uniform<u8:f32, 1.000000e+00:128>>
// CHECK: %[[TX:.*]] = nn.table %[[X]], [64, 64, 65,
// CHECK-NEXT: %[[P:.*]] = nn.pad %[[TX]]
// CHECK-NOT: nn.table
// CHECK: %[[C:.*]] = nn.concat %[[TX]], %[[TX]]
func.func @change_of_scale(%xq: tensor<1x2x4x4x!q>) -> (tensor<1x2x2x2xf32>, tensor<1x2x6x6xf32>, tensor<1x4x4x4xf32>) {
  %x = octet.dequantize %xq : (tensor<1x2x4x4x!q>) -> tensor<1x2x4x4xf32>
  %m = nn.max_pool %x kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %mq = octet.quantize %m : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2x!wide>
  %md = octet.dequantize %mq : (tensor<1x2x2x2x!wide>) -> tensor<1x2x2x2xf32>
  %p = nn.pad %x low [0, 0, 1, 1] high [0, 0, 1, 1] value 1.0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x6x6xf32>
  %pq = octet.quantize %p : (tensor<1x2x6x6xf32>) -> tensor<1x2x6x6x!wide>
  %pd = octet.dequantize %pq : (tensor<1x2x6x6x!wide>) -> tensor<1x2x6x6xf32>
  %c = nn.concat %x, %x axis 1 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
  %cq = octet.quantize %c : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4x!wide>
  %cd = octet.dequantize %cq : (tensor<1x4x4x4x!wide>) -> tensor<1x4x4x4xf32>
  return %md, %pd, %cd : tensor<1x2x2x2xf32>, tensor<1x2x6x6xf32>, tensor<1x4x4x4xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:128>
!fine = !quant.uniform<u8:f32, 0.125:7>

// Means take any scales: the multiplier holds both.
// CHECK-LABEL: func @means
// CHECK: nn.avg_pool %{{.*}} kernel [2, 2] count_include_pad : {{.*}}!quant{{.*}} -> tensor<1x2x3x3x!quant.uniform<u8:f32, 1.250000e-01:7>>
// CHECK: nn.avg_pool %{{.*}} kernel [4, 4] : {{.*}}!quant{{.*}} -> tensor<1x2x1x1x!quant.uniform<u8:f32, 1.250000e-01:7>>
// CHECK: nn.reshape {{.*}} -> tensor<1x2x!quant.uniform<u8:f32, 1.250000e-01:7>>
func.func @means(%xq: tensor<1x2x4x4x!q>) -> (tensor<1x2x3x3xf32>, tensor<1x2xf32>) {
  %x = octet.dequantize %xq : (tensor<1x2x4x4x!q>) -> tensor<1x2x4x4xf32>
  %m = nn.avg_pool %x kernel [2, 2] count_include_pad : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>
  %mq = octet.quantize %m : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3x!fine>
  %md = octet.dequantize %mq : (tensor<1x2x3x3x!fine>) -> tensor<1x2x3x3xf32>
  %r = nn.reduce_mean %x axes [2, 3] : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>
  %rq = octet.quantize %r : (tensor<1x2xf32>) -> tensor<1x2x!fine>
  %rd = octet.dequantize %rq : (tensor<1x2x!fine>) -> tensor<1x2xf32>
  return %md, %rd : tensor<1x2x3x3xf32>, tensor<1x2xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:128>
!fine = !quant.uniform<u8:f32, 0.125:7>

// CHECK-LABEL: func @what_stays_float
func.func @what_stays_float(%xq: tensor<1x2x4x4x!q>, %real: tensor<1x2x4x4xf32>) -> (tensor<1x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x32xf32>) {
  %x = octet.dequantize %xq : (tensor<1x2x4x4x!q>) -> tensor<1x2x4x4xf32>
  // CHECK: nn.reduce_mean {{.*}} -> tensor<1x4x4xf32>
  // expected-remark @below {{OCT104 | Category:octet-lower | Remark="stays float: no integer form"}}
  %r = nn.reduce_mean %x axes [1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4xf32>
  %rq = octet.quantize %r : (tensor<1x4x4xf32>) -> tensor<1x4x4x!fine>
  %rd = octet.dequantize %rq : (tensor<1x4x4x!fine>) -> tensor<1x4x4xf32>
  // CHECK: nn.softmax {{.*}} : (tensor<1x2x4x4x!quant{{.*}}) -> tensor<1x2x4x4xf32>
  %s = nn.softmax %x axis 1 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: nn.concat {{.*}} -> tensor<1x4x4x4xf32>
  // expected-remark @below {{OCT301 | Category:octet-lower | Remark="stays float: an operand is real-valued"}}
  %c = nn.concat %x, %real axis 1 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
  %cq = octet.quantize %c : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4x!fine>
  %cd = octet.dequantize %cq : (tensor<1x4x4x4x!fine>) -> tensor<1x4x4x4xf32>
  // CHECK: nn.reshape {{.*}} -> tensor<1x32xf32>
  // expected-remark @below {{OCT302 | Category:octet-lower | Remark="stays float: its result is used as real numbers only"}}
  %f = nn.reshape %x : (tensor<1x2x4x4xf32>) -> tensor<1x32xf32>
  return %rd, %s, %cd, %f : tensor<1x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x32xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.25>

// 9 000 000 times 255 does not fit into 32 bits.
// CHECK-LABEL: func @sum_may_overflow
// CHECK: nn.avg_pool {{.*}} -> tensor<1x1x1x1xf32>
func.func @sum_may_overflow(%xq: tensor<1x1x3000x3000x!x>) -> tensor<1x1x1x1x!x> {
  %x = octet.dequantize %xq : (tensor<1x1x3000x3000x!x>) -> tensor<1x1x3000x3000xf32>
  // expected-remark @below {{OCT307 | Category:octet-lower | Remark="stays float: the 32-bit accumulator may overflow"}}
  %m = nn.avg_pool %x kernel [3000, 3000] : (tensor<1x1x3000x3000xf32>) -> tensor<1x1x1x1xf32>
  %y = octet.quantize %m : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x1x!x>
  return %y : tensor<1x1x1x1x!x>
}

// -----

!q = !quant.uniform<u8:f32, 0.5>
!low = !quant.uniform<u8<0:3>:f32, 0.5>

// Values are copied into wider bounds, and clamped by a table to narrower ones.
// CHECK-LABEL: func @other_bounds
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4x4x!quant.uniform<u8:f32, 5.000000e-01>>, %[[L:[^:]*]]:
// CHECK: %[[M:.*]] = nn.max_pool %[[X]] {{.*}} -> tensor<1x2x2x2x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK: %[[T:.*]] = nn.table %[[M]], [0, 1, 2, 3, 3, 3, {{.*}} -> tensor<1x2x2x2x!quant.uniform<u8<0:3>:f32, 5.000000e-01>>
// CHECK: %[[W:.*]] = nn.max_pool %[[L]] {{.*}} -> tensor<1x2x2x2x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NOT: nn.table
// CHECK: return %[[T]], %[[W]]
func.func @other_bounds(%xq: tensor<1x2x4x4x!q>, %lq: tensor<1x2x4x4x!low>) -> (tensor<1x2x2x2x!low>, tensor<1x2x2x2x!q>) {
  %x = octet.dequantize %xq : (tensor<1x2x4x4x!q>) -> tensor<1x2x4x4xf32>
  %m = nn.max_pool %x kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %mq = octet.quantize %m : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2x!low>
  %l = octet.dequantize %lq : (tensor<1x2x4x4x!low>) -> tensor<1x2x4x4xf32>
  %w = nn.max_pool %l kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %wq = octet.quantize %w : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2x!q>
  return %mq, %wq : tensor<1x2x2x2x!low>, tensor<1x2x2x2x!q>
}

// -----

!parts = !quant.uniform<u8:f32:1, {0.5:128,0.5:128,4.0,1.0:7}>
!low = !quant.uniform<u8:f32, 0.5:128>
!one = !quant.uniform<u8:f32, 1.0:7>
!other = !quant.uniform<u8:f32, 2.0>

// A slice of channels with equal parameters has these; another scale is a table behind it.
// CHECK-LABEL: func @slices_of_channels
// CHECK-SAME: %[[X:.*]]: tensor<1x4x2x2x!quant
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[X]] {{.*}} -> tensor<1x2x2x2x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-NEXT: octet.dequantize %[[S]]
// CHECK-NEXT: %[[T:.*]] = nn.slice %[[X]] starts [0, 3, 0, 0] {{.*}} -> tensor<1x1x2x2x!quant.uniform<u8:f32, 1.000000e+00:7>>
// CHECK-NEXT: %[[U:.*]] = nn.table %[[T]], {{.*}} -> tensor<1x1x2x2x!quant.uniform<u8:f32, 2.000000e+00>>
// CHECK-NEXT: octet.dequantize %[[U]]
func.func @slices_of_channels(%xq: tensor<1x4x2x2x!parts>) -> (tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>) {
  %x = octet.dequantize %xq : (tensor<1x4x2x2x!parts>) -> tensor<1x4x2x2xf32>
  %s = nn.slice %x starts [0, 1, 0, 0] sizes [1, 2, 2, 2] steps [1, -1, 1, 1] : (tensor<1x4x2x2xf32>) -> tensor<1x2x2x2xf32>
  %sq = octet.quantize %s : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2x!low>
  %sd = octet.dequantize %sq : (tensor<1x2x2x2x!low>) -> tensor<1x2x2x2xf32>
  %t = nn.slice %x starts [0, 3, 0, 0] sizes [1, 1, 2, 2] steps [1, 1, 1, 1] : (tensor<1x4x2x2xf32>) -> tensor<1x1x2x2xf32>
  %tq = octet.quantize %t : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2x!other>
  %td = octet.dequantize %tq : (tensor<1x1x2x2x!other>) -> tensor<1x1x2x2xf32>
  return %sd, %td : tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:128>
!fine = !quant.uniform<u8:f32, 0.125:7>

// Real numbers between those of both types: no table behind it, whether they are the same or not.
// CHECK-LABEL: func @linear_resampling
// CHECK-NEXT: nn.resize %{{.*}} linear {{.*}} : (tensor<1x16x4x4x!quant{{.*}}) -> tensor<1x16x5x5x!quant.uniform<u8:f32, 1.250000e-01:7>>
// CHECK-NEXT: nn.resize %{{.*}} linear {{.*}} : (tensor<1x16x4x4x!quant{{.*}}) -> tensor<1x16x5x5x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-NEXT: return
func.func @linear_resampling(%xq: tensor<1x16x4x4x!q>) -> (tensor<1x16x5x5x!q>, tensor<1x16x5x5x!fine>) {
  %x = octet.dequantize %xq : (tensor<1x16x4x4x!q>) -> tensor<1x16x4x4xf32>
  %y = nn.resize %x size [5, 5] scales [1.25, 1.25] linear half_pixel floor : (tensor<1x16x4x4xf32>) -> tensor<1x16x5x5xf32>
  %same = octet.quantize %y : (tensor<1x16x5x5xf32>) -> tensor<1x16x5x5x!q>
  %other = octet.quantize %y : (tensor<1x16x5x5xf32>) -> tensor<1x16x5x5x!fine>
  return %same, %other : tensor<1x16x5x5x!q>, tensor<1x16x5x5x!fine>
}

// Too few for the lanes of a vector: between a dequantize and a quantize of their own, without a remark.
// CHECK-LABEL: func @resampling_of_few_channels
// CHECK-NEXT: octet.dequantize
// CHECK-NEXT: nn.resize %{{.*}} linear {{.*}} -> tensor<1x15x5x5xf32>
// CHECK-NEXT: octet.quantize
func.func @resampling_of_few_channels(%xq: tensor<1x15x4x4x!q>) -> tensor<1x15x5x5x!q> {
  %x = octet.dequantize %xq : (tensor<1x15x4x4x!q>) -> tensor<1x15x4x4xf32>
  %y = nn.resize %x size [5, 5] scales [1.25, 1.25] linear half_pixel floor : (tensor<1x15x4x4xf32>) -> tensor<1x15x5x5xf32>
  %q = octet.quantize %y : (tensor<1x15x5x5xf32>) -> tensor<1x15x5x5x!q>
  return %q : tensor<1x15x5x5x!q>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:128>
!fine = !quant.uniform<u8:f32, 0.125:7>

// A stack of two values, as one group: scales change in front, by tables.
// CHECK-LABEL: func @groups_of_movement
// CHECK-NEXT: %[[T:.*]] = nn.table %arg1, {{.*}} -> tensor<1x4x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-NEXT: %[[A:.*]] = nn.reshape %arg0 {{.*}} -> tensor<1x1x4x!quant
// CHECK-NEXT: %[[B:.*]] = nn.reshape %[[T]] {{.*}} -> tensor<1x1x4x!quant
// CHECK-NEXT: nn.concat %[[A]], %[[B]] axis 1 {{.*}} -> tensor<1x2x4x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-NEXT: return
func.func @groups_of_movement(%xq: tensor<1x4x!q>, %yq: tensor<1x4x!fine>) -> tensor<1x2x4x!q> {
  %x = octet.dequantize %xq : (tensor<1x4x!q>) -> tensor<1x4xf32>
  %y = octet.dequantize %yq : (tensor<1x4x!fine>) -> tensor<1x4xf32>
  %s = octet.group(%a = %x, %b = %y) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x2x4xf32> {
    %c = nn.reshape %a : (tensor<1x4xf32>) -> tensor<1x1x4xf32>
    %d = nn.reshape %b : (tensor<1x4xf32>) -> tensor<1x1x4xf32>
    %e = nn.concat %c, %d axis 1 : (tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> tensor<1x2x4xf32>
    octet.yield %e : tensor<1x2x4xf32>
  }
  %r = octet.quantize %s : (tensor<1x2x4xf32>) -> tensor<1x2x4x!q>
  return %r : tensor<1x2x4x!q>
}

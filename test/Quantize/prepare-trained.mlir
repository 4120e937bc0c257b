// Values and weights whose range was trained keep it; the others get observers by the mapping.
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare --split-input-file | FileCheck %s

!t = tensor<1x2xf32>
!w = tensor<2x2xf32>

// The layers between which a range was trained are two units, although linear and relu would be one.
// CHECK: octet.observer @relu #octet.column_min_max<dtype = ui8,
// CHECK-NEXT: octet.observer @fc.weight #octet.per_channel_min_max
// CHECK-NEXT: func.func @a_pair_inside_of_a_pattern_splits_it
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2xf32>
// CHECK: %[[XF:.*]] = octet.fake_quantize %[[X]] as !quant.uniform<u8:f32, 5.000000e-01:3>
// CHECK: %[[W:.*]] = octet.observe %{{.*}} by @fc.weight
// CHECK: %[[L:.*]] = nn.linear %[[XF]], %[[W]]
// CHECK: %[[LF:.*]] = octet.fake_quantize %[[L]] as !quant.uniform<u8:f32, 2.500000e-01:100>
// CHECK: %[[R:.*]] = nn.relu %[[LF]]
// CHECK: octet.observe %[[R]] by @relu
func.func @a_pair_inside_of_a_pattern_splits_it(%x: !t) -> !t {
  %w = nn.constant dense_resource<fc.weight> : !w
  %v = nn.constant dense<1.0> : !w
  %xf = octet.fake_quantize %x as !quant.uniform<u8:f32, 0.5:3> : !t
  %l = nn.linear %xf, %w {octet.origin = #octet.origin<"fc">} : (!t, !w) -> !t
  %lf = octet.fake_quantize %l as !quant.uniform<u8:f32, 0.25:100> : !t
  %r = nn.relu %lf {octet.origin = #octet.origin<"relu">} : (!t) -> !t
  %vf = octet.fake_quantize %v as !quant.uniform<i8:f32, 0.125> : !w
  %y = nn.linear %r, %vf {octet.origin = #octet.origin<"last">} : (!t, !w) -> !t
  return %y : !t
}
{-# dialect_resources: { builtin: { fc.weight: "0x040000000000803F0000C0BE0000C84200000040" } } #-}

// -----

!t = tensor<1x2xf32>
!w = tensor<2x2xf32>

// At the boundary of a pattern a pair is no obstacle. Units read the value through it, wherever it stands; others as it is.
// CHECK-LABEL: func @a_pair_behind_a_pattern
// CHECK: %[[G:.*]] = octet.group @cpu::@linear_act
// CHECK: %[[F:.*]] = octet.fake_quantize %[[G]] as !quant.uniform<u8:f32, 5.000000e-01>
// CHECK: nn.linear %[[F]]
// CHECK: nn.sin %[[G]]
// CHECK: nn.linear %[[F]]
func.func @a_pair_behind_a_pattern(%x: !t) -> (!t, !t, !t) {
  %w = nn.constant dense<1.0> : !w
  %wf = octet.fake_quantize %w as !quant.uniform<i8:f32, 0.125> : !w
  %l = nn.linear %x, %wf : (!t, !w) -> !t
  %r = nn.relu %l : (!t) -> !t
  %a = nn.linear %r, %wf : (!t, !w) -> !t
  %b = nn.sin %r : (!t) -> !t
  %f = octet.fake_quantize %r as !quant.uniform<u8:f32, 0.5> : !t
  %c = nn.linear %f, %wf : (!t, !w) -> !t
  return %a, %b, %c : !t, !t, !t
}

// -----

!i = tensor<1x2x4x4xf32>
!o = tensor<1x2x2x2xf32>
!w = tensor<2x2x1x1xf32>

// A unit that shares its input's observer has its trained range, or, where its inputs differ, one of its own.
// CHECK-DAG: octet.observer @arg0 #octet.fixed_qparams<ui8, scale = 5.000000e-01 : f32, zero_point = 3>
// CHECK-DAG: octet.observer @cat #octet.mean_squared_error<dtype = ui8,
// CHECK-LABEL: func @shared
// CHECK: %[[P:.*]] = nn.max_pool
// CHECK: octet.observe %[[P]] by @arg0
// CHECK: %[[C:.*]] = nn.concat
// CHECK: octet.observe %[[C]] by @cat
func.func @shared(%x: !i, %z: !o) -> (!o, tensor<1x2x2x2xf32>) {
  %w = nn.constant dense<1.0> : !w
  %v = nn.constant dense<1.0> : tensor<2x4x1x1xf32>
  %xf = octet.fake_quantize %x as !quant.uniform<u8:f32, 0.5:3> : !i
  %p = nn.max_pool %xf kernel [2, 2] strides [2, 2] {octet.origin = #octet.origin<"pool">} : (!i) -> !o
  %a = nn.conv %p, %w : (!o, !w) -> !o
  %zf = octet.fake_quantize %z as !quant.uniform<u8:f32, 0.25> : !o
  %c = nn.concat %p, %zf axis 1 {octet.origin = #octet.origin<"cat">} : (!o, !o) -> tensor<1x4x2x2xf32>
  %b = nn.conv %c, %v : (tensor<1x4x2x2xf32>, tensor<2x4x1x1xf32>) -> !o
  return %a, %b : !o, !o
}

// -----

!t = tensor<1x2xf32>
!w = tensor<2x2xf32>

// The backend's integers are unsigned: the same real numbers, with bounds and a zero point greater by 128.
// CHECK-LABEL: func @signed
// CHECK: %[[X:.*]] = octet.fake_quantize %{{.*}} as !quant.uniform<u8<1:255>:f32, 1.250000e-01:125> : tensor<1x2xf32>
// CHECK: nn.linear %[[X]]
func.func @signed(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : !w
  %xf = octet.fake_quantize %x as !quant.uniform<i8<-127:127>:f32, 0.125:-3> : !t
  %y = nn.linear %xf, %w : (!t, !w) -> !t
  return %y : !t
}

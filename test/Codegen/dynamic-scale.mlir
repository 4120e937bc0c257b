// RUN: octet-opt %s --split-input-file --octet-lower --octet-assign-layout --octet-emit-program=levels=avx512vnni | FileCheck %s
// RUN: octet-opt %s --split-input-file --octet-lower --octet-assign-layout --octet-emit-program=levels=sse2 | FileCheck %s --check-prefix=SSE2

!image = tensor<1x16x6x6xf32, #nn.layout<nhwc, channels = 16, pads = [0, 0, 0, 0]>>
!bytes = tensor<1x16x6x6x!quant.uniform<u8:f32, 1.0>, #nn.layout<nhwc, channels = 16, pads = [0, 0, 0, 0]>>

// The whole tensor is one row, whatever its dimensions are: four vectors of least and four of largest numbers, joined behind
// the loops.
// CHECK-LABEL: func.func private @reduce
// CHECK: %[[ONE:.*]]:8 = scf.for
// CHECK: scf.for {{.*}} to %c9 step
// CHECK-COUNT-4: vector.load {{.*}} vector<16xf32>
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: arith.cmpf olt, %[[ONE]]#1, %[[ONE]]#0

// Scales that have reciprocals in two parts are multiplied by these, others are divided by.
// CHECK-LABEL: func.func private @quantize
// CHECK: %[[R:.*]] = arith.divf %{{.*}} : f32
// CHECK: %[[BOTH:.*]] = vector.broadcast %[[R]]
// CHECK-NOT: arith.divf %{{.*}} : vector<16xf32>
// CHECK: math.fma %{{.*}}, %[[BOTH]]
// CHECK: } else {
// CHECK: arith.divf %{{.*}} : vector<16xf32>

// SSE2-LABEL: func.func private @quantize
// SSE2-NOT: } else {
// SSE2: arith.divf
func.func @main(%x: tensor<1x16x6x6xf32> {nn.name = "x"}) -> (tensor<1x16x6x6xf32> {nn.name = "y"}) {
  %r = nn.relayout %x : (tensor<1x16x6x6xf32>) -> !image
  %s, %z = octet.choose_qparams %r range [0, 255] : (!image) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %r by %s, %z : (!image, tensor<f32>, tensor<i32>) -> !bytes
  %d = octet.dequantize_dynamic %q by %s, %z : (!bytes, tensor<f32>, tensor<i32>) -> !image
  %y = nn.relayout %d : (!image) -> tensor<1x16x6x6xf32>
  return %y : tensor<1x16x6x6xf32>
}

// -----

!w = tensor<8x3x3x3x!quant.uniform<i8:f32, 0.01>>
!x = tensor<1x3x16x16xf32>
!q = tensor<1x3x16x16x!quant.uniform<u8:f32, 1.0>>

// What pads an input leaves it in planes, which are quantized sixteen pixels at a time.
// CHECK: kernel.step @quantize_planes
func.func @main(%x: !x {nn.name = "x"}) -> (tensor<1x8x16x16xf32> {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<8x3x3x3xi8> -> !w
  %s, %z = octet.choose_qparams %x range [0, 255] : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %d = octet.dequantize_dynamic %q by %s, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %f = octet.dequantize %w : (!w) -> tensor<8x3x3x3xf32>
  %y = nn.conv %d, %f pads [1, 1, 1, 1] : (!x, tensor<8x3x3x3xf32>) -> tensor<1x8x16x16xf32>
  return %y : tensor<1x8x16x16xf32>
}

// -----

!w = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.01>>
!x = tensor<1x16x8x8xf32>
!q = tensor<1x16x8x8x!quant.uniform<u8:f32, 1.0>>

// A depthwise convolution has the depthwise kernel: as a product of matrices it would be one of fifteen zeros in sixteen.
// CHECK: kernel.step @depthwise
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !w
  %s, %z = octet.choose_qparams %x range [0, 255] : (!x) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : (!x, tensor<f32>, tensor<i32>) -> !q
  %d = octet.dequantize_dynamic %q by %s, %z : (!q, tensor<f32>, tensor<i32>) -> !x
  %f = octet.dequantize %w : (!w) -> tensor<16x1x3x3xf32>
  %y = nn.conv %d, %f pads [1, 1, 1, 1] groups 16 : (!x, tensor<16x1x3x3xf32>) -> !x
  return %y : !x
}

// -----

// The parameters of sixteen rows are computed at once, those of the last rows one by one.
// CHECK-LABEL: func.func private @reduce_{{.*}}: memref<740xf32>
// CHECK: arith.divf %{{.*}} : vector<16xf64>
// CHECK: arith.fptosi %{{.*}} : vector<16xf64> to vector<16xi32>
// CHECK: arith.fptosi %{{.*}} : f64 to i32
func.func @main(%x: tensor<37x20xf32> {nn.name = "x"}) -> (tensor<37x1xf32> {nn.name = "s"}) {
  %s, %z = octet.choose_qparams %x range [0, 255] per_row : (tensor<37x20xf32>) -> (tensor<37x1xf32>, tensor<37x1xi32>)
  return %s : tensor<37x1xf32>
}

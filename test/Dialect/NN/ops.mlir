// RUN: octet-opt %s | octet-opt | FileCheck %s

// CHECK-LABEL: func @convolution
func.func @convolution(%x: tensor<1x4x8x8xf32> {nn.name = "x"}, %w: tensor<8x2x3x3xf32>, %b: tensor<8xf32>) -> (tensor<1x8x4x4xf32> {nn.name = "y"}) {
  // CHECK: nn.conv %{{.*}}, %{{.*}}, %{{.*}} strides [2, 2] pads [1, 1, 1, 1] groups 2 :
  %y = nn.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] groups 2 : (tensor<1x4x8x8xf32>, tensor<8x2x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  return %y : tensor<1x8x4x4xf32>
}

// A constant of quantized type says so; any other has its value's type.
// CHECK-LABEL: func @constants
func.func @constants() {
  // CHECK: nn.constant dense<1> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32:0, {
  %q = nn.constant dense<1> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  // CHECK: nn.constant dense<1.000000e+00> : tensor<2xf32>
  %f = nn.constant dense<1.0> : tensor<2xf32>
  return
}

// CHECK-LABEL: func @windows_and_movement
func.func @windows_and_movement(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32> {
  // CHECK: nn.max_pool %{{.*}} kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]
  %m = nn.max_pool %x kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.avg_pool %{{.*}} kernel [3, 3] count_include_pad
  %a = nn.avg_pool %m kernel [3, 3] count_include_pad : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x1xf32>
  // CHECK: nn.concat %{{.*}}, %{{.*}} axis 1
  %c = nn.concat %m, %m axis 1 : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  // CHECK: nn.slice %{{.*}} starts [0, 3, 0, 0] sizes [1, 2, 3, 3] steps [1, -1, 1, 1]
  %s = nn.slice %c starts [0, 3, 0, 0] sizes [1, 2, 3, 3] steps [1, -1, 1, 1] : (tensor<1x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.pad %{{.*}} low [0, 0, 1, 1] high [0, 0, 2, 2]
  %p = nn.pad %s low [0, 0, 1, 1] high [0, 0, 2, 2] : (tensor<1x2x3x3xf32>) -> tensor<1x2x6x6xf32>
  // CHECK: nn.clip %{{.*}} min 0.000000e+00 max 6.000000e+00
  %r = nn.clip %p min 0.0 max 6.0 : (tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32>
  // CHECK: nn.add
  %t = nn.add %r, %a : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  return %t : tensor<1x2x6x6xf32>
}

// CHECK-LABEL: func @products
func.func @products(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %k: tensor<2x16x4xf32>) -> tensor<2x4x4xf32> {
  // CHECK: nn.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %y = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<4x16xf32>, tensor<2x16x4xf32>) -> tensor<2x4x4xf32>
  %z = nn.matmul %y, %k : (tensor<4x16xf32>, tensor<2x16x4xf32>) -> tensor<2x4x4xf32>
  return %z : tensor<2x4x4xf32>
}

// CHECK-LABEL: func @normalization_and_reduction
func.func @normalization_and_reduction(%x: tensor<1x2x4x4xf32>, %c: tensor<2xf32>) -> tensor<1x2xf32> {
  // CHECK: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-03 :
  %n = nn.batch_norm %x, %c, %c, %c, %c epsilon 1.0e-3 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: nn.reduce_max %{{.*}} axes [0] keep_dims : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %0 = nn.reduce_max %n axes [0] keep_dims : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: nn.reduce_min %{{.*}} axes [0] keep_dims :
  %1 = nn.reduce_min %0 axes [0] keep_dims : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: nn.reduce_prod %{{.*}} axes [3] : (tensor<1x2x4x4xf32>) -> tensor<1x2x4xf32>
  %2 = nn.reduce_prod %1 axes [3] : (tensor<1x2x4x4xf32>) -> tensor<1x2x4xf32>
  // CHECK: nn.reduce_sum %{{.*}} axes [2] : (tensor<1x2x4xf32>) -> tensor<1x2xf32>
  %3 = nn.reduce_sum %2 axes [2] : (tensor<1x2x4xf32>) -> tensor<1x2xf32>
  // CHECK: nn.reduce_mean %{{.*}} axes [2, 3] :
  %m = nn.reduce_mean %n axes [2, 3] : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>
  // CHECK: nn.softmax %{{.*}} axis 1 :
  %s = nn.softmax %m axis 1 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %s : tensor<1x2xf32>
}

// CHECK-LABEL: func @activations
func.func @activations(%x: tensor<1x8xf32>, %slopes: tensor<8xf32>) -> tensor<1x8xf32> {
  // CHECK: nn.relu %{{.*}} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %0 = nn.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.sigmoid %
  %1 = nn.sigmoid %0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.tanh %
  %2 = nn.tanh %1 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.silu %
  %3 = nn.silu %2 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.hard_swish %
  %4 = nn.hard_swish %3 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.hard_sigmoid %{{.*}} alpha 2.000000e-01 beta 5.000000e-01 :
  %5 = nn.hard_sigmoid %4 alpha 0.2 beta 0.5 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.leaky_relu %{{.*}} alpha 0.00999999977 :
  %6 = nn.leaky_relu %5 alpha 0.01 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.elu %{{.*}} alpha 1.000000e+00 :
  %7 = nn.elu %6 alpha 1.0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.erf %
  %8 = nn.erf %7 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.softplus %
  %9 = nn.softplus %8 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.gelu %{{.*}} none :
  %10 = nn.gelu %9 none : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.gelu %{{.*}} tanh :
  %11 = nn.gelu %10 tanh : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.thresholded_relu %{{.*}} alpha 1.000000e+00 :
  %12 = nn.thresholded_relu %11 alpha 1.0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: nn.prelu %{{.*}}, %{{.*}} : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
  %13 = nn.prelu %12, %slopes : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
  return %13 : tensor<1x8xf32>
}

// CHECK-LABEL: func @functions
func.func @functions(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.abs %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.log %
  %1 = nn.log %0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.sin %
  %2 = nn.sin %1 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.cos %
  %3 = nn.cos %2 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.atan %
  %4 = nn.atan %3 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.round %
  %5 = nn.round %4 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.floor %
  %6 = nn.floor %5 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.ceil %
  %7 = nn.ceil %6 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.sign %
  %8 = nn.sign %7 : (tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// Shapes broadcast as NumPy's do.
// CHECK-LABEL: func @arithmetic
func.func @arithmetic(%x: tensor<1x2x3x3xf32>, %c: tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32> {
  // CHECK: nn.exp %
  %0 = nn.exp %x : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.sqrt %
  %1 = nn.sqrt %0 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.neg %
  %2 = nn.neg %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.sub %{{.*}}, %{{.*}} : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %3 = nn.sub %2, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.mul %
  %4 = nn.mul %3, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.div %
  %5 = nn.div %4, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.max %{{.*}}, %{{.*}} : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %max = nn.max %5, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.min %
  %min = nn.min %max, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.pow %{{.*}}, %{{.*}} : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %pow = nn.pow %min, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.fma %{{.*}}, %{{.*}}, %{{.*}} :
  %6 = nn.fma %pow, %c, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  return %6 : tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func @shapes_and_layouts
func.func @shapes_and_layouts(%x: tensor<1x3x4x6xf32>) -> tensor<1x6x4x3xf32> {
  // CHECK: nn.resize %{{.*}} size [8, 12] scales [2.000000e+00, 2.000000e+00] nearest asymmetric floor :
  %r = nn.resize %x size [8, 12] scales [2.0, 2.0] nearest asymmetric floor : (tensor<1x3x4x6xf32>) -> tensor<1x3x8x12xf32>
  // CHECK: nn.relayout %{{.*}} : (tensor<1x3x8x12xf32>) -> tensor<1x3x8x12xf32, #nn.layout<nhwc, channels = 4, pads = [1, 1, 1, 1]>>
  %l = nn.relayout %r : (tensor<1x3x8x12xf32>) -> tensor<1x3x8x12xf32, #nn.layout<nhwc, channels = 4, pads = [1, 1, 1, 1]>>
  // CHECK: nn.reshape %{{.*}} : (tensor<1x3x4x6xf32>) -> tensor<1x3x24xf32>
  %f = nn.reshape %x : (tensor<1x3x4x6xf32>) -> tensor<1x3x24xf32>
  // CHECK: nn.transpose %{{.*}} permutation [0, 3, 2, 1] :
  %t = nn.transpose %x permutation [0, 3, 2, 1] : (tensor<1x3x4x6xf32>) -> tensor<1x6x4x3xf32>
  return %t : tensor<1x6x4x3xf32>
}

!q = !quant.uniform<u8:f32, 0.5:128>

// Half of the value: entry q of the table is the byte for the quantized value q.
// CHECK-LABEL: func @table
func.func @table(%x: tensor<4x!q>) -> tensor<4x!q> {
  // CHECK: nn.table %{{.*}}, [-128, -128, -127, -127, {{.*}}, -2, -2, -1, -1] : (tensor<4x!quant.uniform<u8:f32, 5.000000e-01:128>>) ->
  %y = nn.table %x, [
      -128, -128, -127, -127, -126, -126, -125, -125, -124, -124, -123, -123, -122, -122, -121, -121, -120, -120, -119, -119, -118, -118, -117, -117, -116, -116, -115, -115, -114, -114, -113, -113,
      -112, -112, -111, -111, -110, -110, -109, -109, -108, -108, -107, -107, -106, -106, -105, -105, -104, -104, -103, -103, -102, -102, -101, -101, -100, -100, -99, -99, -98, -98, -97, -97,
      -96, -96, -95, -95, -94, -94, -93, -93, -92, -92, -91, -91, -90, -90, -89, -89, -88, -88, -87, -87, -86, -86, -85, -85, -84, -84, -83, -83, -82, -82, -81, -81,
      -80, -80, -79, -79, -78, -78, -77, -77, -76, -76, -75, -75, -74, -74, -73, -73, -72, -72, -71, -71, -70, -70, -69, -69, -68, -68, -67, -67, -66, -66, -65, -65,
      -64, -64, -63, -63, -62, -62, -61, -61, -60, -60, -59, -59, -58, -58, -57, -57, -56, -56, -55, -55, -54, -54, -53, -53, -52, -52, -51, -51, -50, -50, -49, -49,
      -48, -48, -47, -47, -46, -46, -45, -45, -44, -44, -43, -43, -42, -42, -41, -41, -40, -40, -39, -39, -38, -38, -37, -37, -36, -36, -35, -35, -34, -34, -33, -33,
      -32, -32, -31, -31, -30, -30, -29, -29, -28, -28, -27, -27, -26, -26, -25, -25, -24, -24, -23, -23, -22, -22, -21, -21, -20, -20, -19, -19, -18, -18, -17, -17,
      -16, -16, -15, -15, -14, -14, -13, -13, -12, -12, -11, -11, -10, -10, -9, -9, -8, -8, -7, -7, -6, -6, -5, -5, -4, -4, -3, -3, -2, -2, -1, -1] : (tensor<4x!q>) -> tensor<4x!q>
  return %y : tensor<4x!q>
}

// CHECK-LABEL: func @integers
func.func @integers(%x: tensor<2x5xi64>, %y: tensor<5xi64>, %f: tensor<2x5xf32>) -> tensor<2x5xf16> {
  // CHECK: nn.mod %{{.*}}, %{{.*}} : (tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi64>
  %mod = nn.mod %x, %y : (tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi64>
  // CHECK: nn.shift_left %{{.*}}, %{{.*}} :
  %left = nn.shift_left %x, %y : (tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi64>
  // CHECK: nn.shift_right %{{.*}}, %{{.*}} :
  %right = nn.shift_right %x, %y : (tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi64>
  // CHECK: nn.compare less_or_equal %{{.*}}, %{{.*}} : (tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi1>
  %c = nn.compare less_or_equal %x, %y : (tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi1>
  // CHECK: nn.not %{{.*}} : (tensor<2x5xi1>) -> tensor<2x5xi1>
  %not = nn.not %c : (tensor<2x5xi1>) -> tensor<2x5xi1>
  // CHECK: nn.constant dense<[true, false, true, true, false]> : tensor<5xi1>
  %m = nn.constant dense<[true, false, true, true, false]> : tensor<5xi1>
  // CHECK: nn.and %{{.*}}, %{{.*}} : (tensor<2x5xi1>, tensor<5xi1>) -> tensor<2x5xi1>
  %and = nn.and %not, %m : (tensor<2x5xi1>, tensor<5xi1>) -> tensor<2x5xi1>
  // CHECK: nn.or
  %or = nn.or %and, %c : (tensor<2x5xi1>, tensor<2x5xi1>) -> tensor<2x5xi1>
  // CHECK: nn.xor
  %xor = nn.xor %or, %c : (tensor<2x5xi1>, tensor<2x5xi1>) -> tensor<2x5xi1>
  // CHECK: nn.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x5xi1>, tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi64>
  %s = nn.select %xor, %x, %y : (tensor<2x5xi1>, tensor<2x5xi64>, tensor<5xi64>) -> tensor<2x5xi64>
  // CHECK: nn.cast %{{.*}} : (tensor<2x5xf32>) -> tensor<2x5xf16>
  %h = nn.cast %f : (tensor<2x5xf32>) -> tensor<2x5xf16>
  return %h : tensor<2x5xf16>
}

// CHECK-LABEL: func @positions
func.func @positions(%x: tensor<4x5xf32>, %i: tensor<2x3xi64>, %j: tensor<2xi64>, %u: tensor<2x5xf32>, %n: tensor<4x5xi32>) {
  // CHECK: nn.gather %{{.*}}, %{{.*}} axis 1 : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<4x2x3xf32>
  %g = nn.gather %x, %i axis 1 : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<4x2x3xf32>
  // CHECK: nn.scatter %{{.*}}, %{{.*}}, %{{.*}} sum : (tensor<4x5xf32>, tensor<2xi64>, tensor<2x5xf32>) -> tensor<4x5xf32>
  %s = nn.scatter %x, %j, %u sum : (tensor<4x5xf32>, tensor<2xi64>, tensor<2x5xf32>) -> tensor<4x5xf32>
  // CHECK: nn.reduce %{{.*}} max axes [0] keep_dims : (tensor<4x5xi32>) -> tensor<1x5xi32>
  %r = nn.reduce %n max axes [0] keep_dims : (tensor<4x5xi32>) -> tensor<1x5xi32>
  // CHECK: nn.cumulative_sum %{{.*}} axis 1 exclusive : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %c = nn.cumulative_sum %x axis 1 exclusive : (tensor<4x5xf32>) -> tensor<4x5xf32>
  // CHECK: nn.top_k %{{.*}} k 2 smallest : (tensor<4x5xf32>) -> tensor<4x2xi64>
  %t = nn.top_k %x k 2 smallest : (tensor<4x5xf32>) -> tensor<4x2xi64>
  return
}

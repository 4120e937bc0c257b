// RUN: octet-opt %s -split-input-file --octet-fuse-elementwise | FileCheck %s

// What one operator reads alone is computed with it, up to a quantize; a value with another reader, a smaller one, and one that
// memory rounds stay as they are.
// CHECK-LABEL: func @chain
// CHECK: %[[E:.*]] = nn.sqrt %{{.*}} : (tensor<4x1xf32>)
// CHECK-NEXT: octet.group(%[[C:.*]] = %{{.*}}, %[[X:.*]] = %arg0, %[[S:.*]] = %[[E]]) attributes {octet.origin = #octet.origin<"clip">} : (tensor<32xf32>, tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32x!quant.uniform<u8:f32, 5.000000e-01>> {
// CHECK-NEXT: %[[D:.*]] = nn.div %[[X]], %[[S]] {octet.origin = #octet.origin<"norm">}
// CHECK-NEXT: %[[M:.*]] = nn.mul %[[D]], %[[C]]
// CHECK-NEXT: octet.yield %[[M]] : tensor<4x32xf32>
// CHECK-NOT: octet.group
// CHECK: nn.add %arg0, %arg0
// CHECK: nn.cast {{.*}} -> tensor<4x32xf16>
// CHECK: nn.cast
func.func @chain(%x: tensor<4x32xf32>, %v: tensor<4x1xf32>) -> (tensor<4x32x!quant.uniform<u8:f32, 5.000000e-01>>, tensor<4x32xf32>, tensor<4x32xf32>) {
  %c = nn.constant dense<2.0> : tensor<32xf32>
  %e = nn.sqrt %v : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %d = nn.div %x, %e {octet.origin = #octet.origin<"norm">} : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %m = nn.mul %d, %c {octet.origin = #octet.origin<"norm">} : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  %q = octet.quantize %m {octet.origin = #octet.origin<"clip">} : (tensor<4x32xf32>) -> tensor<4x32x!quant.uniform<u8:f32, 5.000000e-01>>
  %a = nn.add %x, %x : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %s = nn.softmax %a axis 1 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = nn.mul %a, %s : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %h = nn.cast %x : (tensor<4x32xf32>) -> tensor<4x32xf16>
  %r = nn.cast %h : (tensor<4x32xf16>) -> tensor<4x32xf32>
  return %q, %b, %r : tensor<4x32x!quant.uniform<u8:f32, 5.000000e-01>>, tensor<4x32xf32>, tensor<4x32xf32>
}

// -----

// Every reader of the sum is part of the group, which holds integers, too.
// CHECK-LABEL: func @masked
// CHECK: %[[G:.*]] = octet.group(
// CHECK: nn.add
// CHECK: nn.compare
// CHECK: nn.select
// CHECK: octet.yield
func.func @masked(%x: tensor<4x32xf32>, %v: tensor<32xf32>) -> tensor<4x32xf32> {
  %z = nn.constant dense<0.0> : tensor<1xf32>
  %a = nn.add %x, %v : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  %n = nn.compare equal %a, %a : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xi1>
  %s = nn.select %n, %a, %z : (tensor<4x32xi1>, tensor<4x32xf32>, tensor<1xf32>) -> tensor<4x32xf32>
  return %s : tensor<4x32xf32>
}

// -----

// Images keep their operators, except for what follows a convolution: kernels across two layouts have no vectors.
// CHECK-LABEL: func @image
// CHECK-NOT: octet.group
func.func @image(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %a = nn.add %x, %x : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %b = nn.mul %a, %x : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %c = nn.conv %b, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %c : tensor<1x4x8x8xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.25>

// A linear layer in integers whose real results only the sum reads: the residual is part of its epilogue, and so is a vector
// for all rows; one for each row is not.
// CHECK-LABEL: func @residual
// CHECK: octet.group(%{{.*}} = %arg1, %{{.*}} = %arg0, %{{.*}} = %{{.*}})
// CHECK-NEXT: %[[L:.*]] = nn.linear
// CHECK-NEXT: %[[A:.*]] = nn.add %[[L]], %{{.*}}
// CHECK-NEXT: octet.yield %[[A]]
// CHECK: octet.group
// CHECK-NEXT: nn.linear
// CHECK-NEXT: nn.mul
// CHECK: nn.linear
// CHECK-NOT: octet.group
// CHECK: nn.mul
func.func @residual(%x: tensor<4x8x!q>, %r: tensor<4x32xf32>, %v: tensor<32xf32>, %c: tensor<4x1xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) {
  %w = nn.constant dense<1> : tensor<32x8xi8> -> tensor<32x8x!w>
  %l = nn.linear %x, %w : (tensor<4x8x!q>, tensor<32x8x!w>) -> tensor<4x32xf32>
  %a = nn.add %l, %r : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %m = nn.linear %x, %w : (tensor<4x8x!q>, tensor<32x8x!w>) -> tensor<4x32xf32>
  %b = nn.mul %m, %v : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  %n = nn.linear %x, %w : (tensor<4x8x!q>, tensor<32x8x!w>) -> tensor<4x32xf32>
  %d = nn.mul %n, %c : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  return %a, %b, %d : tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>
}

// -----

// A convolution in floats computes what only is read of it, also beside another image and a number for each channel; not what
// is a long chain, and not what would be read in vectors of fewer than sixteen channels.
// CHECK-LABEL: func @floats
// CHECK: octet.group
// CHECK-NEXT: %[[C:.*]] = nn.conv
// CHECK-NEXT: %[[M:.*]] = nn.mul %[[C]]
// CHECK-NEXT: %[[A:.*]] = nn.add %[[M]]
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[A]]
// CHECK-NEXT: octet.yield %[[R]]
// CHECK: nn.conv
// CHECK-NEXT: nn.silu
// CHECK: nn.conv
// CHECK-NOT: octet.group
// CHECK: nn.add
// CHECK: octet.group
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.relu
// CHECK: nn.conv
// CHECK-NEXT: octet.quantize
func.func @floats(%x: tensor<1x16x8x8xf32>, %few: tensor<1x8x8x8xf32>) -> (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8x!quant.uniform<u8:f32, 5.000000e-01>>) {
  %w = nn.constant dense<2.0> : tensor<16x16x1x1xf32>
  %v = nn.constant dense<2.0> : tensor<8x16x1x1xf32>
  %f = nn.constant dense<3.0> : tensor<1x16x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %m = nn.mul %c, %f : (tensor<1x16x8x8xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %a = nn.add %m, %x : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %r = nn.relu %a : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %d = nn.conv %r, %w : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %s = nn.silu %d : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %e = nn.conv %x, %v : (tensor<1x16x8x8xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x8x8xf32>
  %b = nn.add %e, %few : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %g = nn.conv %x, %v : (tensor<1x16x8x8xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x8x8xf32>
  %h = nn.relu %g : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %i = nn.conv %x, %v : (tensor<1x16x8x8xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x8x8xf32>
  %q = octet.quantize %i : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8x!quant.uniform<u8:f32, 5.000000e-01>>
  return %r, %s, %b, %h, %q : tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8x!quant.uniform<u8:f32, 5.000000e-01>>
}

// -----

// Products store f32 and quantized values: what makes other values of them is a step of its own.
// CHECK-LABEL: func @other_types
// CHECK: nn.conv
// CHECK-NEXT: nn.compare
// CHECK: octet.group
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.relu
func.func @other_types(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x8x8xi1>, tensor<1x16x8x8xf32>) {
  %w = nn.constant dense<2.0> : tensor<16x16x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %g = nn.compare less %c, %x : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xi1>
  %d = nn.conv %x, %w : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %r = nn.relu %d : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  return %g, %r : tensor<1x16x8x8xi1>, tensor<1x16x8x8xf32>
}

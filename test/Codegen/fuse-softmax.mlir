// RUN: octet-opt %s -split-input-file --octet-fuse-softmax | FileCheck %s

// A mask in front, and what takes the place of rows that are masked altogether behind, up to a quantize.
// CHECK-LABEL: func @masked
// CHECK: octet.group({{.*}}) {{.*}} -> tensor<2x4x32x!quant.uniform<u8:f32, 5.000000e-01>> {
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.softmax
// CHECK-NEXT: nn.compare
// CHECK-NEXT: nn.select
// CHECK-NEXT: octet.yield
// CHECK-NOT: octet.quantize
func.func @masked(%x: tensor<2x4x32xf32>, %mask: tensor<1x4x32xf32>) -> tensor<2x4x32x!quant.uniform<u8:f32, 0.5>> {
  %c = nn.constant dense<0.125> : tensor<f32>
  %z = nn.constant dense<0.0> : tensor<f32>
  %s = nn.mul %x, %c : (tensor<2x4x32xf32>, tensor<f32>) -> tensor<2x4x32xf32>
  %m = nn.add %s, %mask : (tensor<2x4x32xf32>, tensor<1x4x32xf32>) -> tensor<2x4x32xf32>
  %p = nn.softmax %m axis 2 : (tensor<2x4x32xf32>) -> tensor<2x4x32xf32>
  %n = nn.compare equal %p, %p : (tensor<2x4x32xf32>, tensor<2x4x32xf32>) -> tensor<2x4x32xi1>
  %y = nn.select %n, %p, %z : (tensor<2x4x32xi1>, tensor<2x4x32xf32>, tensor<f32>) -> tensor<2x4x32xf32>
  %q = octet.quantize %y : (tensor<2x4x32xf32>) -> tensor<2x4x32x!quant.uniform<u8:f32, 0.5>>
  return %q : tensor<2x4x32x!quant.uniform<u8:f32, 0.5>>
}

// -----

// What others read, too, stays outside, and so does a sum that a product's epilogue takes.
// CHECK-LABEL: func @read_elsewhere
// CHECK: %[[L:.*]] = nn.linear
// CHECK: %[[A:.*]] = nn.add %[[L]], %arg0
// CHECK: %[[P:.*]] = octet.group({{.*}}%[[A]]
// CHECK-NEXT: nn.softmax
// CHECK-NEXT: octet.yield
// CHECK: %[[Y:.*]] = nn.neg %[[P]]
// CHECK: return %[[P]], %[[Y]]
func.func @read_elsewhere(%x: tensor<4x16xf32>, %z: tensor<4x16x!quant.uniform<u8:f32, 0.5>>,
    %w: tensor<16x16x!quant.uniform<i8:f32, 0.5>>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %l = nn.linear %z, %w : (tensor<4x16x!quant.uniform<u8:f32, 0.5>>, tensor<16x16x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x16xf32>
  %a = nn.add %l, %x : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = nn.softmax %a axis 1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = nn.neg %p : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %p, %y : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// Left as they are: short rows, another dimension, rows beyond the stack.
// CHECK-LABEL: func @left
// CHECK-NOT: octet.group
func.func @left(%x: tensor<32x8xf32>, %z: tensor<1x8193xf32>) -> (tensor<32x8xf32>, tensor<32x8xf32>, tensor<1x8193xf32>) {
  %a = nn.softmax %x axis 1 : (tensor<32x8xf32>) -> tensor<32x8xf32>
  %b = nn.softmax %x axis 0 : (tensor<32x8xf32>) -> tensor<32x8xf32>
  %c = nn.softmax %z axis 1 : (tensor<1x8193xf32>) -> tensor<1x8193xf32>
  return %a, %b, %c : tensor<32x8xf32>, tensor<32x8xf32>, tensor<1x8193xf32>
}

// -----

// Products on both sides join a softmax whose scores no second cache holds; the memory is for 320 + 64 rows of a matrix and
// both packed operands.
// CHECK-LABEL: func @products
// CHECK: %[[S:.*]] = tensor.empty() : tensor<418560xf32>
// CHECK: octet.group({{.*}} = %[[S]]) {{.*}} -> tensor<3x320x20xf32> {
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.softmax
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: octet.yield
func.func @products(%q: tensor<3x320x20xf32>, %k: tensor<3x20x320xf32>, %v: tensor<3x320x20xf32>, %mask: tensor<320xf32>) -> tensor<3x320x20xf32> {
  %s = nn.matmul %q, %k : (tensor<3x320x20xf32>, tensor<3x20x320xf32>) -> tensor<3x320x320xf32>
  %m = nn.add %s, %mask : (tensor<3x320x320xf32>, tensor<320xf32>) -> tensor<3x320x320xf32>
  %p = nn.softmax %m axis 2 : (tensor<3x320x320xf32>) -> tensor<3x320x320xf32>
  %y = nn.matmul %p, %v : (tensor<3x320x320xf32>, tensor<3x320x20xf32>) -> tensor<3x320x20xf32>
  return %y : tensor<3x320x20xf32>
}

// -----

// Not of smaller scores, nor where something else reads them, nor where the softmax is multiplied from the left.
// CHECK-LABEL: func @other_products
// CHECK-NOT: tensor.empty
func.func @other_products(%q: tensor<64x64xf32>, %a: tensor<600x600xf32>) -> (tensor<64x64xf32>, tensor<600x600xf32>, tensor<600x600xf32>) {
  %s = nn.matmul %q, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = nn.softmax %s axis 1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = nn.matmul %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = nn.matmul %a, %a : (tensor<600x600xf32>, tensor<600x600xf32>) -> tensor<600x600xf32>
  %r = nn.softmax %t axis 1 : (tensor<600x600xf32>) -> tensor<600x600xf32>
  %z = nn.matmul %r, %t : (tensor<600x600xf32>, tensor<600x600xf32>) -> tensor<600x600xf32>
  %u = nn.matmul %a, %a : (tensor<600x600xf32>, tensor<600x600xf32>) -> tensor<600x600xf32>
  %w = nn.softmax %u axis 1 : (tensor<600x600xf32>) -> tensor<600x600xf32>
  %o = nn.matmul %a, %w : (tensor<600x600xf32>, tensor<600x600xf32>) -> tensor<600x600xf32>
  return %y, %z, %o : tensor<64x64xf32>, tensor<600x600xf32>, tensor<600x600xf32>
}

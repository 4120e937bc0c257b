// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx512vnni | FileCheck %s

// Two pixels of eight outputs are one vector: each one's four bytes are loaded into its eight lanes, four apiece.
!x = tensor<1x4x8x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<8x4x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x8x8x32x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: func.func private @dense
// CHECK: %[[FIRST:.*]] = kernel.broadcast4
// CHECK: %[[SECOND:.*]] = kernel.broadcast4
// CHECK: vector.shuffle %[[FIRST]], %[[SECOND]] [0, 1, {{.*}}, 31, 96, 97, {{.*}}, 127]
// CHECK: vector.store {{.*}} vector<64xi8>
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<8x4x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Sixteen pixels of one output are a vector, too. Three outputs share none.
!x = tensor<1x4x8x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<1x4x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x1x8x32x!quant.uniform<u8:f32, 0.5:128>>
!w3 = tensor<3x4x1x1x!quant.uniform<i8:f32, 0.5>>
!y3 = tensor<1x3x8x32x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: func.func private @dense
// CHECK-COUNT-15: vector.shuffle
// CHECK: vector.store {{.*}} vector<64xi8>
// CHECK-LABEL: func.func private @dense
// CHECK-NOT: vector.shuffle {{.*}} vector<64xi8>, vector<64xi8>
// CHECK: vector.store {{.*}} vector<3xi8>
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}, !y3 {nn.name = "z"}) {
  %w = nn.constant dense<1> : tensor<1x4x1x1xi8> -> !w
  %w3 = nn.constant dense<1> : tensor<3x4x1x1xi8> -> !w3
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  %1 = nn.conv %x, %w3 : (!x, !w3) -> !y3
  return %0, %1 : !y, !y3
}

// -----

// Four vectors go through a sigmoid in step.
!x = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: func.func private @dense
// CHECK: arith.divf
// CHECK-NEXT: arith.divf
// CHECK-NEXT: arith.divf
// CHECK-NEXT: arith.divf
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %0 = octet.group(%a = %x, %b = %w) : (!x, !w) -> !x {
    %1 = nn.conv %a, %b : (!x, !w) -> tensor<1x16x8x8xf32>
    %2 = nn.sigmoid %1 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
    octet.yield %2 : tensor<1x16x8x8xf32>
  }
  return %0 : !x
}

// -----

// Every other of four pixels of sixteen channels: the first and third of one vector, the second and fourth of another one, which
// begins with its last pixel.
!x = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: func.func private @depthwise
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, {{.*}}, 15, 32, {{.*}}, 47, 80, {{.*}}, 95, 112, {{.*}}, 127]
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !w
  %0 = nn.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] groups 16 : (!x, !w) -> !y
  return %0 : !y
}

// -----

// SiLU and GELU that are coarse are polynomials, others have a division.
!x = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.5>>
!z = tensor<1x16x8x8x!quant.uniform<u8:f32, 1.0e-4:128>>

// CHECK-LABEL: func.func private @dense
// CHECK-COUNT-4: math.absf
// CHECK-COUNT-36: math.fma
// CHECK-NOT: arith.divf
// CHECK: vector.store
// CHECK-LABEL: func.func private @dense
// CHECK-NOT: math.absf
// CHECK: arith.divf
// CHECK: vector.store
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}, !z {nn.name = "z"}) {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %shift = nn.constant dense<1.0> : tensor<16x1x1xf32>
  %low = nn.constant dense<-20.0> : tensor<1xf32>
  %0 = octet.group(%a = %x, %b = %w, %c = %shift, %d = %low) : (!x, !w, tensor<16x1x1xf32>, tensor<1xf32>) -> !x {
    %1 = nn.conv %a, %b : (!x, !w) -> tensor<1x16x8x8xf32>
    %2 = nn.silu %1 {coarse} : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
    %3 = nn.sub %2, %c : (tensor<1x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<1x16x8x8xf32>
    %4 = nn.max %3, %d : (tensor<1x16x8x8xf32>, tensor<1xf32>) -> tensor<1x16x8x8xf32>
    octet.yield %4 : tensor<1x16x8x8xf32>
  }
  %5 = octet.group(%a = %x, %b = %w) : (!x, !w) -> !z {
    %1 = nn.conv %a, %b : (!x, !w) -> tensor<1x16x8x8xf32>
    %2 = nn.silu %1 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
    octet.yield %2 : tensor<1x16x8x8xf32>
  }
  return %0, %5 : !x, !z
}

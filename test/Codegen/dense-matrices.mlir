// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=i8mm | FileCheck %s
// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=sve256 | FileCheck %s --check-prefix=SVE256

// Eight channels of two pixels with those of two outputs. Weights are loaded where they are multiplied, after a prologue has joined
// the steps of their panels.
!x = tensor<1x32x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @i8mm
// CHECK: kernel.step @write_joined [#kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared [[JOINED:[0-9]+]]>] bounds [8] range 2
// CHECK: kernel.step @dense{{.*}}#kernel.arg<prepared [[JOINED]]>
// CHECK: func.func private @dense
// CHECK-NOT: arith.xori
// CHECK: %[[FIRST:.*]] = vector.load {{.*}} vector<16xi8>
// CHECK: %[[SECOND:.*]] = vector.load {{.*}} vector<16xi8>
// CHECK: %[[FIRST64:.*]] = vector.bitcast %[[FIRST]] : vector<16xi8> to vector<2xi64>
// CHECK: %[[SECOND64:.*]] = vector.bitcast %[[SECOND]] : vector<16xi8> to vector<2xi64>
// CHECK: %[[PAIR:.*]] = vector.shuffle %[[FIRST64]], %[[SECOND64]] [0, 2]
// CHECK: %[[STEP:.*]] = vector.bitcast %[[PAIR]] : vector<2xi64> to vector<16xi8>
// CHECK: %[[WEIGHTS:.*]] = vector.load %arg1[{{.*}} vector<16xi8>
// CHECK-NEXT: kernel.dot8 {{.*}}, %[[STEP]], %[[WEIGHTS]]
// CHECK-NEXT: kernel.dot8 {{.*}}, %[[WEIGHTS]]

// Four outputs fill a register of 256 bits, in which input is there twice. Tiles are of two panels, which share that.
// SVE256-LABEL: module @sve256
// SVE256: func.func private @dense
// SVE256: vector.shuffle {{.*}} [0, 2, 0, 2] : vector<2xi64>, vector<2xi64>
// SVE256-COUNT-32: kernel.dot8 {{.*}} : vector<8xi32>
// SVE256-NOT: kernel.dot8
// SVE256: return
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x32x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Twenty channels: two steps and a rest of four bytes.
!x = tensor<8x20x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x20x!quant.uniform<i8:f32, 0.5>>
!y = tensor<8x16x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @i8mm
// CHECK: kernel.step @write_joined {{.*}} bounds [5] range 1
// CHECK: func.func private @dense
// CHECK: vector.load {{.*}} vector<16xi8>
// CHECK: scf.yield
// CHECK: vector.load {{.*}} vector<4xi8>
// CHECK: kernel.dot8
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x20xi8> -> !w
  %0 = nn.linear %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// One pixel multiplies by lanes.
!x = tensor<1x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x32x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @i8mm
// CHECK-NOT: kernel.dot8
// CHECK: kernel.dot4 {{.*}} signed
// CHECK-NOT: kernel.dot8
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x32xi8> -> !w
  %0 = nn.linear %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Sums below zero give the zero point: an FMA scales sums that are floats from 2^23 on, and what it overwrites is loaded for each.
!x = tensor<4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.5>>
!y = tensor<4x16x!quant.uniform<u8:f32, 0.5>>

// CHECK-LABEL: module @i8mm
// CHECK-COUNT-4: kernel.reload {{.*}} : memref<{{.*}}xi32{{.*}}>, vector<4xi32>
// CHECK: kernel.dot4 {{.*}} signed
// CHECK-COUNT-4: kernel.reload {{.*}} : memref<{{.*}}xf32{{.*}}>, vector<4xf32>
// CHECK: math.fma
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x8xi8> -> !w
  %0 = nn.linear %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Sums below zero are stored as well: they are converted before they are scaled.
!x = tensor<4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.5>>
!y = tensor<4x16x!quant.uniform<u8:f32, 0.5:1>>

// CHECK-LABEL: module @i8mm
// CHECK: kernel.dot4 {{.*}} signed
// CHECK-NOT: math.fma
// CHECK: arith.subf
// CHECK: arith.mulf
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x8xi8> -> !w
  %0 = nn.linear %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// One pixel has nothing to load again: its kernel is that of level dotprod.
!x = tensor<1x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x32x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.5>>

// CHECK-LABEL: module @i8mm
// CHECK-NOT: kernel.reload
// CHECK-NOT: math.fma
// CHECK: kernel.dot4 {{.*}} signed
// CHECK-NOT: kernel.reload
// CHECK-NOT: math.fma
// CHECK: arith.subf
// CHECK: arith.mulf
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x32xi8> -> !w
  %0 = nn.linear %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Two pixels of a 3x3 convolution: three kernel columns multiply four input pixels, each of which is loaded once by the time that LLVM has
// seen equal loads; a loop over kernel rows is all there is.
!x = tensor<1x16x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x2x2x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @i8mm
// CHECK: func.func private @dense
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-48: kernel.dot8
// CHECK: scf.yield
// CHECK-NOT: kernel.dot8
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}

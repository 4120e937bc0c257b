// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=dotprod,neon | FileCheck %s
// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=sve512 | FileCheck %s --check-prefix=SVE512

// AArch64: one load brings the input of four steps (32 bytes: two loads), which is multiplied lane by lane. Without dot products,
// two steps' products are added in i16. Where a register holds all lanes, each step is loaded into them.
// SVE512-LABEL: module @sve512
// SVE512: func.func private @dense
// SVE512: %[[BYTES:.*]] = kernel.broadcast4
// SVE512-COUNT-2: kernel.dot4 %{{.*}}, %[[BYTES]], %{{.*}} signed
!x = tensor<1x32x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @dotprod
// CHECK: func.func private @dense
// CHECK: vector.load {{.*}} vector<16xi8>
// CHECK-NOT: arith.xori
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 0, 1, 2, 3,
// CHECK: vector.shuffle {{.*}} [12, 13, 14, 15, 12, 13, 14, 15,
// CHECK: kernel.dot4 {{.*}} signed
// CHECK-NOT: kernel.dot4 {{.*}} %{{[0-9a-z_]+$}}
// Sums are the bits of floats near 1.5 * 2^23, and so are rounded values, whose low bits are i16.
// CHECK: %[[FLOAT:.*]] = arith.subf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[FLOAT]], %{{.*}} : vector<16xf32>
// CHECK: %[[ROUNDED:.*]] = arith.addf %[[SCALED]], %{{.*}} : vector<16xf32>
// CHECK: %[[BITS:.*]] = vector.bitcast %[[ROUNDED]] : vector<16xf32> to vector<16xi32>
// CHECK: arith.trunci %[[BITS]] : vector<16xi32> to vector<16xi16>
// CHECK-LABEL: module @neon
// CHECK: func.func private @dense
// CHECK: arith.muli {{.*}} : vector<64xi16>
// CHECK: arith.muli {{.*}} : vector<64xi16>
// CHECK: %[[WORDS:.*]] = arith.addi {{.*}} : vector<64xi16>
// CHECK: kernel.add_pairs {{.*}}, %[[WORDS]]
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x32x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Twice -128 * -128 is no i16: products of a step go into the sum by themselves.
!x = tensor<1x32x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @neon
// CHECK: func.func private @dense
// CHECK: %[[WORDS:.*]] = arith.muli {{.*}} : vector<64xi16>
// CHECK-NEXT: kernel.add_pairs {{.*}}, %[[WORDS]]
// CHECK-NOT: arith.addi {{.*}} : vector<64xi16>
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<-128> : tensor<32x32x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Sums are the bits of floats, which an FMA converts and scales where all below zero give the least byte. Of a large bias
// what is taken off their floats is a parameter. Sums that may differ by more than 2^23 are converted.
!x = tensor<8x48x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x48x!quant.uniform<i8:f32, 0.5>>
!b = tensor<16x!quant.uniform<i32:f32, 0.25>>
!y = tensor<8x16x!quant.uniform<u8:f32, 16.0>>
!z = tensor<8x16x!quant.uniform<u8:f32, 1.5e6>>
!v = tensor<8x272x!quant.uniform<u8:f32, 0.5>>
!u = tensor<16x272x!quant.uniform<i8:f32, 0.5>>

// CHECK-LABEL: module @dotprod
// CHECK-LABEL: func.func private @dense_4
// CHECK-NOT: arith.sitofp
// CHECK: math.fma
// CHECK-LABEL: func.func private @dense_5
// CHECK-NOT: arith.sitofp
// CHECK: %[[MIDDLES:.*]] = vector.load %arg4[{{.*}} vector<16xf32>
// CHECK: %[[FLOAT:.*]] = vector.bitcast {{.*}} : vector<16xi32> to vector<16xf32>
// CHECK-NEXT: arith.subf %[[FLOAT]], %[[MIDDLES]] : vector<16xf32>
// CHECK-LABEL: func.func private @dense_6
// CHECK: arith.sitofp {{.*}} vector<16xi32> to vector<16xf32>
func.func @main(%x: !x {nn.name = "x"}, %v: !v {nn.name = "v"}) -> (!y {nn.name = "y"}, !z {nn.name = "z"}, !z {nn.name = "a"}) {
  %w = nn.constant dense<1> : tensor<16x48xi8> -> !w
  %u = nn.constant dense<127> : tensor<16x272xi8> -> !u
  %s = nn.constant dense<7> : tensor<16xi32> -> !b
  %b = nn.constant dense<1073741824> : tensor<16xi32> -> !b
  %0 = nn.linear %x, %w, %s {octet.origin = #octet.origin<"near">} : (!x, !w, !b) -> !y
  %1 = nn.linear %x, %w, %b {octet.origin = #octet.origin<"far">} : (!x, !w, !b) -> !z
  %2 = nn.linear %v, %u, %b {octet.origin = #octet.origin<"wide">} : (!v, !u, !b) -> !z
  return %0, %1, %2 : !y, !z, !z
}

// -----

// Products beyond i32, of a result with a tiny scale: they are numbers, which are clamped and rounded to i16 as others are.
!x = tensor<8x48x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x48x!quant.uniform<i8:f32, 0.5>>
!y = tensor<8x16x!quant.uniform<u8:f32, 1.0e-18:128>>

// CHECK-LABEL: module @dotprod
// CHECK: func.func private @dense
// CHECK-NOT: arith.cmpf
// CHECK: %[[LEAST:.*]] = arith.maximumf
// CHECK: %[[CLAMPED:.*]] = arith.minimumf %[[LEAST]]
// CHECK: %[[ROUNDED:.*]] = arith.addf %[[CLAMPED]]
// CHECK: vector.bitcast %[[ROUNDED]] : vector<16xf32> to vector<16xi32>
// CHECK-NOT: kernel.pack
// CHECK: arith.trunci {{.*}} : vector<16xi32> to vector<16xi8>
// CHECK: return
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x48xi8> -> !w
  %0 = nn.linear %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Four channels: loads of sixteen bytes serve four pixels, twelve bytes of a kernel row are three lanes. Five pixels of a row are 28
// bytes.
!x = tensor<1x4x5x7x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x4x3x3x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x3x5x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @dotprod
// CHECK: func.func private @dense
// CHECK: vector.load {{.*}} vector<16xi8>
// CHECK: vector.load {{.*}} vector<16xi8>
// CHECK-NOT: vector.load %arg0{{.*}} vector<16xi8>
// CHECK: return
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x4x3x3xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Eight channels: the weights of both steps stay in registers, beside the sums of two pixels.
!x = tensor<1x8x8x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x8x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x8x32x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @dotprod
// CHECK: func.func private @dense
// CHECK-COUNT-4: kernel.dot4
// CHECK-NOT: kernel.dot4
// CHECK-LABEL: module @neon
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x8x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Sixteen channels: those of four steps of one panel.
!x = tensor<1x16x8x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x16x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x32x8x32x!quant.uniform<u8:f32, 0.5>>

// CHECK-LABEL: module @dotprod
// CHECK: func.func private @dense
// CHECK-COUNT-8: kernel.dot4
// CHECK-NOT: kernel.dot4
// CHECK-LABEL: module @neon
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x16x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}

// -----

// Where results take more than a product each, weights are loaded for each tile, of more pixels.
!x = tensor<1x16x8x32x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x16x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x32x8x32x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @dotprod
// CHECK: func.func private @dense
// CHECK-COUNT-4: kernel.reload {{.*}} : memref<{{.*}}xi8{{.*}}>, vector<16xi8>
// CHECK-COUNT-5: kernel.dot4
// CHECK: kernel.reload {{.*}}, vector<16xi8>
// CHECK-COUNT-15: kernel.dot4
// CHECK-NOT: kernel.dot4
// CHECK-LABEL: module @neon
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x16x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}

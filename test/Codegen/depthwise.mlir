// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx512vnni,sse2 | FileCheck %s
// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=dotprod | FileCheck %s --check-prefix=ARM

// Weights of a depthwise convolution lie in the library once and are written in each level's order when a model is made:
// two output rows of 64 channels at a time where registers allow, one row of 16 elsewhere, and as
// words where these are multiplied. Layers with the same weights share them.
!dx = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!dw = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.5>>
!db = tensor<16x!quant.uniform<i32:f32, 0.25>>

// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.program @main level "avx512vnni" {{.*}} prologue {
// CHECK: kernel.step @write_depthwise [#kernel.arg<weights [[$SOURCE:[0-9]+]]>, #kernel.arg<prepared [[LONG:[0-9]+]]>] bounds [16, 1, 4, 2, 1, 3, 3] range 64
// CHECK-NOT: @write_depthwise
// CHECK: } {
// CHECK: kernel.step @depthwise{{.*}}#kernel.arg<prepared [[LONG]]>
// CHECK: kernel.step @depthwise{{.*}}#kernel.arg<prepared [[LONG]]>
// CHECK-LABEL: module @sse2
// CHECK: kernel.program @main level "sse2" {{.*}} prologue {
// CHECK-NOT: @write_depthwise [
// CHECK-NOT: @write_i16
// CHECK: kernel.step @write_depthwise_i16 [#kernel.arg<weights [[$SOURCE]]>, #kernel.arg<prepared [[I16:[0-9]+]]>] bounds [16, 4, 1, 1, 1, 3, 3] range 64
// CHECK-NEXT: } {
// CHECK: kernel.step @depthwise{{.*}}#kernel.arg<prepared [[I16]]>
// CHECK-NEXT: kernel.step @depthwise{{.*}}#kernel.arg<prepared [[I16]]>
func.func @main(%x: !dx {nn.name = "x"}) -> (!dx {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !dw
  %b = nn.constant dense<7> : tensor<16xi32> -> !db
  %0 = nn.conv %x, %w, %b pads [1, 1, 1, 1] groups 16 {octet.origin = #octet.origin<"depthwise1">} : (!dx, !dw, !db) -> !dx
  %1 = nn.conv %0, %w, %b pads [1, 1, 1, 1] groups 16 {octet.origin = #octet.origin<"depthwise2">} : (!dx, !dw, !db) -> !dx
  return %1 : !dx
}

// -----

// A kernel of one row is walked over as one of one column: dot products are of four rows. Threads share the columns.
!tx = tensor<1x64x1x32x!quant.uniform<u8:f32, 0.5:128>>
!tw = tensor<64x1x1x9x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.step @write_depthwise {{.*}} bounds [64, 1, 4, 2, 1, 9, 1] range 64
// CHECK: kernel.step @depthwise{{.*}} range 16
func.func @main(%x: !tx {nn.name = "x"}) -> (!tx {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<64x1x1x9xi8> -> !tw
  %0 = nn.conv %x, %w pads [0, 4, 0, 4] groups 64 : (!tx, !tw) -> !tx
  return %0 : !tx
}

// -----

// Floats: eight pixels of a row at a time where registers allow, whose columns are loaded once; one elsewhere.
// CHECK-LABEL: module @avx512vnni
// CHECK: func.func private @depthwise_f32
// CHECK-COUNT-72: math.fma
// CHECK-NOT: math.fma
// CHECK: return
// CHECK-LABEL: module @sse2
func.func @main(%x: tensor<1x16x8x18xf32> {nn.name = "x"}) -> (tensor<1x16x6x16xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<16x1x3x3xf32>
  %y = nn.conv %x, %w groups 16 : (tensor<1x16x8x18xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x6x16xf32>
  return %y : tensor<1x16x6x16xf32>
}

// -----

// Several outputs per input channel: half as many channels are loaded, and each is there twice.
!x = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x32x6x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x1x3x1x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: module @avx512vnni
// CHECK: func.func private @depthwise_{{[0-9]}}
// CHECK: vector.load {{.*}}, vector<32xi8>
// CHECK: vector.shuffle %{{.*}} [0, 0, 1, 1, 2, 2, {{.*}}, 31, 31] : vector<32xi8>, vector<32xi8>
// CHECK: func.func private @depthwise_f32
// CHECK: vector.load {{.*}}, vector<8xf32>
// CHECK: vector.shuffle %{{.*}} [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7] : vector<8xf32>, vector<8xf32>
func.func @main(%x: !x {nn.name = "x"}, %f: tensor<1x8x8x18xf32> {nn.name = "f"}) -> (!y {nn.name = "y"}, tensor<1x16x6x16xf32> {nn.name = "g"}) {
  %w = nn.constant dense<1> : tensor<32x1x3x1xi8> -> !w
  %v = nn.constant dense<0.5> : tensor<16x1x3x3xf32>
  %0 = nn.conv %x, %w groups 16 : (!x, !w) -> !y
  %1 = nn.conv %f, %v groups 8 : (tensor<1x8x8x18xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x6x16xf32>
  return %0, %1 : !y, tensor<1x16x6x16xf32>
}

// -----

// Small registers: eight channels of two rows are one vector, and three pixels a turn of the loop, which carries two columns of eight
// channels along. Where kernels have more columns, their weights do not fit in registers: rows of eight channels are in blocks of
// sixteen bytes, two pixels each, which carry three of five columns along.
!x = tensor<1x8x16x16x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<8x1x3x5x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!v = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.5>>
// ARM-LABEL: module @dotprod
// ARM-DAG: kernel.step @write_depthwise {{.*}} bounds [8, 1, 1, 2, 1, 3, 5] range 16
// ARM-DAG: kernel.step @write_depthwise_pairs {{.*}} bounds [3, 3] range 32
// ARM: func.func private @depthwise
// ARM: scf.for {{.*}} -> (vector<64xi8>, vector<64xi8>, vector<64xi8>)
// ARM: func.func private @depthwise
// ARM: scf.for {{.*}} -> (vector<32xi8>, vector<32xi8>)
// ARM-COUNT-9: kernel.dot4
// ARM-NOT: kernel.dot4
// ARM: scf.yield %{{[a-z0-9_]*}}, %{{[a-z0-9_]*}} : vector<32xi8>, vector<32xi8>
func.func @main(%x: !x {nn.name = "x"}, %y: !y {nn.name = "y"}) -> (!x {nn.name = "p"}, !y {nn.name = "q"}) {
  %w = nn.constant dense<1> : tensor<8x1x3x5xi8> -> !w
  %v = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !v
  %0 = nn.conv %x, %w pads [1, 2, 1, 2] groups 8 : (!x, !w) -> !x
  %1 = nn.conv %y, %v pads [1, 1, 1, 1] groups 16 : (!y, !v) -> !y
  return %0, %1 : !x, !y
}

// -----

// Eight channels more than sixteen: parameters are in blocks of sixteen, of which the last overlaps, and has the last eight channels behind
// those eight that it has again.
!x = tensor<1x24x16x16x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<24x1x3x3x!quant.uniform<i8:f32, 0.5>>
// ARM: module @dotprod
// ARM: kernel.step @write_depthwise_pairs {{.*}} bounds [3, 3] range 48
// ARM: func.func private @depthwise
// ARM: %[[LAST:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// ARM: %[[HALF:.*]] = arith.muli %[[LAST]], %{{.*}} : index
// ARM: arith.addi %{{.*}}, %[[HALF]] : index
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<24x1x3x3xi8> -> !w
  %0 = nn.conv %x, %w pads [1, 1, 1, 1] groups 24 : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Stride 2: three blocks are one turn, so that the column that a block carries along is where it began after as many turns as a kernel has
// columns, and none is copied. The last of sixteen pixels are a loop of their own.
!x = tensor<1x16x32x32x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.5>>
// ARM: module @dotprod
// ARM: func.func private @depthwise
// ARM: scf.for {{.*}} iter_args(%{{[a-z0-9_]*}} = %{{[a-z0-9_]*}}) -> (vector<64xi8>)
// ARM-COUNT-9: kernel.dot4
// ARM-NOT: kernel.dot4
// ARM: scf.yield %{{[a-z0-9_]*}} : vector<64xi8>
// ARM: scf.for {{.*}} iter_args(%{{[a-z0-9_]*}} = %{{[a-z0-9_]*}}) -> (vector<64xi8>)
// ARM-COUNT-3: kernel.dot4
// ARM-NOT: kernel.dot4
// ARM: scf.yield %{{[a-z0-9_]*}} : vector<64xi8>
// ARM-NOT: kernel.dot4
// ARM: return
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !w
  %0 = nn.conv %x, %w strides [2, 2] pads [1, 1, 0, 0] groups 16 : (!x, !w) -> !y
  return %0 : !y
}

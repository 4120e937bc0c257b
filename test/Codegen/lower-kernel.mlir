// RUN: octet-opt %s --octet-lower-kernel=level=avx512vnni | FileCheck %s --check-prefixes=CHECK,VNNI
// RUN: octet-opt %s --octet-lower-kernel=level=avxvnni | FileCheck %s --check-prefixes=CHECK,AVXVNNI
// RUN: octet-opt %s --octet-lower-kernel=level=avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: octet-opt %s --octet-lower-kernel=level=sse2 | FileCheck %s --check-prefixes=CHECK,SSE2
// RUN: octet-opt %s --octet-lower-kernel=level=sve512 | FileCheck %s --check-prefixes=CHECK,SVE512
// RUN: octet-opt %s --octet-lower-kernel=level=sve256 | FileCheck %s --check-prefixes=CHECK,SVE256
// RUN: octet-opt %s --octet-lower-kernel=level=i8mm | FileCheck %s --check-prefixes=CHECK,I8MM
// RUN: octet-opt %s --octet-lower-kernel=level=dotprod | FileCheck %s --check-prefixes=CHECK,DOTPROD
// RUN: octet-opt %s --octet-lower-kernel=level=neon | FileCheck %s --check-prefixes=CHECK,NEON
// RUN: octet-opt %s --octet-lower-kernel=level=reference | FileCheck %s --check-prefixes=CHECK,PLAIN

// One instruction where there is one; elsewhere products of 16 bits, never the instruction that saturates (maddubs); the
// last resort is plain arithmetic.
// CHECK-LABEL: func @four_products_are_added
// CHECK-NOT: kernel.dot4
// CHECK-NOT: pmadd.ub
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// AVXVNNI-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
// AVX2-COUNT-4: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// SSE2-COUNT-8: llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"
// PLAIN-NOT: llvm.call_intrinsic
// PLAIN-COUNT-4: arith.muli
// PLAIN-NOT: llvm.call_intrinsic
// CHECK: return
func.func @four_products_are_added(%sum: vector<16xi32>, %x: vector<64xi8>, %w: vector<64xi8>) -> vector<16xi32> {
  %0 = kernel.dot4 %sum, %x, %w
  return %0 : vector<16xi32>
}

// Only AVX2 gets these: the instruction that saturates, where the products fit, and bytes in another order inside all lanes.
// CHECK-LABEL: func @pairs_of_products
// AVX2: vector.bitcast %{{.*}} : vector<8xi32> to vector<32xi8>
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.avx2.pshuf.b"
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
// AVX2-NOT: kernel
// VNNI: kernel.reorder4
// VNNI: kernel.pairs
// CHECK: return
func.func @pairs_of_products(%x: vector<64xi8>, %order: i32, %w: vector<64xi8>) -> vector<32xi16> {
  %0 = kernel.reorder4 %x, %order
  %1 = kernel.pairs %0, %w
  return %1 : vector<32xi16>
}

// AArch64 multiplies signed bytes. No other level gets these.
// CHECK-LABEL: func @four_products_of_signed_bytes_are_added
// SVE512: llvm.call_intrinsic "llvm.aarch64.sve.sdot.nxv4i32"
// SVE256-COUNT-4: llvm.call_intrinsic "llvm.aarch64.neon.sdot.v4i32.v16i8"
// DOTPROD-NOT: arith.xori
// DOTPROD-COUNT-4: llvm.call_intrinsic "llvm.aarch64.neon.sdot.v4i32.v16i8"
// DOTPROD-NOT: llvm.call_intrinsic
// NEON-NOT: arith.xori
// NEON: %[[PRODUCTS:.*]] = llvm.call_intrinsic "llvm.aarch64.neon.smull.v8i16"
// NEON-NEXT: llvm.call_intrinsic "llvm.aarch64.neon.saddlp.v4i32.v8i16"(%[[PRODUCTS]])
// VNNI-NOT: llvm.call_intrinsic
// AVX2-NOT: llvm.call_intrinsic
// CHECK: return
func.func @four_products_of_signed_bytes_are_added(%sum: vector<16xi32>, %x: vector<64xi8>, %w: vector<64xi8>) -> vector<16xi32> {
  %0 = kernel.dot4 %sum, %x, %w signed
  return %0 : vector<16xi32>
}

// Only levels that multiply matrices get these. Functions say what is fast on the level's cores, too.
// CHECK-LABEL: func @eight_products_are_added
// I8MM-SAME: target_features = #llvm.target_features<["+i8mm", "+dotprod", "+slow-paired-128"]>
// DOTPROD-SAME: target_features = #llvm.target_features<["+dotprod"]>, tune_cpu = "neoverse-n1"
// I8MM: llvm.call_intrinsic "llvm.aarch64.neon.smmla.v4i32.v16i8"
// CHECK: return
func.func @eight_products_are_added(%sum: vector<4xi32>, %x: vector<16xi8>, %w: vector<16xi8>) -> vector<4xi32> {
  %0 = kernel.dot8 %sum, %x, %w : vector<4xi32>
  return %0 : vector<4xi32>
}

// A register of SVE. Only functions that have some are told how long these are.
// CHECK-LABEL: func @two_matrices_are_added
// SVE256-SAME: target_features = #llvm.target_features<["+sve", "+i8mm", "+dotprod", "+slow-paired-128"]>, vscale_range = #llvm.vscale_range<minRange = 2 : i32, maxRange = 2 : i32>
// SVE256: %[[SUM:.*]] = vector.scalable.insert %arg0, %{{.*}}[0] : vector<8xi32> into vector<[4]xi32>
// SVE256: llvm.call_intrinsic "llvm.aarch64.sve.smmla.nxv4i32"(%[[SUM]]
// CHECK: return
func.func @two_matrices_are_added(%sum: vector<8xi32>, %x: vector<32xi8>, %w: vector<32xi8>) -> vector<8xi32> {
  %0 = kernel.dot8 %sum, %x, %w : vector<8xi32>
  return %0 : vector<8xi32>
}

// One place is loaded as often as it is said.
// CHECK-LABEL: func @reloads
// SVE256-NOT: vscale_range
// I8MM-COUNT-2: llvm.load volatile %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// DOTPROD-COUNT-2: llvm.load volatile
// NEON-COUNT-2: llvm.load volatile
// PLAIN: vector.load {{.*}} : memref<64xf32>, vector<4xf32>
// CHECK: return
func.func @reloads(%memory: memref<64xf32>, %at: index) -> (vector<4xf32>, vector<4xf32>) {
  %0 = kernel.reload %memory[%at] : memref<64xf32>, vector<4xf32>
  %1 = kernel.reload %memory[%at] : memref<64xf32>, vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func @pairs_are_added
// NEON-COUNT-8: llvm.call_intrinsic "llvm.aarch64.neon.saddlp.v4i32.v8i16"
// PLAIN-COUNT-2: arith.extsi {{.*}} : vector<32xi16> to vector<32xi32>
// CHECK: return
func.func @pairs_are_added(%sum: vector<32xi32>, %x: vector<64xi16>) -> vector<32xi32> {
  %0 = kernel.add_pairs %sum, %x
  return %0 : vector<32xi32>
}

// Words are multiplied as they are; only levels that multiply words get them.
// CHECK-LABEL: func @two_products_of_words_are_added
// AVX2-NOT: arith.shrsi
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// SSE2-NOT: arith.shrsi
// SSE2-COUNT-4: llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
func.func @two_products_of_words_are_added(%sum: vector<16xi32>, %x: vector<32xi16>, %w: vector<32xi16>) -> vector<16xi32> {
  %0 = kernel.dot2 %sum, %x, %w
  return %0 : vector<16xi32>
}

// Saturating at both ends: from below by a maximum and from above by the narrowing, or by two saturating packs.
// CHECK-LABEL: func @one_vector_is_packed
// CHECK-NOT: kernel.pack
// VNNI: %[[POSITIVE:.*]] = arith.maxsi
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.mask.pmovus.db.512"(%[[POSITIVE]],
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.sse2.packssdw.128"
// AVX2: llvm.call_intrinsic "llvm.x86.sse2.packuswb.128"
// SSE2-COUNT-2: llvm.call_intrinsic "llvm.x86.sse2.packssdw.128"
// SSE2: llvm.call_intrinsic "llvm.x86.sse2.packuswb.128"
// NEON: %[[WORDS:.*]] = llvm.call_intrinsic "llvm.aarch64.neon.sqxtn.v4i16"
// NEON: llvm.call_intrinsic "llvm.aarch64.neon.sqxtun.v8i8"
// PLAIN: arith.maxsi
// PLAIN: arith.minsi
// PLAIN: arith.trunci
// CHECK: return
func.func @one_vector_is_packed(%x: vector<16xi32>) -> vector<16xi8> {
  %0 = kernel.pack %x : vector<16xi8>
  return %0 : vector<16xi8>
}

// The same to signed bytes, which AArch64 stores.
// CHECK-LABEL: func @one_vector_is_packed_with_signs
// CHECK-NOT: kernel.pack
// VNNI-NOT: llvm.call_intrinsic
// SSE2-NOT: llvm.call_intrinsic
// NEON-COUNT-2: llvm.call_intrinsic "llvm.aarch64.neon.sqxtn.v4i16"
// NEON: llvm.call_intrinsic "llvm.aarch64.neon.sqxtn.v8i8"
// PLAIN: %[[LOW:.*]] = arith.maxsi
// PLAIN: arith.minsi %[[LOW]]
// PLAIN: arith.trunci
// CHECK: return
func.func @one_vector_is_packed_with_signs(%x: vector<16xi32>) -> vector<16xi8> {
  %0 = kernel.pack %x signed : vector<16xi8>
  return %0 : vector<16xi8>
}

// What was widened from words needs one narrowing.
// CHECK-LABEL: func @words_are_packed
// DOTPROD-NOT: sqxtn.v4i16
// DOTPROD-COUNT-2: llvm.call_intrinsic "llvm.aarch64.neon.sqxtun.v8i8"
// NEON-NOT: sqxtn.v4i16
// CHECK: return
func.func @words_are_packed(%x: vector<16xi16>) -> vector<16xi8> {
  %0 = arith.extsi %x : vector<16xi16> to vector<16xi32>
  %1 = kernel.pack %0 : vector<16xi8>
  return %1 : vector<16xi8>
}

// Halves of four vectors pack in lanes of sixteen bytes as they are, two vectors with a permutation.
// CHECK-LABEL: func @four_vectors_are_packed_in_lanes
// VNNI-NOT: vector.shuffle
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.avx2.packssdw"
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.packuswb"
// AVX2-NOT: vector.shuffle {{.*}} : vector<8xi32>
// SSE2-COUNT-2: llvm.call_intrinsic "llvm.x86.sse2.packssdw.128"
// CHECK: return
func.func @four_vectors_are_packed_in_lanes(%a: vector<16xi32>, %b: vector<16xi32>, %c: vector<16xi32>, %d: vector<16xi32>) -> vector<64xi8> {
  %0 = kernel.pack %a, %b, %c, %d in_lanes : vector<64xi8>
  return %0 : vector<64xi8>
}

// CHECK-LABEL: func @four_vectors_are_packed_in_order
// VNNI: vector.shuffle {{.*}} [0, 4, 8, 12, 1, {{.*}}] : vector<16xi32>
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.avx2.packssdw"
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.packuswb"
// AVX2: vector.shuffle {{.*}} [0, 4, 1, 5, 2, 6, 3, 7] : vector<8xi32>
// SSE2-COUNT-2: llvm.call_intrinsic "llvm.x86.sse2.packssdw.128"
// CHECK: return
func.func @four_vectors_are_packed_in_order(%a: vector<16xi32>, %b: vector<16xi32>, %c: vector<16xi32>, %d: vector<16xi32>) -> vector<64xi8> {
  %0 = kernel.pack %a, %b, %c, %d : vector<64xi8>
  return %0 : vector<64xi8>
}

// CHECK-LABEL: func @lanes_are_rounded
// NEON-COUNT-4: llvm.call_intrinsic "llvm.aarch64.neon.fcvtns.v4i32.v4f32"
// PLAIN: llvm.call_intrinsic "llvm.lrint.v16i32.v16f32"
// CHECK: return
func.func @lanes_are_rounded(%x: vector<16xf32>) -> vector<16xi32> {
  %0 = kernel.round %x : (vector<16xf32>) -> vector<16xi32>
  return %0 : vector<16xi32>
}

// The power of two of an exponential, with the float of its exponent beside: with AVX-512 the exponent stays a float.
// CHECK-LABEL: func @exponent
// VNNI: %[[N:.*]] = llvm.call_intrinsic "llvm.roundeven.v16f32"(%arg1)
// VNNI: %[[R:.*]] = arith.subf %arg1, %[[N]]
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[N]],
// AVX2: arith.sitofp
// AVX2: arith.shli
func.func @exponent(%x: vector<16xf32>, %q: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
  %n = kernel.round %q : (vector<16xf32>) -> vector<16xi32>
  %f = arith.sitofp %n : vector<16xi32> to vector<16xf32>
  %r = arith.subf %q, %f : vector<16xf32>
  %y = kernel.scale %x, %n : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
  return %r, %y : vector<16xf32>, vector<16xf32>
}

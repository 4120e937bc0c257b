// RUN: octet-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: kernel.program @net level "sse2" arena 64 state 8 prepared 192
// CHECK-SAME: inputs [#kernel.tensor<"x", tensor<2xf32>>] outputs [] weights dense<0> : tensor<4xi8> observers {a = 0 : i64}
// CHECK-SAME: prologue {
kernel.program @net level "sse2" arena 64 state 8 prepared 192 inputs [#kernel.tensor<"x", tensor<2xf32>>] outputs [] weights dense<0> : tensor<4xi8> observers {a = 0 : i64} prologue {
  // CHECK: kernel.step @p [#kernel.arg<weights 0>, #kernel.arg<prepared 64>] bounds [2, 3] range 16
  kernel.step @p [#kernel.arg<weights 0>, #kernel.arg<prepared 64>] bounds [2, 3] range 16
  // CHECK-NEXT: } {
} {
  // CHECK: kernel.step @k [#kernel.arg<arena 0>, #kernel.arg<state 0>, #kernel.arg<input 0>, #kernel.arg<prepared 64>] range 3
  kernel.step @k [#kernel.arg<arena 0>, #kernel.arg<state 0>, #kernel.arg<input 0>, #kernel.arg<prepared 64>] range 3
}

// -----

kernel.program @net level "sse2" arena 0 state 0 prepared 0 inputs [] outputs [] {
  // expected-error @below {{attribute 'args' failed to satisfy constraint: addresses}}
  kernel.step @k [1] range 3
}

// -----

kernel.program @net level "sse2" arena 64 state 0 prepared 64 inputs [] outputs [] prologue {
  // expected-error @below {{expected addresses in weights or prepared memory in a prologue, but got #kernel.arg<arena 0>}}
  kernel.step @p [#kernel.arg<arena 0>, #kernel.arg<prepared 0>] range 1
} {}

// -----

// CHECK-LABEL: func @vectors
func.func @vectors(%memory: memref<64xi8>, %at: index, %order: i32, %sums: vector<16xi32>, %weights: vector<64xi8>) -> vector<16xf32> {
  // CHECK: kernel.broadcast4 %{{.*}}[%{{.*}}] : memref<64xi8>
  %x = kernel.broadcast4 %memory[%at] : memref<64xi8>
  // CHECK: kernel.dot4 %{{.*}}, %{{.*}}, %{{.*}}
  %dot = kernel.dot4 %sums, %x, %weights
  // CHECK: kernel.dot4 %{{.*}}, %{{.*}}, %{{.*}} signed
  %signed = kernel.dot4 %dot, %x, %weights signed
  // CHECK: kernel.reorder4 %{{.*}}, %{{.*}}
  %y4 = kernel.reorder4 %x, %order
  // CHECK: kernel.pairs %{{.*}}, %{{.*}}
  %pairs = kernel.pairs %y4, %weights
  // CHECK: kernel.dot2 %{{.*}}, %{{.*}}, %{{.*}}
  %both = kernel.dot2 %signed, %pairs, %pairs
  %real = arith.sitofp %both : vector<16xi32> to vector<16xf32>
  // CHECK: kernel.round %{{.*}} : (vector<16xf32>) -> vector<16xi32>
  %exponent = kernel.round %real : (vector<16xf32>) -> vector<16xi32>
  // CHECK: kernel.scale %{{.*}}, %{{.*}} : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
  %y = kernel.scale %real, %exponent : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// CHECK-LABEL: func @reloads
func.func @reloads(%memory: memref<64xf32>, %at: index) -> vector<4xf32> {
  // CHECK: kernel.reload %{{.*}}[%{{.*}}] : memref<64xf32>, vector<4xf32>
  %0 = kernel.reload %memory[%at] : memref<64xf32>, vector<4xf32>
  return %0 : vector<4xf32>
}

// -----

// CHECK-LABEL: func @matrices
func.func @matrices(%sum: vector<4xi32>, %x: vector<16xi8>, %w: vector<16xi8>) -> vector<4xi32> {
  // CHECK: kernel.dot8 %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi32>
  %0 = kernel.dot8 %sum, %x, %w : vector<4xi32>
  return %0 : vector<4xi32>
}

// -----

// CHECK-LABEL: func @two_matrices
func.func @two_matrices(%sum: vector<8xi32>, %x: vector<32xi8>, %w: vector<32xi8>) -> vector<8xi32> {
  // CHECK: kernel.dot8 %{{.*}}, %{{.*}}, %{{.*}} : vector<8xi32>
  %0 = kernel.dot8 %sum, %x, %w : vector<8xi32>
  return %0 : vector<8xi32>
}

// -----

func.func @fewer_bytes_than_lanes_take(%sum: vector<8xi32>, %x: vector<16xi8>, %w: vector<32xi8>) {
  // expected-error @below {{'kernel.dot8' op failed to verify that eight bytes of two rows for four lanes}}
  "kernel.dot8"(%sum, %x, %w) : (vector<8xi32>, vector<16xi8>, vector<32xi8>) -> vector<8xi32>
  return
}

// -----

func.func @fewer_weights_than_lanes_take(%sum: vector<8xi32>, %x: vector<32xi8>, %w: vector<16xi8>) {
  // expected-error @below {{'kernel.dot8' op failed to verify that eight bytes of two columns for four lanes}}
  "kernel.dot8"(%sum, %x, %w) : (vector<8xi32>, vector<32xi8>, vector<16xi8>) -> vector<8xi32>
  return
}

// -----

// CHECK-LABEL: func @pairs
func.func @pairs(%sums: vector<32xi32>, %products: vector<64xi16>) -> vector<32xi32> {
  // CHECK: kernel.add_pairs %{{.*}}, %{{.*}}
  %0 = kernel.add_pairs %sums, %products
  return %0 : vector<32xi32>
}

// -----

func.func @pack(%a: vector<16xi32>) {
  // expected-error @below {{expected one or four vectors, but got 2}}
  %r = kernel.pack %a, %a : vector<32xi8>
  return
}

// -----

func.func @pack_type(%a: vector<16xi32>) {
  // expected-error @below {{expected a result of 16 bytes, but got 'vector<64xi8>'}}
  %r = kernel.pack %a : vector<64xi8>
  return
}

// -----

func.func @pack_in_lanes(%a: vector<16xi32>) {
  // expected-error @below {{expected four vectors with 'in_lanes', but got 1}}
  %r = kernel.pack %a in_lanes : vector<16xi8>
  return
}

// -----

func.func @scale_of_other_lanes(%x: vector<8xf32>, %n: vector<4xi32>) {
  // expected-error @below {{requires the same shape for all operands and results}}
  %y = kernel.scale %x, %n : (vector<8xf32>, vector<4xi32>) -> vector<8xf32>
  return
}

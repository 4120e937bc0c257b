// RUN: octet-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: kernel.program @net level "sse2" arena 64 state 8 prepared 192
// CHECK-SAME: inputs [#kernel.tensor<"x", tensor<2xf32>>] outputs [] weights dense<0> : tensor<4xi8> panels 896 observers {a = 0 : i64}
kernel.program @net level "sse2" arena 64 state 8 prepared 192 inputs [#kernel.tensor<"x", tensor<2xf32>>] outputs [] weights dense<0> : tensor<4xi8> panels 896 observers {a = 0 : i64} {
  // CHECK: kernel.dense_filter from 0 to 64 outputs 2 channels 3 pitch 4 kernel 3 3 runs 1
  kernel.dense_filter from 0 to 64 outputs 2 channels 3 pitch 4 kernel 3 3 runs 1
  // CHECK: kernel.depthwise_filter from 0 to 0 channels 16 blocks 1 parts 1 vectors 1 strip 1 stride 1 kernel 3 3
  kernel.depthwise_filter from 0 to 0 channels 16 blocks 1 parts 1 vectors 1 strip 1 stride 1 kernel 3 3
  // CHECK: kernel.widen from <panels 64> to 128 groups 3
  kernel.widen from <panels 64> to 128 groups 3
  // CHECK: kernel.parameters bytes from 4 to 640 channels 8 block 64
  kernel.parameters bytes from 4 to 640 channels 8 block 64
  // CHECK: kernel.step @k [#kernel.arg<arena 0>, #kernel.arg<state 0>, #kernel.arg<input 0>, #kernel.arg<panels 64>] range 3
  kernel.step @k [#kernel.arg<arena 0>, #kernel.arg<state 0>, #kernel.arg<input 0>, #kernel.arg<panels 64>] range 3
}

// -----

kernel.program @net level "sse2" arena 0 state 0 prepared 0 inputs [] outputs [] {
  // expected-error @below {{attribute 'args' failed to satisfy constraint: addresses}}
  kernel.step @k [1] range 3
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

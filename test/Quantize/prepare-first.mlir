// RUN: octet-opt %s --octet-attach-policy --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy --octet-explain=quantized-outputs=true | FileCheck %s --check-prefix=INTEGERS

// The small layer reads the network's input through a reshape, the large one directly.
// CHECK: small {{.*}}nn.linear {{.*}}float {{.*}}OCT113 it reads an input of the network
// CHECK: large {{.*}}nn.linear {{.*}}int8
// INTEGERS-NOT: OCT113
func.func @main(%x: tensor<4x32xf32> {nn.name = "x"}, %z: tensor<4x8x8xf32> {nn.name = "z"}) -> (tensor<4x1xf32>, tensor<4x8x512xf32>) {
  %v = nn.constant dense<0.5> : tensor<1x32xf32>
  %w = nn.constant dense<0.5> : tensor<512x8xf32>
  %r = nn.reshape %x : (tensor<4x32xf32>) -> tensor<2x2x32xf32>
  %a = nn.linear %r, %v {octet.origin = #octet.origin<"small">} : (tensor<2x2x32xf32>, tensor<1x32xf32>) -> tensor<2x2x1xf32>
  %b = nn.reshape %a : (tensor<2x2x1xf32>) -> tensor<4x1xf32>
  %y = nn.linear %z, %w {octet.origin = #octet.origin<"large">} : (tensor<4x8x8xf32>, tensor<512x8xf32>) -> tensor<4x8x512xf32>
  return %b, %y : tensor<4x1xf32>, tensor<4x8x512xf32>
}

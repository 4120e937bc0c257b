// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain=quantized-outputs=true | FileCheck %s --check-prefix=INTEGERS
// INTEGERS-NOT: OCT113

// The small layer reads the network's input through a reshape, the large one directly.
// CHECK: small {{.*}}nn.linear {{.*}}float {{.*}}OCT113 it is small beside the network, and reads an input
// CHECK: large {{.*}}nn.linear {{.*}}int8
func.func @first(%x: tensor<4x32xf32> {nn.name = "x"}, %z: tensor<4x8x8xf32> {nn.name = "z"}) -> (tensor<4x1xf32>, tensor<4x8x512xf32>) {
  %v = nn.constant dense<0.5> : tensor<1x32xf32>
  %w = nn.constant dense<0.5> : tensor<512x8xf32>
  %r = nn.reshape %x : (tensor<4x32xf32>) -> tensor<2x2x32xf32>
  %a = nn.linear %r, %v {octet.origin = #octet.origin<"small">} : (tensor<2x2x32xf32>, tensor<1x32xf32>) -> tensor<2x2x1xf32>
  %b = nn.reshape %a : (tensor<2x2x1xf32>) -> tensor<4x1xf32>
  %y = nn.linear %z, %w {octet.origin = #octet.origin<"large">} : (tensor<4x8x8xf32>, tensor<512x8xf32>) -> tensor<4x8x512xf32>
  return %b, %y : tensor<4x1xf32>, tensor<4x8x512xf32>
}

// What makes an output may be followed by a softmax, but not by another value, as of a residual.
// CHECK: body {{.*}}nn.linear {{.*}}int8
// CHECK-NEXT: residual {{.*}}nn.linear {{.*}}int8
// CHECK: logits {{.*}}nn.linear+nn.sigmoid {{.*}}float {{.*}}OCT113 {{.*}}, or makes an output
// CHECK: classes {{.*}}nn.linear {{.*}}float {{.*}}OCT113
func.func @last(%x: tensor<4x32xf32> {nn.name = "x"}) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x32xf32>) {
  %w = nn.constant dense<0.5> : tensor<512x32xf32>
  %u = nn.constant dense<0.5> : tensor<32x512xf32>
  %v = nn.constant dense<0.5> : tensor<2x32xf32>
  %c = nn.constant dense<0.5> : tensor<32x32xf32>
  %h = nn.linear %x, %w {octet.origin = #octet.origin<"body">} : (tensor<4x32xf32>, tensor<512x32xf32>) -> tensor<4x512xf32>
  %r = nn.linear %h, %u {octet.origin = #octet.origin<"residual">} : (tensor<4x512xf32>, tensor<32x512xf32>) -> tensor<4x32xf32>
  %t = nn.exp %r : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %s = nn.add %x, %t : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %k = nn.linear %h, %u : (tensor<4x512xf32>, tensor<32x512xf32>) -> tensor<4x32xf32>
  %a = nn.linear %k, %v {octet.origin = #octet.origin<"logits">} : (tensor<4x32xf32>, tensor<2x32xf32>) -> tensor<4x2xf32>
  %g = nn.sigmoid %a : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %b = nn.linear %k, %v {octet.origin = #octet.origin<"classes">} : (tensor<4x32xf32>, tensor<2x32xf32>) -> tensor<4x2xf32>
  %m = nn.softmax %b axis 1 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %g, %m, %s : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x32xf32>
}

// Each is small, but together they are not.
// CHECK: one {{.*}}nn.linear {{.*}}int8
// CHECK: other {{.*}}nn.linear {{.*}}int8
func.func @many(%x: tensor<4x32xf32> {nn.name = "x"}) -> (tensor<4x9xf32>, tensor<4x9xf32>) {
  %w = nn.constant dense<0.5> : tensor<512x32xf32>
  %u = nn.constant dense<0.5> : tensor<16x512xf32>
  %v = nn.constant dense<0.5> : tensor<9x16xf32>
  %h = nn.linear %x, %w : (tensor<4x32xf32>, tensor<512x32xf32>) -> tensor<4x512xf32>
  %k = nn.linear %h, %u : (tensor<4x512xf32>, tensor<16x512xf32>) -> tensor<4x16xf32>
  %a = nn.linear %k, %v {octet.origin = #octet.origin<"one">} : (tensor<4x16xf32>, tensor<9x16xf32>) -> tensor<4x9xf32>
  %b = nn.linear %k, %v {octet.origin = #octet.origin<"other">} : (tensor<4x16xf32>, tensor<9x16xf32>) -> tensor<4x9xf32>
  return %a, %b : tensor<4x9xf32>, tensor<4x9xf32>
}

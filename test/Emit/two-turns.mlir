// Weights and input of a loop with two turns are counted by their pointers, as in longer loops.
// REQUIRES: octet-compile
// RUN: octet-compile %s --target=aarch64-linux-gnu --cpu-level=dotprod --emit=asm --name=net -o %t.s
// RUN: FileCheck %s --input-file=%t.s

!x = tensor<1x32x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.01>>

// CHECK-LABEL: {{^}}net_dotprod_dense
// CHECK: sdot
// CHECK: add [[WEIGHTS:x[0-9]+]], [[WEIGHTS]], #256
// CHECK: sdot
// CHECK: {{^.*}}fmul
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x32x1x1xi8> -> !w
  %y = nn.conv %x, %w : (!x, !w) -> !x
  return %y : !x
}

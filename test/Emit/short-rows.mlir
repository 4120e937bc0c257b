// Rows of fewer than sixteen values are quantized in vectors on AArch64, and zero points are taken off the sum of a mean.
// REQUIRES: octet-compile
// RUN: octet-compile %s --target=aarch64-linux-gnu --cpu-level=dotprod --emit=asm --name=net -o %t.s
// RUN: FileCheck %s --input-file=%t.s

!x = tensor<1x1x12x10x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x64x12x10x!quant.uniform<u8:f32, 0.5:100>>
!z = tensor<1x64x1x1x!quant.uniform<u8:f32, 0.5:100>>
!w = tensor<64x1x3x3x!quant.uniform<i8:f32, 0.001>>

// CHECK-LABEL: {{^}}net_dotprod_quantize
// CHECK-NOT: frint
// CHECK: fmla v{{[0-9]+}}.4s
// CHECK-NOT: strb
// CHECK: str d{{[0-9]+}}
// CHECK-LABEL: {{^}}net_dotprod_avg_pool
// CHECK: sshll2
// CHECK-NOT: add v
// CHECK: b.{{ne|lo}}
func.func @main(%arg0: tensor<1x1x12x10xf32> {nn.name = "x"}) -> (!z {nn.name = "z"}) {
  %x = octet.quantize %arg0 : (tensor<1x1x12x10xf32>) -> !x
  %w = nn.constant dense<1> : tensor<64x1x3x3xi8> -> !w
  %y = nn.conv %x, %w pads [1, 1, 1, 1] : (!x, !w) -> !y
  %z = nn.avg_pool %y kernel [12, 10] : (!y) -> !z
  return %z : !z
}

// Real numbers, which may be NaN, are rounded by an addition on AArch64: the law's zero is the low half of the only NaN that there is.
// REQUIRES: octet-compile
// RUN: octet-compile %s --target=aarch64-linux-gnu --cpu-level=dotprod --emit=asm --name=net -o %t.s
// RUN: FileCheck %s --input-file=%t.s

!x = tensor<1x3x16x16x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x3x3x3x!quant.uniform<i8:f32, 0.001>>

// FPCR.DN
// CHECK: mov w[[CONTROL:[0-9]+]], #33554432
// CHECK: msr FPCR, x[[CONTROL]]
// CHECK-LABEL: {{^}}net_dotprod_quantize_planes
// CHECK-NOT: fcvtns
// CHECK: fmax v
// CHECK-NOT: fcvtns
// CHECK: st{{[12]}} {
func.func @main(%arg0: tensor<1x3x16x16xf32> {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %x = octet.quantize %arg0 : (tensor<1x3x16x16xf32>) -> !x
  %w = nn.constant dense<1> : tensor<16x3x3x3xi8> -> !w
  %y = nn.conv %x, %w pads [1, 1, 1, 1] : (!x, !w) -> !y
  return %y : !y
}

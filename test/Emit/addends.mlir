// Coefficients of polynomials are loaded for each product of NEON, which overwrites them; SVE overwrites a factor instead. Exponents need no
// instruction that converts.
// REQUIRES: octet-compile
// RUN: octet-compile %s --target=aarch64-linux-gnu --cpu-level=dotprod --emit=asm --name=net -o %t.s
// RUN: FileCheck %s --input-file=%t.s
// RUN: octet-compile %s --target=aarch64-linux-gnu --cpu-level=sve256 --emit=asm --name=net -o %t.sve.s
// RUN: FileCheck %s --check-prefix=SVE --input-file=%t.sve.s

!x = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.03:8>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.001>>

// CHECK-LABEL: {{^}}net_dotprod_dense
// CHECK-NOT: {{fcvtns|scvtf}}
// CHECK: ldur q{{[0-9]+}}, [x{{[0-9]+}}, #-256]
// CHECK: ldur q{{[0-9]+}}, [x{{[0-9]+}}, #-240]
// CHECK-NOT: {{fcvtns|scvtf}}
// CHECK: fdiv
// CHECK-NOT: {{fcvtns|scvtf}}
// CHECK: {{^.*}}ret

// SVE-LABEL: {{^}}net_sve256_dense
// SVE-NOT: #-256]
// SVE: fmad
func.func @main(%arg0: tensor<1x16x16x16xf32> {nn.name = "x"}) -> (tensor<1x16x16x16xf32> {nn.name = "y"}) {
  %x = octet.quantize %arg0 : (tensor<1x16x16x16xf32>) -> !x
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %0 = octet.group(%a = %x, %f = %w) : (!x, !w) -> !y {
    %1 = nn.conv %a, %f pads [1, 1, 1, 1] : (!x, !w) -> tensor<1x16x16x16xf32>
    %2 = nn.silu %1 : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
    octet.yield %2 : tensor<1x16x16x16xf32>
  }
  %y = octet.dequantize %0 : (!y) -> tensor<1x16x16x16xf32>
  return %y : tensor<1x16x16x16xf32>
}

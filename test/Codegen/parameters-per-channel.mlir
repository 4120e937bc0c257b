// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=avx2 | FileCheck %s

// Of a result quantized per channel the library holds scales but no reciprocals, and zero points as bytes, unless the type has
// one that is none. Then quotients may exceed 256, for which products with reciprocals are not proven to round as they do.
!x = tensor<1x16x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<2x16x1x1x!quant.uniform<i8:f32, 0.5>>
!bytes = tensor<1x2x4x4x!quant.uniform<u8:f32:1, {0.5:3, 0.25:4}>>
!any = tensor<1x2x4x4x!quant.uniform<u8:f32:1, {0.5:3, 0.25:300}>>

// CHECK: kernel.program
// CHECK: kernel.step @write_parameters [#kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared [[FIRST:[0-9]+]]>] bounds [2, 16, 6, 1463362] range 16
// CHECK-NEXT: kernel.step @write_parameters [#kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared [[SECOND:[0-9]+]]>] bounds [2, 16, 6, 2511938] range 16
// CHECK: } {
// CHECK: kernel.step @dense{{.*}}#kernel.arg<prepared [[FIRST]]>
// CHECK: kernel.step @dense{{.*}}#kernel.arg<prepared [[SECOND]]>
// CHECK: func.func private @dense
// CHECK-NOT: arith.divf
// CHECK: func.func private @dense
// CHECK: arith.divf
func.func @main(%x: !x {nn.name = "x"}) -> (!bytes {nn.name = "y"}, !any {nn.name = "z"}) {
  %w = nn.constant dense<1> : tensor<2x16x1x1xi8> -> !w
  %y = octet.group(%a = %x, %b = %w) : (!x, !w) -> !bytes {
    %0 = nn.conv %a, %b : (!x, !w) -> tensor<1x2x4x4xf32>
    %1 = nn.hard_swish %0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    octet.yield %1 : tensor<1x2x4x4xf32>
  }
  %z = octet.group(%a = %x, %b = %w) : (!x, !w) -> !any {
    %0 = nn.conv %a, %b : (!x, !w) -> tensor<1x2x4x4xf32>
    %1 = nn.hard_swish %0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    octet.yield %1 : tensor<1x2x4x4xf32>
  }
  return %y, %z : !bytes, !any
}

// Loads of level dotprod, which is scheduled for Neoverse N1, have short offsets, and rows of a loop share what counts its columns. Pointers
// move in loops without copies.
// REQUIRES: octet-compile
// RUN: octet-compile %s --target=aarch64-linux-gnu --cpu-level=dotprod --emit=asm --name=net -o %t.s
// RUN: FileCheck %s --input-file=%t.s
// RUN: octet-compile %s --target=aarch64-linux-gnu --cpu-level=neon --emit=asm --name=net -o %t.neon.s
// RUN: FileCheck %s --check-prefix=NEON --input-file=%t.neon.s
// NEON-NOT: #-253]

// Of a border that is not zero no rows are left out.
!x = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:120>>
!y = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!d = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.5>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
!b = tensor<16x!quant.uniform<i32:f32, 0.25>>

// CHECK-LABEL: {{^}}net_dotprod_depthwise
// CHECK-COUNT-4: ldur d{{[0-9]+}}, [x{{[0-9]+}}, #-221]
// CHECK-COUNT-4: add [[ROW:x[0-9]+]], [[ROW]], #48
// CHECK-LABEL: {{^}}net_dotprod_dense
// CHECK: mov w{{[0-9]+}}, #3
// CHECK-NOT: {{ldp|ldr|mov}}
// CHECK: ldur q{{[0-9]+}}, [x{{[0-9]+}}, #-253]
// CHECK-NOT: {{ldp|ldr|mov}}
// CHECK: b.ne
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %d = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !d
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %b = nn.constant dense<7> : tensor<16xi32> -> !b
  %0 = nn.conv %x, %d, %b pads [1, 1, 1, 1] groups 16 {octet.origin = #octet.origin<"depthwise1">} : (!x, !d, !b) -> !x
  %1 = nn.conv %0, %w, %b strides [2, 2] pads [1, 1, 0, 0] {octet.origin = #octet.origin<"dense">} : (!x, !w, !b) -> !y
  %2 = nn.conv %1, %d, %b pads [1, 1, 1, 1] groups 16 {octet.origin = #octet.origin<"depthwise2">} : (!y, !d, !b) -> !y
  return %2 : !y
}

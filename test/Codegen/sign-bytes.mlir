// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=dotprod,reference | FileCheck %s
// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=sse2 | FileCheck %s --check-prefix=UNSIGNED

// AArch64 multiplies signed bytes: unsigned ones become signed where the network gets them, and unsigned again where it returns them; callers see no
// other types. The largest of signed bytes is signed, and constants hold signed bytes.
!x = tensor<1x16x4x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.5>>
!m = tensor<1x16x2x4x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @dotprod
// CHECK: kernel.program @main level "dotprod"
// CHECK-SAME: <"x", tensor<1x16x4x8x!quant.uniform<u8:f32, 5.000000e-01:128>>>
// CHECK-SAME: <"y", tensor<1x16x2x4x!quant.uniform<u8:f32, 5.000000e-01:128>>>
// CHECK: kernel.step @flip{{.*}}<input
// CHECK: kernel.step @dense
// CHECK: kernel.step @max_pool
// CHECK: kernel.step @flip{{.*}}<output
// CHECK: func.func private @dense
// CHECK: kernel.dot4 {{.*}} signed
// CHECK: kernel.pack {{.*}} signed
// CHECK: func.func private @max_pool
// CHECK: arith.extsi
// CHECK-LABEL: module @reference
// CHECK: func.func private @max_pool
// CHECK: arith.extsi

// UNSIGNED-NOT: kernel.step @flip
// UNSIGNED-NOT: kernel.pack {{.*}} signed
// UNSIGNED: arith.extui
func.func @main(%x: !x {nn.name = "x"}) -> (!m {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  %1 = nn.max_pool %0 kernel [2, 2] strides [2, 2] : (!x) -> !m
  return %1 : !m
}

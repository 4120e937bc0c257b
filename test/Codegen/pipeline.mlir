// RUN: octet-opt %s --octet-codegen=levels=avx2,sse2 | FileCheck %s

// The whole way: one module per level, nothing but the LLVM dialect and the program's description.
// CHECK: module @avx2
// CHECK: kernel.step @[[KERNEL:[^ ]*]] [#kernel.arg<input 0>, #kernel.arg<output 0>] range
// CHECK: llvm.func @[[KERNEL]](%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64) attributes {{.*}}target_features = #llvm.target_features<["+avx2"
// CHECK: module @sse2
// CHECK-NOT: target_features
// CHECK-NOT: scf.
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %y = nn.silu %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// The compiler loads dialects and passes as mlir-opt does.
// REQUIRES: octet-compile
// DEFINE: %{compile} = octet-compile %s --float --stop-after=import -o %t.mlirbc
// RUN: %{compile}
// RUN: not %{compile} --load-dialect-plugin=%octet_obj/lib/OctetToyDialect.so 2>&1 | FileCheck %s
// RUN: not %{compile} --load-dialect-plugin=%s 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not %{compile} --load-pass-plugin=%octet_obj/lib/OctetToyDialect.so 2>&1 | FileCheck %s --check-prefix=PASSES
// CHECK: compiler-plugins.mlir:[[@LINE+4]]:1: error: the toy dialect refuses this
// BAD: octet-compile: error: {{.*}}compiler-plugins.mlir
// PASSES: octet-compile: error: {{.*}}OctetToyDialect.so

module attributes {toy.refused} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
}

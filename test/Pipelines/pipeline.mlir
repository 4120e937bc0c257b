// REQUIRES: octet-compile
// A batch norm that no weights take: every way to machine code expands it.
// RUN: octet-compile %s --float --cpu-level=reference -o %t.so
// RUN: octet-compile %s --float --cpu-level=reference --stop-after=program -o %t.program.mlirbc
// RUN: FileCheck %s --check-prefix=PROGRAM --input-file=%t.program.mlir
// RUN: octet-compile %s --float --cpu-level=reference --stop-after=llvm -o %t.llvm.mlirbc
// RUN: FileCheck %s --check-prefix=LLVM --input-file=%t.llvm.mlir
// RUN: octet-opt %s --octet-codegen=levels=reference | FileCheck %s --check-prefix=LLVM

// PROGRAM-NOT: nn.batch_norm
// PROGRAM: kernel.step
// PROGRAM: math.fma
// LLVM: kernel.step
// LLVM: llvm.func
func.func @main(%x: tensor<1x2x3x3xf32> {nn.name = "x"}) -> tensor<1x2x3x3xf32> {
  %scale = nn.constant dense<2.0> : tensor<2xf32>
  %r = nn.relu %x {octet.origin = #octet.origin<"relu">} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %y = nn.batch_norm %r, %scale, %scale, %scale, %scale epsilon 1.0 {octet.origin = #octet.origin<"norm">} : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

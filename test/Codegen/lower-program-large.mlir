// RUN: octet-opt %s --pass-pipeline='builtin.module(builtin.module(octet-lower-program))' | FileCheck %s

// Weights of hundreds of megabytes lie at offsets that an llvm.getelementptr's own constants cannot hold.
// CHECK: %[[OFFSET:.*]] = llvm.mlir.constant(1491139456 : i64)
// CHECK: llvm.getelementptr %{{.*}}[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
module {
  module @sse2 {
    kernel.program @main level "sse2" arena 64 state 0 prepared 0 inputs [] outputs [] {
      kernel.step @k [#kernel.arg<weights 1491139456>] range 1
    }
    llvm.func @k(!llvm.ptr, i64, i64)
  }
}

// RUN: octet-opt %S/emit-program.mlir --octet-assign-layout --octet-emit-program=levels=reference | \
// RUN: octet-opt --pass-pipeline='builtin.module(builtin.module(octet-lower-kernel,canonicalize,cse,convert-scf-to-cf,\
// RUN:   convert-vector-to-llvm,convert-math-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},\
// RUN:   convert-arith-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts,octet-lower-program))' | FileCheck %s

// A step becomes a function over the frame: it forms the addresses and calls the kernel with the part of the range it is given.
// CHECK: kernel.program @main level "reference"
// CHECK: kernel.step @[[STEP:[^ ]*]] [
// CHECK: llvm.func @[[STEP]](%[[FRAME:.*]]: !llvm.ptr{{.*}}, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK: llvm.load
// CHECK: llvm.call @{{.*}}, %[[BEGIN]], %[[END]])
// CHECK-NEXT: llvm.return

// REQUIRES: octet-compile, octet-run
// RUN: octet-compile %s --float -o %t.so
// RUN: %python %S/Inputs/make-samples.py %t
//
// The library's contents.
// RUN: octet-run %t.so | FileCheck %s --check-prefix=DESCRIBE
// DESCRIBE: network
// DESCRIBE-NEXT: input x: float32[1,4]
// DESCRIBE-NEXT: output y: float32[1,4]
// DESCRIBE-NEXT: memory: 0 bytes of weights
// DESCRIBE: level {{.*}}: 1 steps, in use
//
// One sample, many samples, an array without a name: compared with themselves and with what they should be.
// RUN: octet-run %t.so --input %t.one.npz --expect %t.one-expected.npz | FileCheck %s --check-prefix=EQUAL
// RUN: octet-run %t.so --input %t.many.npz --expect %t.many-expected.npz --output %t.out.npz --threads 2 | FileCheck %s --check-prefix=EQUAL
// RUN: octet-run %t.so --input %t.one.npy --expect %t.one-expected.npz | FileCheck %s --check-prefix=EQUAL
// RUN: octet-run %t.so --input %t.many.npz --expect %t.out.npz | FileCheck %s --check-prefix=EQUAL
// EQUAL: y: 0 of {{[0-9]+}} elements differ, max abs difference 0, largest magnitude {{[1-9]}}
//
// Differences are counted; --max-error is a tolerance relative to the largest magnitude.
// RUN: not octet-run %t.so --input %t.many.npz --expect %t.other.npz | FileCheck %s --check-prefix=DIFFER
// RUN: not octet-run %t.so --input %t.many.npz --expect %t.other.npz --max-error 0.04 | FileCheck %s --check-prefix=DIFFER
// RUN: octet-run %t.so --input %t.many.npz --expect %t.other.npz --max-error 0.07 | FileCheck %s --check-prefix=DIFFER
// DIFFER: y: 2 of 12 elements differ, max abs difference 0.5, largest magnitude 8
//
// Time.
// RUN: octet-run %t.so --benchmark | FileCheck %s --check-prefix=BENCHMARK
// BENCHMARK: median {{[0-9.]+}} us, min {{[0-9.]+}} us, 10% to 90% {{[0-9.]+}} to {{[0-9.]+}} us, {{[0-9]+}} runs, level {{[a-z0-9]+}}, 1 thread
// RUN: octet-run %t.so --profile | FileCheck %s --check-prefix=PROFILE
// PROFILE: step median us % range operator
// PROFILE-NEXT: 0 {{[0-9.]+}} 100.0 {{[0-9]+}} relu1
// PROFILE-NEXT: total {{[0-9.]+}}
//
// Levels.
// RUN: not octet-run %t.so --cpu-level mmx 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: env OCTET_CPU_LEVEL=mmx not octet-run %t.so 2>&1 | FileCheck %s --check-prefix=VARIABLE
// LEVEL: error: CPU level 'mmx' cannot be used: the network was compiled for {{.*}}; possible on this CPU: {{.+}}
// VARIABLE: error: CPU level 'mmx' (from OCTET_CPU_LEVEL) cannot be used
//
// Wrong use and wrong files.
// RUN: not octet-run %t.so --expect %t.other.npz 2>&1 | FileCheck %s --check-prefix=NOINPUT
// NOINPUT: error: --expect and --output need --input
// RUN: not octet-run %t.so --threads 0 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: error: expected 1 to 256 threads, but got 0
// RUN: not octet-run %t.no.so 2>&1 | FileCheck %s --check-prefix=NOLIBRARY
// NOLIBRARY: error: cannot load '{{.*}}.no.so': No such file or directory
// RUN: not octet-run %t.so --input %t.wrong-name.npz 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: '{{.*}}wrong-name.npz': expected an array 'x', but got 'a', 'b'
// RUN: not octet-run %t.so --input %t.wrong-shape.npz 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: '{{.*}}wrong-shape.npz': array 'x': expected float32[1,4] or a leading axis over samples, but got float32[5]
// RUN: not octet-run %t.so --input %t.wrong-type.npz 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: '{{.*}}wrong-type.npz': array 'x': expected float32[1,4] or a leading axis over samples, but got float64[1,4]
// RUN: not octet-run %t.so --input %t.one.npz --expect %t.many-expected.npz 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: '{{.*}}many-expected.npz': array 'y': expected float32[1,4], but got float32[3,4]
// RUN: not octet-run %t.so --input %t.one.npz --expect %t.wrong-name.npz 2>&1 | FileCheck %s --check-prefix=EXPECTNAME
// EXPECTNAME: error: '{{.*}}wrong-name.npz': expected an array 'y', but got 'a', 'b'
// RUN: not octet-run %t.so --input %t.one.npz --output %t.no/such.npz 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// UNWRITABLE: error: cannot write '{{.*}}.no/such.npz': No such file or directory

func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
  %0 = nn.relu %x {octet.origin = #octet.origin<"relu1">} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

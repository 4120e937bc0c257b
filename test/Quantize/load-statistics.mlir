// Files of statistics are merged, in whatever numbers they are written.
// RUN: split-file %s %t
// RUN: octet-opt %t/net.mlir --pass-pipeline='builtin.module(octet-load-statistics{files=%t/bytes.mlir,%t/numbers.mlir})' | FileCheck %s
// RUN: not octet-opt %t/net.mlir --pass-pipeline='builtin.module(octet-load-statistics)' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not octet-opt %t/net.mlir --pass-pipeline='builtin.module(octet-load-statistics{files=%t/other.mlir})' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not octet-opt %t/average.mlir --pass-pipeline='builtin.module(octet-load-statistics{files=%t/averages.mlir,%t/averages.mlir})' 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not octet-opt %t/net.mlir --pass-pipeline='builtin.module(octet-load-statistics{files=%t/absent.mlir})' 2>&1 | FileCheck %s --check-prefix=ABSENT

// CHECK: octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[-1.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK: octet.observer @h #octet.histogram<dtype = ui8, bins = 2>{{$}}
// NONE: error: octet-load-statistics has no files; give it some: files=...
// OTHER: error: {{.*}}other.mlir{{.*}}: the network has no observer 'y'
// ORDER: error: {{.*}}averages.mlir{{.*}}: the statistics of observer 'x' depend on the order of samples and cannot be merged
// ABSENT: error: {{.*}}absent.mlir

//--- net.mlir
octet.observer @x #octet.min_max<dtype = ui8>
octet.observer @h #octet.histogram<dtype = ui8, bins = 2>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
//--- bytes.mlir
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[0, 0, -128, -65, 0, 0, 0, 64]> : tensor<8xi8>
//--- numbers.mlir
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[0.0, 3.0]> : tensor<2xf32>
//--- other.mlir
octet.observer @y #octet.min_max<dtype = ui8> statistics dense<0.0> : tensor<2xf32>
//--- average.mlir
octet.observer @x #octet.moving_average_min_max<dtype = ui8>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
//--- averages.mlir
octet.observer @x #octet.moving_average_min_max<dtype = ui8> statistics dense<[0.0, 1.0]> : tensor<2xf32>

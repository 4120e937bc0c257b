// RUN: %python -c "import numpy as np; np.savez('%t.npz', x=np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 1, 2, 32) * np.float32([1, .1, .1, .1]).reshape(4, 1, 1, 1, 1))"
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-fuse --octet-prepare --octet-calibrate -o %t.mlir
// RUN: octet-opt %t.mlir --octet-scale-each-run | FileCheck %s
// RUN: octet-opt %t.mlir --octet-scale-each-run --octet-convert | FileCheck %s --check-prefix=CONVERT
// RUN: octet-opt %t.mlir --octet-scale-each-run=share=0.05 | FileCheck %s --check-prefix=SAME
// RUN: octet-opt %t.mlir --octet-scale-each-run=further=0.05 | FileCheck %s --check-prefix=FIRST
// RUN: sed 's/octet.stage/octet.bucket = 0.0, &/; s/^module {/module attributes {octet.bucket = 0.0} {/' %t.mlir | octet-opt --octet-scale-each-run | FileCheck %s --check-prefix=SAME
// RUN: sed 's/nn.name = "x"/octet.quantized, &/' %t.mlir | octet-opt --octet-scale-each-run | FileCheck %s --check-prefix=INTEGERS

// Three of four samples are a tenth as large as the first. The padding moves floats for the first layer; the second one reads floats of the first;
// buckets share what was decided by their statistics.
// CHECK-DAG: octet.observer @x.run #octet.placeholder<dtype = ui8, dynamic = true>
// CHECK-DAG: octet.observer @first.run #octet.placeholder<dtype = ui8, dynamic = true>
// CHECK-LABEL: func.func @main
// CHECK: %[[PADDED:.*]] = nn.pad %{{.*}} {{.*}}verdict = float, {{.*}}OCT102
// CHECK: %[[P:.*]] = octet.observe %[[PADDED]] by @x.run
// CHECK: %[[C:.*]] = nn.conv %[[P]], {{.*}}verdict = int8_to_float, {{.*}}OCT218
// CHECK: %[[D:.*]] = octet.observe %[[C]] by @first.run
// CHECK: nn.conv %[[D]], {{.*}}verdict = int8_to_float, {{.*}}OCT218
// CONVERT-COUNT-2: octet.choose_qparams
// FIRST-NOT: @first.run
// FIRST: @x.run
// FIRST-NOT: @first.run
// SAME-NOT: placeholder
// INTEGERS-NOT: @x.run
func.func @main(%x: tensor<1x1x2x32xf32> {nn.name = "x"}) -> tensor<1x2x2x32xf32> {
  %u = nn.constant dense<0.5> : tensor<2x1x1x3xf32>
  %v = nn.constant dense<0.25> : tensor<2x2x1x1xf32>
  %p = nn.pad %x low [0, 0, 0, 1] high [0, 0, 0, 1] value 0.0 {octet.origin = #octet.origin<"pad">} : (tensor<1x1x2x32xf32>) -> tensor<1x1x2x34xf32>
  %c = nn.conv %p, %u {octet.origin = #octet.origin<"first">} : (tensor<1x1x2x34xf32>, tensor<2x1x1x3xf32>) -> tensor<1x2x2x32xf32>
  %d = nn.conv %c, %v {octet.origin = #octet.origin<"second">} : (tensor<1x2x2x32xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x32xf32>
  return %d : tensor<1x2x2x32xf32>
}

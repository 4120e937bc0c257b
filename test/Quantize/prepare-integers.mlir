// Integers are not observed, and the report says why what reads or computes them is no int8.
// RUN: octet-opt %s --octet-attach-policy --octet-explain -o /dev/null | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy --octet-prepare=strict | FileCheck %s --check-prefix=PREPARE

// CHECK: mask {{.*}} float {{.*}}OCT106 it reads or computes integers, which stay as they are
// CHECK: words {{.*}} float {{.*}}OCT106
// CHECK: layer {{.*}} int8
// CHECK: chosen {{.*}} float {{.*}}OCT106

// PREPARE-LABEL: func @main
// PREPARE: nn.reshape %{{.*}} : (tensor<4xi64>) -> tensor<4x1xi64>
// PREPARE-NEXT: nn.compare
// PREPARE-NOT: octet.observe %{{.*}} : tensor<{{.*}}xi
func.func @main(%ids: tensor<4xi64>) -> tensor<4x6xf32> {
  %words = nn.constant dense<1.0> : tensor<9x8xf32>
  %filter = nn.constant dense<0.5> : tensor<6x8xf32>
  %zero = nn.constant dense<0> : tensor<i64>
  %none = nn.constant dense<0.0> : tensor<f32>
  %column = nn.reshape %ids {octet.origin = #octet.origin<"column">} : (tensor<4xi64>) -> tensor<4x1xi64>
  %mask = nn.compare less %zero, %column {octet.origin = #octet.origin<"mask">} : (tensor<i64>, tensor<4x1xi64>) -> tensor<4x1xi1>
  %x = nn.gather %words, %ids axis 0 {octet.origin = #octet.origin<"words">} : (tensor<9x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %l = nn.linear %x, %filter {octet.origin = #octet.origin<"layer">} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %y = nn.select %mask, %l, %none {octet.origin = #octet.origin<"chosen">} : (tensor<4x1xi1>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

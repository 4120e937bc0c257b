// REQUIRES: octet-compile
// The passes from nn to nn as one pipeline, which every network goes through, whatever its source.
// RUN: octet-opt %s --octet-tidy | FileCheck %s

// Also IR that a compilation reads, which nothing imported; but not IR that one wrote.
// RUN: octet-compile %s --float --stop-after=import -o %t.mlirbc | FileCheck %s --check-prefix=TELL
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: octet-opt %s | sed 's/^module {/module attributes {octet.stage = "import"} {/' > %t.marked.mlir
// RUN: octet-compile %t.marked.mlir --float --stop-after=import -o %t.untouched.mlirbc
// RUN: FileCheck %s --check-prefix=UNTOUCHED --input-file=%t.untouched.mlir

// TELL: import {{.*}}tidy.mlir · 2 operators

// CHECK: %[[SUM:.*]] = nn.conv {{.*}} : (tensor<1x1x3x3xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>)
// CHECK: nn.silu %[[SUM]]
// UNTOUCHED: nn.add
// UNTOUCHED: nn.sigmoid
func.func @main(%x: tensor<1x1x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %b = nn.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x3x3xf32>
  %a = nn.add %c, %b : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %s = nn.sigmoid %a : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %y = nn.mul %a, %s : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

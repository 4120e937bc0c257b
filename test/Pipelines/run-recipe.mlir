// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-attach-policy --octet-prepare --octet-calibrate --octet-run-recipe | FileCheck %s
// The passes of one place run, those of the other are parsed.
// RUN: echo 'octet.backend @b { octet.recipe before_prepare "cse,func.func(canonicalize{max-iterations=2})" after_calibrate "octet-calibrate" }' > %t.mlir
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-run-recipe=place=before-prepare | FileCheck %s --check-prefix=BEFORE
// RUN: not octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-run-recipe=place=after-calibrate 2>&1 | FileCheck %s --check-prefix=AFTER
// A backend without a recipe.
// RUN: echo 'octet.backend @b {}' > %t.mlir
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-run-recipe | FileCheck %s --check-prefix=NONE
// Mistakes, wherever they stand.
// RUN: echo 'octet.backend @b { octet.recipe after_calibrate "cse{guess=1}" }' > %t.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-run-recipe=place=before-prepare 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: echo 'octet.backend @b { octet.recipe before_prepare "cse{" }' > %t.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-run-recipe 2>&1 | FileCheck %s --check-prefix=BRACKET

// CHECK: nn.constant dense_resource<conv.bias>
// BEFORE-COUNT-1: nn.relu
// BEFORE-NOT: nn.relu
// AFTER: error: octet-calibrate has neither samples
// NONE-COUNT-2: nn.relu
// OPTION: .mlir:1:20: error: 'octet.recipe' op expected passes that are built in or loaded as a plugin in 'after_calibrate', but no such option guess; failed to add `cse` with options `guess=1`
// BRACKET: .mlir:1:20: error: 'octet.recipe' op expected passes that are built in or loaded as a plugin in 'before_prepare', but missing closing '}' while processing pass options
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<[[[[0.311]], [[-0.126]]], [[[0.0763]], [[0.413]]]]> : tensor<2x2x1x1xf32>
  %a = nn.relu %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %b = nn.relu %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %s = nn.add %a, %b : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = nn.conv %s, %w {octet.origin = #octet.origin<"conv">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %z = nn.conv %y, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %z : tensor<1x2x4x4xf32>
}

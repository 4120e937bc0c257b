// RUN: octet-opt %s --octet-attach-policy --octet-prepare | FileCheck %s --check-prefixes=CHECK,FLOAT
// RUN: octet-opt %s --octet-attach-policy --octet-prepare=quantized-outputs=true | FileCheck %s --check-prefixes=CHECK,INTEGER
// RUN: octet-opt %s --octet-attach-policy --octet-explain | FileCheck %s --check-prefix=EXPLAIN-FLOAT
// RUN: octet-opt %s --octet-attach-policy --octet-explain=quantized-outputs=true | FileCheck %s --check-prefix=EXPLAIN-INTEGER

// EXPLAIN-FLOAT: nn.relu float OCT102
// EXPLAIN-INTEGER: nn.relu int8
// Results of functions are quantized on request.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = nn.relu
// FLOAT: return %[[R]]
// INTEGER: %[[O:.*]] = octet.observe %[[R]]
// INTEGER: return %[[O]]
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<0.5> : tensor<2x2x1x1xf32>
  %y = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = nn.relu %y : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %r : tensor<1x2x4x4xf32>
}

// What becomes a state is no result of the network.
// CHECK-LABEL: func.func @state
// CHECK: %[[R:.*]] = nn.relu
// CHECK-NEXT: return %[[R]]
func.func @state(%h: tensor<1x2x4x4xf32> {nn.state = "h"}) -> (tensor<1x2x4x4xf32> {nn.state = "h"}) {
  %w = nn.constant dense<0.5> : tensor<2x2x1x1xf32>
  %y = nn.conv %h, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = nn.relu %y : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %r : tensor<1x2x4x4xf32>
}

// Weights in few bits stay as they are in front of operators with a kernel that reads them so, and become f32 in front of others.
// RUN: octet-opt %s --octet-lower | FileCheck %s

// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[I:.*]]: tensor<2xi64>
func.func @rows(%i: tensor<2xi64>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  // CHECK: %[[Q:.*]] = nn.constant dense<{{.*}}> : tensor<2x3xui4>
  %q = nn.constant dense<[[0, 5, 15], [7, 8, 9]]> : tensor<2x3xui4>
  %s = nn.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %z = nn.constant dense<[[7.5], [0.0]]> : tensor<2x1xf32>
  %w = octet.dequantize_weights %q scales %s zero_points %z : (tensor<2x3xui4>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  // The same weights for operators without such a kernel.
  // CHECK: %[[F:.*]] = nn.constant dense_resource<{{.*}}> : tensor<2x3xf32>
  // CHECK: %[[Y:.*]] = octet.group(%{{.*}} = %[[Q]], %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[AT:.*]] = %[[I]])
  // CHECK-NEXT: %[[W:.*]] = octet.dequantize_weights
  // CHECK-NEXT: %[[G:.*]] = nn.gather %[[W]], %[[AT]] axis 0
  // CHECK-NEXT: octet.yield %[[G]]
  %y = nn.gather %w, %i axis 0 : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  // CHECK: nn.transpose %[[F]]
  %t = nn.transpose %w permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %y, %t : tensor<2x3xf32>, tensor<3x2xf32>
}

// A table with integer zero points in its type takes the same way.
// CHECK-LABEL: func.func @table
func.func @table(%i: tensor<2xi64>) -> tensor<2x3xf32> {
  %q = nn.constant dense<[[0, 5, 255], [7, 8, 9]]> : tensor<2x3xui8> -> tensor<2x3x!quant.uniform<u8:f32:0, {0.5:3, 0.25:4}>>
  %w = octet.dequantize %q : (tensor<2x3x!quant.uniform<u8:f32:0, {0.5:3, 0.25:4}>>) -> tensor<2x3xf32>
  // CHECK-DAG: nn.constant dense_resource<{{.*}}zero_points> : tensor<2x1xf32>
  // CHECK: octet.group
  // CHECK-NEXT: octet.dequantize_weights %{{.*}} scales %{{.*}} zero_points %{{.*}} : (tensor<2x3xui8>,
  %y = nn.gather %w, %i axis 0 : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %q = nn.constant dense<[[0, 5, 15, 1], [7, 8, 9, 2]]> : tensor<2x4xui4>
  %s = nn.constant dense<[[0.5, 1.0], [0.25, 2.0]]> : tensor<2x2xf32>
  %w = octet.dequantize_weights %q scales %s block [1, 2] : (tensor<2x4xui4>, tensor<2x2xf32>) -> tensor<2x4xf32>
  // CHECK: octet.group
  // CHECK: octet.dequantize_weights %{{.*}} scales %{{.*}} block [1, 2]
  // CHECK: nn.linear
  %y = nn.linear %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// So do the weights of a linear layer that is to read them so; others become f32.
// CHECK-LABEL: func.func @linear_of_type
func.func @linear_of_type(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %q = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %w = octet.dequantize %q : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2xf32>
  // CHECK: octet.group
  // CHECK-NEXT: octet.dequantize_weights %{{.*}} scales %{{[^ ]*}} : (tensor<2x2xsi8>,
  // CHECK-NEXT: nn.linear
  %y = nn.linear %x, %w {octet.decision = #octet.decision<number = 0, verdict = weight_only>} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  // CHECK: nn.linear %{{.*}}, %[[F:.*]] :
  %z = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y, %z : tensor<1x2xf32>, tensor<1x2xf32>
}

// A decision for fewer bits that no kernel carries out is revised.
// CHECK-LABEL: func.func @wide
func.func @wide(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %q = nn.constant dense<1> : tensor<1x1x1x1xui4>
  %s = nn.constant dense<0.5> : tensor<1x1x1x1xf32>
  %w = octet.dequantize_weights %q scales %s : (tensor<1x1x1x1xui4>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
  // CHECK: nn.conv {{.*}}verdict = float, reason = <"OCT308"
  %y = nn.conv %x, %w {octet.decision = #octet.decision<number = 0, verdict = weight_only>}
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  return %y : tensor<1x1x2x2xf32>
}

// RUN: octet-opt %s --octet-expand-batch-norm --split-input-file --verify-diagnostics | FileCheck %s
// RUN: octet-opt %s --octet-lower --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=LOWER

// scale / sqrt(variance + epsilon) = 2 / sqrt(3 + 1) = 1 and shift - mean * 1 = 5 - 3.
// CHECK-LABEL: func @per_channel
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: %[[K:.*]] = nn.constant dense_resource<bn.factor> : tensor<2x1x1xf32>
// CHECK-NEXT: %[[B:.*]] = nn.constant dense_resource<bn.shift> : tensor<2x1x1xf32>
// CHECK-NEXT: nn.fma %[[X]], %[[K]], %[[B]] {octet.origin = #octet.origin<"bn">} : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK: bn.factor: "0x{{.*}}0000803F0000803F"
// CHECK: bn.shift: "0x{{.*}}0000004000000040"
func.func @per_channel(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %scale = nn.constant dense<2.0> : tensor<2xf32>
  %shift = nn.constant dense<5.0> : tensor<2xf32>
  %mean = nn.constant dense<3.0> : tensor<2xf32>
  %variance = nn.constant dense<3.0> : tensor<2xf32>
  %y = nn.batch_norm %x, %scale, %shift, %mean, %variance epsilon 1.0 {octet.origin = #octet.origin<"bn">} : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

// -----

!x = tensor<1x2x3x3x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x2x3x3x!quant.uniform<u8:f32, 0.25>>
!f = tensor<1x2x3x3xf32>
!p = tensor<2xf32>

// One constant may be several parameters. The group gets the new ones and loses the old.
// CHECK-LABEL: func @in_a_group
// CHECK: octet.group(%[[A:.*]] = %{{.*}}, %[[K:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
// CHECK-NEXT: %[[N:.*]] = nn.fma %[[A]], %[[K]], %[[B]]
// CHECK-NEXT: nn.relu %[[N]]
// Between quantized values it is a group on quantized types; relu is its storage bounds.
// LOWER-LABEL: func @in_a_group
// LOWER: octet.group(%[[A:.*]] = %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<1x2x3x3x!quant.uniform<u8:f32, 5.000000e-01:128>>, tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3x!quant.uniform<u8:f32, 2.500000e-01>>
// LOWER-NEXT: %[[X:.*]] = octet.dequantize %[[A]]
// LOWER-NEXT: nn.fma %[[X]]
func.func @in_a_group(%x: !x) -> !y {
  %a = nn.constant dense<[2.0, 1.0]> : !p
  %b = nn.constant dense<5.0> : !p
  %d = octet.dequantize %x : (!x) -> !f
  %g = octet.group(%0 = %d, %1 = %a, %2 = %b) : (!f, !p, !p) -> !f {
    %n = nn.batch_norm %0, %1, %2, %2, %1 : (!f, !p, !p, !p, !p) -> !f
    %r = nn.relu %n : (!f) -> !f
    octet.yield %r : !f
  }
  %q = octet.quantize %g : (!f) -> !y
  return %q : !y
}

// -----

func.func @main(%x: tensor<1x2x3x3xf32>, %s: tensor<2xf32>) -> tensor<1x2x3x3xf32> {
  // expected-error @below {{has code generation for constant parameters only}}
  %y = nn.batch_norm %x, %s, %s, %s, %s : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

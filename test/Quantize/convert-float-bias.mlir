// RUN: split-file %s %t
// RUN: octet-opt %t/network.mlir --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir' --octet-fuse --octet-convert | FileCheck %t/network.mlir

//--- backend.mlir
octet.backend @both {
  octet.dtypes @integers input = <ui8> output = <ui8> weight = <si8> bias = si32
  octet.dtypes @signed input = <si8> output = <si8> weight = <si8> bias = f32
  octet.dtypes @each_run dynamic input = <ui8> output = <f32> weight = <si8> bias = f32
  octet.pattern @linear dtypes = [@each_run, @signed, @integers] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
}

//--- mapping.mlir
octet.qconfig_mapping @none {}

//--- network.mlir
octet.observer @u #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
octet.observer @s #octet.fixed_qparams<si8, scale = 0.5 : f32, zero_point = 0>
octet.observer @w #octet.fixed_qparams<si8, scale = 0.25 : f32, zero_point = 0>

// The data types of the input's integers say what becomes of the bias.
// CHECK-LABEL: func @si32
// CHECK: %[[B:.*]] = octet.dequantize %{{.*}} : (tensor<1x!quant.uniform<i32:f32, 1.250000e-01>>) -> tensor<1xf32>
// CHECK: nn.linear %{{.*}}, %{{.*}}, %[[B]]
func.func @si32(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1xf32>
  %b = nn.constant dense<1.0> : tensor<1xf32>
  %0 = octet.observe %x by @u : tensor<1x1xf32>
  %1 = octet.observe %w by @w : tensor<1x1xf32>
  %2 = nn.linear %0, %1, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// It stays float, and raises no scale of the weights, however large it is.
// CHECK-LABEL: func @f32
// CHECK: %[[B:.*]] = nn.constant dense<9.99999995E+11> : tensor<1xf32>
// CHECK: tensor<1x1x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK: nn.linear %{{.*}}, %{{.*}}, %[[B]]
func.func @f32(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<0.0> : tensor<1x1xf32>
  %b = nn.constant dense<1.0e12> : tensor<1xf32>
  %0 = octet.observe %x by @s : tensor<1x1xf32>
  %1 = octet.observe %w by @w : tensor<1x1xf32>
  %2 = nn.linear %0, %1, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// The form fake-quantize: activations and weights are rounded where they were observed, constants keep their real numbers.
// RUN: split-file %s %t
// DEFINE: %{policy} = --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir'
// DEFINE: %{prepare} = octet-opt %t/network.mlir %{policy} --octet-fuse --octet-prepare
// RUN: %{prepare} --octet-convert=form=fake-quantize --octet-inline-groups | FileCheck %s
// RUN: %{prepare} --octet-convert=form=fake-quantize --octet-inline-groups --octet-fuse --octet-prepare --octet-convert | FileCheck %s --check-prefix=THEN
// RUN: %{prepare} --octet-convert=form=quantized | FileCheck %s --check-prefix=THEN
// RUN: not octet-opt %t/columns.mlir --octet-attach-policy --octet-convert=form=fake-quantize 2>&1 | FileCheck %s --check-prefix=COLUMNS

// CHECK-NOT: octet.observer
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x2xf32>
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[\[}}1.000000e+00, -5.000000e-01], [2.500000e-01, 5.000000e-01]]> : tensor<2x2xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<3.000000e+00> : tensor<2xf32>
// CHECK-DAG: %[[WF:.*]] = octet.fake_quantize %[[W]] as !quant.uniform<i8:f32, 0.0078431
// CHECK-DAG: %[[XF:.*]] = octet.fake_quantize %[[X]] as !quant.uniform<u8:f32, 5.000000e-01:128> {octet.origin = #octet.origin<"x">}
// CHECK: %[[Y:.*]] = nn.linear %[[XF]], %[[WF]], %[[B]]
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[Y]]
// CHECK-NEXT: %[[RF:.*]] = octet.fake_quantize %[[R]] as !quant.uniform<u8:f32, 5.000000e-01:128>
// What is dynamic, or has real zero points, stays as it is.
// CHECK: %[[V:.*]] = octet.fake_quantize %{{.*}} as !quant.uniform<i8:f32, 0.0078431
// CHECK: %[[D:.*]] = nn.linear %[[RF]], %[[V]]
// CHECK: %[[E:.*]] = nn.constant
// CHECK: nn.linear %[[D]], %[[E]]
// CHECK-NOT: octet.fake_quantize

// THEN: octet.quantize %{{.*}}!quant.uniform<u8:f32, 5.000000e-01:128>
// THEN: nn.constant dense_resource<{{.*}}i8{{.*}}> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<i8:f32, 0.0078431
// THEN: octet.choose_qparams
// THEN: octet.dequantize_weights

// COLUMNS: error: an activation with a scale per channel cannot be trained further; give its QConfig no channel_activation

//--- backend.mlir
octet.backend @b {
  octet.dtypes @static input = <ui8> output = <ui8> weight = <si8> bias = f32
  octet.dtypes @dynamic dynamic input = <ui8> weight = <si8> bias = f32
  octet.dtypes @stored input = <f32> output = <f32> weight = <ui8> bias = f32
  octet.pattern @linear_relu dtypes = [@static] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    %z = octet.match ["nn.relu"](%y)
    octet.yield %z : none
  }
  octet.pattern @linear dtypes = [@static, @dynamic, @stored] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
}

//--- mapping.mlir
#w = #octet.min_max<dtype = si8, scheme = symmetric>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>, weight = #w>
  octet.module_name "dynamic" #octet.qconfig<activation = #octet.placeholder<dtype = ui8, dynamic = true>, weight = #w>
  octet.module_name "stored" #octet.qconfig<activation = #octet.placeholder<dtype = f32>,
    weight = #octet.per_channel_min_max<dtype = ui8, scheme = affine_float_qparams, axis = 0>>
}

//--- network.mlir
func.func @main(%x: tensor<2x2xf32> {nn.name = "x"}) -> tensor<2x2xf32> {
  %w = nn.constant dense<[[1.0, -0.5], [0.25, 0.5]]> : tensor<2x2xf32>
  %b = nn.constant dense<3.0> : tensor<2xf32>
  %0 = nn.linear %x, %w, %b {octet.origin = #octet.origin<"static">} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = nn.relu %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %v = nn.constant dense<[[-1.0, -0.5], [0.25, 0.5]]> : tensor<2x2xf32>
  %2 = nn.linear %1, %v {octet.origin = #octet.origin<"dynamic">} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = nn.constant dense<[[1.0, -0.25], [0.25, 0.5]]> : tensor<2x2xf32>
  %3 = nn.linear %2, %e {octet.origin = #octet.origin<"stored">} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

//--- columns.mlir
octet.observer @x #octet.per_channel_min_max<dtype = ui8, axis = 1> statistics dense<"0x00000000000000000000004000000040"> : tensor<16xi8>
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = octet.observe %x by @x : tensor<1x2x4x4xf32>
  %1 = nn.conv %0, %d groups 2 : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

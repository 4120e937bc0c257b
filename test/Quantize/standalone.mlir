// Functions that main calls: each is planned by itself, by the mapping that it names or by the module's.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir'
// RUN: %{attach} --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: %{attach} --octet-print-mapping -o /dev/null | FileCheck %s --check-prefix=ENTRIES
// RUN: sed /nowhere/d %t/network.mlir | octet-opt --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir' --octet-prepare=strict=true | FileCheck %s
// RUN: %{attach} --octet-prepare --octet-convert --octet-quantize-signature=marked-only=true | FileCheck %s --check-prefix=BOUNDARY
// RUN: %{attach} --octet-prepare 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not octet-opt %t/absent.mlir --octet-attach-policy --octet-prepare 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not octet-opt %t/text.mlir 2>&1 | FileCheck %s --check-prefix=TEXT

// EXPLAIN: inner.fc nn.linear int8 b::linear
// EXPLAIN-NEXT: shared.fc nn.linear int8 b::linear
// EXPLAIN-NEXT: fc1 nn.linear float OCT205
// EXPLAIN-NEXT: func.call float OCT121 it calls @inner, whose operators have decisions of their own
// EXPLAIN-NEXT: func.call float OCT121 it calls @shared, whose operators have decisions of their own
// EXPLAIN-NEXT: func.call float OCT121 it calls @opaque, which has no body here
// EXPLAIN-NEXT: fc2 nn.linear int8 b::linear

// ENTRIES: inner.fc {{.*}} object_type "nn.linear"
// ENTRIES: shared.fc {{.*}} global

// In @inner the scale is its own mapping's, and the argument and the result are marked.
// CHECK: octet.observer @[[IN:.*]] #octet.fixed_qparams<ui8, scale = 2.500000e-01 : f32, zero_point = 3>
// CHECK: func.func private @inner(%{{.*}}: tensor<1x2xf32> {octet.quantized}) -> (tensor<1x2xf32> {octet.quantized}) attributes {octet.qconfig_mapping = @own}
// CHECK-NEXT: octet.observe %{{.*}} by @[[IN]]
// CHECK: func.func private @shared(%{{.*}}: tensor<1x2xf32>) -> tensor<1x2xf32> {
// CHECK: func.func @main(%{{.*}}: tensor<1x2xf32> {octet.quantized})

// Integers cross the border where the mapping of the function says so.
// BOUNDARY: func.func private @inner(%[[A:.*]]: tensor<1x2x[[Q:!quant.uniform<u8:f32, 2.500000e-01:3>]]>) -> tensor<1x2x[[Q]]>
// BOUNDARY-NEXT: octet.dequantize %[[A]]
// BOUNDARY: func.func private @shared(%{{.*}}: tensor<1x2xf32>) -> tensor<1x2xf32>
// BOUNDARY: func.func @main
// BOUNDARY: %[[X:.*]] = nn.linear
// BOUNDARY-NEXT: %[[XQ:.*]] = octet.quantize %[[X]]
// BOUNDARY-NEXT: %[[Y:.*]] = call @inner(%[[XQ]]) {{.*}}(tensor<1x2x[[Q]]>) -> tensor<1x2x[[Q]]>
// BOUNDARY-NEXT: %[[YD:.*]] = octet.dequantize %[[Y]]
// BOUNDARY-NEXT: call @shared(%[[YD]])

// UNUSED: warning: the QConfig mapping's entry for "nowhere" applies to no operator
// ABSENT: error: 'func.func' op names the QConfig mapping @nowhere, which is not in the module; add it, or omit the attribute
// TEXT: error: 'func.func' op expected the symbol of a QConfig mapping as 'octet.qconfig_mapping', but got "own"

//--- backend.mlir
octet.backend @b {
  octet.dtypes @bytes input = <ui8> output = <ui8> weight = <si8> bias = f32
  octet.pattern @linear dtypes = [@bytes] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
}

//--- mapping.mlir
octet.qconfig_mapping @m quantized_inputs [0] {
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>,
    weight = #octet.min_max<dtype = si8, scheme = symmetric>>
  octet.module_name "fc1" none
}

//--- network.mlir
func.func private @opaque(tensor<1x2xf32>) -> tensor<1x2xf32>
func.func private @inner(%x: tensor<1x2xf32>) -> tensor<1x2xf32> attributes {octet.qconfig_mapping = @own} {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"inner.fc">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
func.func private @shared(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"shared.fc">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"fc1">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = call @inner(%0) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = call @shared(%1) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %3 = call @opaque(%2) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %4 = nn.linear %3, %w {octet.origin = #octet.origin<"fc2">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %4 : tensor<1x2xf32>
}
octet.qconfig_mapping @own quantized_inputs [0] quantized_outputs [0] {
  octet.object_type "nn.linear" #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.25 : f32, zero_point = 3>,
    weight = #octet.min_max<dtype = si8, scheme = symmetric>>
  octet.module_name "nowhere" none
}

//--- absent.mlir
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> attributes {octet.qconfig_mapping = @nowhere} {
  return %x : tensor<1x2xf32>
}

//--- text.mlir
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> attributes {octet.qconfig_mapping = "own"} {
  return %x : tensor<1x2xf32>
}

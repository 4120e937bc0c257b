// Inputs and outputs that are integers, by number.
// RUN: split-file %s %t
// DEFINE: %{mapping} = mapping.mlir
// DEFINE: %{prepare} = octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/%{mapping} --octet-fuse --octet-prepare
// RUN: %{prepare} | FileCheck %t/network.mlir
// RUN: %{prepare} --octet-calibrate=load-statistics=%t/statistics.mlir --octet-convert --octet-quantize-signature=marked-only=true \
// RUN:   | FileCheck %t/network.mlir --check-prefix=SIGNATURE
// REDEFINE: %{mapping} = mapping.json
// RUN: %{prepare} | FileCheck %t/network.mlir
// REDEFINE: %{mapping} = absent-input.mlir
// RUN: not %{prepare} 2>&1 | FileCheck %s --check-prefix=INPUT
// REDEFINE: %{mapping} = absent-output.mlir
// RUN: not %{prepare} 2>&1 | FileCheck %s --check-prefix=OUTPUT
// REDEFINE: %{mapping} = twice.mlir
// RUN: not %{prepare} 2>&1 | FileCheck %s --check-prefix=TWICE
// REDEFINE: %{mapping} = words.json
// RUN: not %{prepare} 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not octet-opt %t/mark.mlir 2>&1 | FileCheck %s --check-prefix=MARK

// INPUT: error: 'octet.qconfig_mapping' op names the quantized input 2, but "main" has 2; give numbers from 0 on
// INPUT: network.mlir:{{.*}} note: the function
// OUTPUT: error: 'octet.qconfig_mapping' op names the quantized output 3, but "main" has 2; give numbers from 0 on
// TWICE: error: 'octet.qconfig_mapping' op expected numbers of inputs and outputs, from 0 on and in ascending order, but got 1
// WORDS: error: expected a list of numbers as "quantized_outputs"
// MARK: error: 'func.func' op expected a unit as 'octet.quantized', but got true

//--- network.mlir
// The second input and the first output; the others stay as they are.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<1x2xf32> {nn.name = "x"}, %[[Y:.*]]: tensor<1x2xf32> {nn.name = "y", octet.quantized})
// CHECK-SAME: -> (tensor<1x2xf32> {nn.name = "a", octet.quantized}, tensor<1x2xf32> {nn.name = "b"})
// CHECK-DAG: %[[YO:.*]] = octet.observe %[[Y]] by @y
// CHECK-DAG: %[[XO:.*]] = octet.observe %[[X]] by @x
// CHECK: nn.exp %[[YO]]
// CHECK: nn.exp %[[X]]
// CHECK: %[[A:.*]] = nn.linear %[[XO]]
// CHECK: %[[AO:.*]] = octet.observe %[[A]]
// CHECK: %[[B:.*]] = nn.linear %[[YO]]
// CHECK: return %[[AO]], %[[SUM:.*]] :

// SIGNATURE-LABEL: func.func @main
// SIGNATURE-SAME: (%[[X:.*]]: tensor<1x2xf32> {nn.name = "x"}, %[[Y:.*]]: tensor<1x2x!quant.uniform<u8:f32, {{[^>]*}}>> {nn.name = "y"})
// SIGNATURE-SAME: -> (tensor<1x2x!quant.uniform<u8:f32, {{[^>]*}}>> {nn.name = "a"}, tensor<1x2xf32> {nn.name = "b"})
!t = tensor<1x2xf32>
!w = tensor<2x2xf32>
func.func @main(%x: !t {nn.name = "x"}, %y: !t {nn.name = "y"}) -> (!t {nn.name = "a"}, !t {nn.name = "b"}) {
  %w = nn.constant dense<1.0> : !w
  %0 = nn.exp %y : (!t) -> !t
  %1 = nn.exp %x : (!t) -> !t
  %a = nn.linear %x, %w {octet.origin = #octet.origin<"a">} : (!t, !w) -> !t
  %b = nn.linear %y, %w {octet.origin = #octet.origin<"b">} : (!t, !w) -> !t
  %2 = nn.sub %0, %1 : (!t, !t) -> !t
  %3 = nn.sub %2, %b : (!t, !t) -> !t
  return %a, %3 : !t, !t
}

//--- statistics.mlir
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[0, 0, -128, -65, 0, 0, 0, 64]> : tensor<8xi8>
octet.observer @y #octet.min_max<dtype = ui8> statistics dense<[0, 0, -128, -65, 0, 0, 0, 64]> : tensor<8xi8>
octet.observer @a #octet.min_max<dtype = ui8> statistics dense<[0, 0, -128, -65, 0, 0, 0, 64]> : tensor<8xi8>

//--- mapping.mlir
octet.qconfig_mapping @m quantized_inputs [1] quantized_outputs [0] {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8, range = [-127, 127]>>
}

//--- mapping.json
{"": {"activation": "#octet.min_max<dtype = ui8>", "weight": "#octet.min_max<dtype = si8, range = [-127, 127]>"},
 "quantized_inputs": [1], "quantized_outputs": [0]}

//--- absent-input.mlir
octet.qconfig_mapping @m quantized_inputs [0, 2] {}

//--- absent-output.mlir
octet.qconfig_mapping @m quantized_outputs [3] {}

//--- twice.mlir
octet.qconfig_mapping @m quantized_inputs [1, 1] {}

//--- words.json
{"quantized_outputs": ["a"]}

//--- mark.mlir
func.func @main(%x: tensor<1xf32> {octet.quantized = true}) { return }

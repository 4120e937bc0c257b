// Dynamic units: nothing is calibrated, the input is quantized in each run, the weights at once, the bias stays float.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir'
// RUN: %{attach} --octet-prepare | FileCheck %s --check-prefix=PREPARE
// RUN: %{attach} --octet-prepare --octet-calibrate --octet-convert | FileCheck %s
// RUN: %{attach} --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// Two layers that read one value share what quantizes it; one that asks for rows has its own.
// PREPARE-COUNT-3: #octet.placeholder<dtype = ui8, dynamic = true
// PREPARE-NOT: #octet.placeholder
// PREPARE: func.func @main(%[[X:.*]]: tensor<2x4xf32>)
// PREPARE-DAG: %[[ALL:.*]] = octet.observe %[[X]] by @arg0 :
// PREPARE-DAG: %[[ROWS:.*]] = octet.observe %[[X]] by @arg0_0 :
// PREPARE: nn.linear %[[ALL]]
// PREPARE: nn.linear %[[ALL]]
// PREPARE: nn.linear %[[ROWS]]

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>)
// CHECK-DAG: %[[BIAS:.*]] = nn.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-DAG: %[[S:.*]], %[[Z:.*]] = octet.choose_qparams %[[X]] range [0, 127] : (tensor<2x4xf32>) -> (tensor<f32>, tensor<i32>)
// CHECK-DAG: %[[Q:.*]] = octet.quantize_dynamic %[[X]] by %[[S]], %[[Z]]
// CHECK-DAG: %[[D:.*]] = octet.dequantize_dynamic %[[Q]] by %[[S]], %[[Z]]
// CHECK-DAG: %{{.*}}, %{{.*}} = octet.choose_qparams %[[X]] range [0, 255] per_row : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
// CHECK-DAG: %[[W:.*]] = octet.dequantize %{{.*}}!quant.uniform<i8:f32
// CHECK: nn.linear %[[D]], %[[W]], %[[BIAS]]
// A float result: what reads it in integers observes it first, here in each run again.
// CHECK-NOT: octet.quantize %

// EXPLAIN: a nn.linear int8 to float OCT218 it is dynamic: its input is quantized in each run, its result is float
// EXPLAIN: sum nn.add float OCT217 it multiplies no activation by a weight, as units that are dynamic do

//--- backend.mlir
octet.backend @b {
  octet.dtypes @dynamic dynamic input = <ui8> weight = <si8> bias = f32
  octet.pattern @linear dtypes = [@dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.pattern @add dtypes = [@dynamic] {
    %x = octet.activation
    %z = octet.activation
    %y = octet.match ["nn.add"](%x, %z)
    octet.yield %y : none
  }
}

//--- mapping.mlir
#weight = #octet.min_max<dtype = si8, scheme = symmetric>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #octet.placeholder<dtype = ui8, dynamic = true, reduce_range = true>, weight = #weight>
  octet.module_name "rows" #octet.qconfig<activation = #octet.placeholder<dtype = ui8, dynamic = true, per_row = true>, weight = #weight>
}

//--- network.mlir
!t = tensor<2x4xf32>
!w = tensor<4x4xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : !w
  %b = nn.constant dense<0.5> : tensor<4xf32>
  %0 = nn.linear %x, %w, %b {octet.origin = #octet.origin<"a">} : (!t, !w, tensor<4xf32>) -> !t
  %1 = nn.linear %x, %w {octet.origin = #octet.origin<"b">} : (!t, !w) -> !t
  %2 = nn.linear %x, %w {octet.origin = #octet.origin<"rows">} : (!t, !w) -> !t
  %3 = nn.add %0, %1 {octet.origin = #octet.origin<"sum">} : (!t, !t) -> !t
  %4 = nn.linear %3, %w {octet.origin = #octet.origin<"c">} : (!t, !w) -> !t
  %5 = nn.add %2, %4 {octet.origin = #octet.origin<"last">} : (!t, !t) -> !t
  return %5 : !t
}

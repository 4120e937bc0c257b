// Observers without statistics: one that is reused, and placeholders.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir'
// RUN: %{attach} --octet-prepare | FileCheck %s
// RUN: %{attach} --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// The negation, of which the backend says `different`, shares the rectifier's observer.
// CHECK: octet.observer @act #octet.min_max<dtype = ui8>
// CHECK-NOT: octet.observer @neg
// CHECK: octet.observer @float_weights #octet.min_max<dtype = ui8>
// CHECK-NOT: octet.observer @w
// CHECK: %[[ACT:.*]] = nn.relu
// CHECK: octet.observe %[[ACT]] by @act
// CHECK: %[[NEG:.*]] = nn.neg
// CHECK: octet.observe %[[NEG]] by @act

// EXPLAIN: lonely nn.neg float OCT213 the QConfig reuses the observer of the inputs, which have none
// EXPLAIN-NEXT: -> give the operator an observer of its own in the QConfig mapping
// EXPLAIN-NEXT: act nn.relu int8
// EXPLAIN-NEXT: neg nn.neg int8
// EXPLAIN-NEXT: float_weights nn.linear int8
// EXPLAIN-NEXT: dynamic nn.elu float OCT212 the activation observer leaves the values f32, but the backend takes integers here
// EXPLAIN-NEXT: -> give the QConfig another activation observer, or say none in the mapping
// EXPLAIN-NEXT: half nn.linear float OCT204 the weight observer leaves the values f16, but the backend takes f32
// EXPLAIN-NEXT: -> observe the weight with #octet.placeholder<dtype = f32>
// EXPLAIN-NEXT: recorded nn.silu float OCT204 the activation observer measures only and yields no quantized type

//--- backend.mlir
octet.backend @b {
  octet.dtypes @any input = <ui8> output = <ui8> weight = <f32>
  octet.pattern @unary dtypes = [@any] {
    %x = octet.activation
    %y = octet.match ["nn.relu", "nn.neg", "nn.elu", "nn.silu"](%x)
    octet.yield %y : none
  }
  octet.pattern @linear dtypes = [@any] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
}

//--- mapping.mlir
#values = #octet.min_max<dtype = ui8>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #values, weight = #octet.placeholder<dtype = f32>>
  octet.object_type "nn.neg" #octet.qconfig<activation = #octet.reuse_input>
  octet.object_type "nn.elu" #octet.qconfig<activation = #octet.placeholder<dtype = f32>>
  octet.object_type "nn.silu" #octet.qconfig<activation = #octet.recording<runs = 2>>
  octet.module_name "half" #octet.qconfig<activation = #values, weight = #octet.placeholder<dtype = f16>>
}

//--- network.mlir
!t = tensor<1x2xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.neg %x {octet.origin = #octet.origin<"lonely">} : (!t) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"act">} : (!t) -> !t
  %2 = nn.neg %1 {octet.origin = #octet.origin<"neg">} : (!t) -> !t
  %3 = nn.linear %2, %w {octet.origin = #octet.origin<"float_weights">} : (!t, tensor<2x2xf32>) -> !t
  %4 = nn.elu %3 alpha 1.0 {octet.origin = #octet.origin<"dynamic">} : (!t) -> !t
  %5 = nn.linear %4, %w {octet.origin = #octet.origin<"half">} : (!t, tensor<2x2xf32>) -> !t
  %6 = nn.silu %5 {octet.origin = #octet.origin<"recorded">} : (!t) -> !t
  return %6 : !t
}

// Dynamic and static data types: a QConfig fits those of its own kind only.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir'
// RUN: %{attach} --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: sum nn.add float OCT215 the activation observer is dynamic, but the pattern's data types are not
// EXPLAIN-NEXT: -> add an octet.dtypes with `dynamic` to the pattern, or give the QConfig an observer such as #octet.min_max
// EXPLAIN-NEXT: static nn.linear float OCT215 the pattern's data types are dynamic, but the activation observer is not
// EXPLAIN-NEXT: -> give the QConfig the activation observer #octet.placeholder<dtype = ui8, dynamic = true>
// EXPLAIN-NEXT: other_type nn.linear float OCT204 the activation observer yields si8, but the backend takes ui8

//--- backend.mlir
octet.backend @b {
  octet.dtypes @static input = <ui8> output = <ui8>
  octet.dtypes @dynamic dynamic input = <ui8> weight = <si8> bias = f32
  octet.pattern @add dtypes = [@static] {
    %x = octet.activation
    %z = octet.activation
    %y = octet.match ["nn.add"](%x, %z)
    octet.yield %y : none
  }
  octet.pattern @linear dtypes = [@dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
}

//--- mapping.mlir
#weight = #octet.min_max<dtype = si8, scheme = symmetric>
#dynamic = #octet.placeholder<dtype = ui8, dynamic = true>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #dynamic, weight = #weight>
  octet.module_name "static" #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #weight>
  octet.module_name "other_type" #octet.qconfig<activation = #octet.placeholder<dtype = si8, dynamic = true>, weight = #weight>
}

//--- network.mlir
!t = tensor<1x2xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %0 = nn.add %x, %x {octet.origin = #octet.origin<"sum">} : (!t, !t) -> !t
  %1 = nn.linear %0, %w {octet.origin = #octet.origin<"static">} : (!t, tensor<2x2xf32>) -> !t
  %2 = nn.linear %1, %w {octet.origin = #octet.origin<"other_type">} : (!t, tensor<2x2xf32>) -> !t
  return %2 : !t
}

// Units that ask for other integers than the producer of their input, or for another kind of observer than its first
// reader, have an observer of their own.
// RUN: split-file %s %t
// DEFINE: %{attach} = octet-opt %t/network.mlir --octet-attach-policy='backend=%t/backend.mlir qconfig-mapping=%t/mapping.mlir'
// RUN: %{attach} --octet-prepare | FileCheck %t/network.mlir
// RUN: %{attach} --octet-prepare=quantized-outputs=true | FileCheck %t/network.mlir --check-prefix=INTEGER
// RUN: %{attach} --octet-explain -o /dev/null | FileCheck %t/network.mlir --check-prefix=EXPLAIN

//--- backend.mlir
octet.backend @b {
  octet.dtypes @u input = <ui8> output = <ui8> weight = <si8>
  octet.dtypes @s input = <si8> output = <si8> weight = <si8>
  octet.dtypes @mixed input = <si8> output = <ui8> weight = <si8>
  octet.pattern @linear dtypes = [@u, @s, @mixed] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
  octet.pattern @relu dtypes = [@u, @s] observation = shared {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

//--- mapping.mlir
#weight = #octet.min_max<dtype = si8, scheme = symmetric>
#unsigned = #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #weight>
#signed = #octet.qconfig<activation = #octet.min_max<dtype = si8>, weight = #weight>
octet.qconfig_mapping @m {
  octet.module_name "u" #unsigned
  octet.module_name "s" #signed
  octet.module_name "narrow" #octet.qconfig<activation = #octet.min_max<dtype = ui8, range = [0, 127]>, weight = #weight>
  octet.module_name "histogram" #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #weight>
  octet.module_name "mixed" #octet.qconfig<activation = #octet.min_max<dtype = si8>, weight = #weight,
    result = #octet.min_max<dtype = ui8>>
}

//--- network.mlir
!t = tensor<1x2xf32>
!w = tensor<2x2xf32>
// CHECK: octet.observer @x #octet.min_max<dtype = ui8>
// CHECK: octet.observer @u.0 #octet.min_max<dtype = ui8>
// CHECK: octet.observer @u.0_0 #octet.min_max<dtype = si8>
// CHECK: octet.observer @in #octet.min_max<dtype = ui8>
// CHECK: octet.observer @in_0 #octet.histogram<dtype = ui8>
// CHECK: octet.observer @in_1 #octet.min_max<dtype = si8>

// Unsigned results that are read as signed ones are quantized twice in a row; both readers have one observer.
// CHECK-LABEL: func.func @of_another_type
// CHECK: %[[U:.*]] = nn.linear
// CHECK-NEXT: %[[FIRST:.*]] = octet.observe %[[U]] by @u.0
// CHECK-NEXT: %[[OTHER:.*]] = octet.observe %[[FIRST]] by @u.0_0
// CHECK-NEXT: nn.linear %[[OTHER]]
// CHECK: nn.linear %[[OTHER]]
// CHECK: nn.linear %[[FIRST]]
// CHECK: nn.exp %[[FIRST]]

// EXPLAIN: u.0 nn.linear int8 b::linear
// EXPLAIN-NOT: note
// EXPLAIN: s.0 nn.linear int8 b::linear
// EXPLAIN-NEXT: note: OCT214 it reads si8 where the value is ui8 already, so that it is quantized a second time; give the operators around this value the same activation observer
// EXPLAIN-NEXT: s.1 nn.linear int8 b::linear
// EXPLAIN-NEXT: note: OCT214
// EXPLAIN-NEXT: u.1 nn.linear int8 b::linear
// EXPLAIN-NEXT: exp nn.exp float
func.func @of_another_type(%x: !t {nn.name = "x"}) -> (!t, !t, !t, !t) {
  %w = nn.constant dense<1.0> : !w
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"u.0">} : (!t, !w) -> !t
  %1 = nn.linear %0, %w {octet.origin = #octet.origin<"s.0">} : (!t, !w) -> !t
  %2 = nn.linear %0, %w {octet.origin = #octet.origin<"s.1">} : (!t, !w) -> !t
  %3 = nn.linear %0, %w {octet.origin = #octet.origin<"u.1">} : (!t, !w) -> !t
  %4 = nn.exp %0 {octet.origin = #octet.origin<"exp">} : (!t) -> !t
  return %1, %2, %3, %4 : !t, !t, !t, !t
}

// Each of the kinds of observers sees the input as it is; what comes in quantized has a first observer that serves all.
// CHECK-LABEL: func.func @of_an_input
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK-DAG: %[[A:.*]] = octet.observe %[[X]] by @in {
// CHECK-DAG: %[[B:.*]] = octet.observe %[[X]] by @in_0 {
// CHECK-DAG: %[[C:.*]] = octet.observe %[[X]] by @in_1 {
// CHECK: nn.linear %[[A]]
// CHECK: nn.linear %[[A]]
// CHECK: nn.linear %[[B]]
// CHECK: nn.linear %[[C]]
// CHECK: nn.exp %[[X]]

// INTEGER-LABEL: func.func @of_an_input
// INTEGER-SAME: %[[X:[a-z0-9]+]]: tensor
// INTEGER: %[[A:.*]] = octet.observe %[[X]] by @in {
// INTEGER-NEXT: %[[C:.*]] = octet.observe %[[A]] by @in_0
// INTEGER: nn.linear %[[A]]
// INTEGER: nn.linear %[[A]]
// INTEGER: nn.linear %[[A]]
// INTEGER: nn.linear %[[C]]
// INTEGER: nn.exp %[[A]]

// Other settings of one kind are ignored.
// EXPLAIN: u.in nn.linear
// EXPLAIN-NEXT: narrow nn.linear int8 b::linear
// EXPLAIN-NEXT: note: OCT210 its activation observer is ignored: its input has one of the same type, that of the value's producer or first reader; give the operators around this value the same activation observer
// EXPLAIN-NEXT: histogram nn.linear int8 b::linear
// EXPLAIN-NEXT: note: OCT214 it asks for another kind of observer than the first reader of this value
// EXPLAIN-NEXT: s.in nn.linear int8 b::linear
// EXPLAIN-NEXT: note: OCT214 it reads si8 where the value is ui8 already
func.func @of_an_input(%x: !t {nn.name = "in"}) -> (!t, !t, !t, !t, !t) {
  %w = nn.constant dense<1.0> : !w
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"u.in">} : (!t, !w) -> !t
  %1 = nn.linear %x, %w {octet.origin = #octet.origin<"narrow">} : (!t, !w) -> !t
  %2 = nn.linear %x, %w {octet.origin = #octet.origin<"histogram">} : (!t, !w) -> !t
  %3 = nn.linear %x, %w {octet.origin = #octet.origin<"s.in">} : (!t, !w) -> !t
  %4 = nn.exp %x {octet.origin = #octet.origin<"exp">} : (!t) -> !t
  return %0, %1, %2, %3, %4 : !t, !t, !t, !t, !t
}

// The result of a rectifier shares the second observer of its input.
// CHECK-LABEL: func.func @shared
// CHECK: %[[U:.*]] = nn.linear
// CHECK-NEXT: %[[FIRST:.*]] = octet.observe %[[U]] by @u.2 {
// CHECK-NEXT: %[[OTHER:.*]] = octet.observe %[[FIRST]] by @u.2_0
// CHECK-NEXT: %[[RELU:.*]] = nn.relu %[[OTHER]]
// CHECK-NEXT: %[[OBSERVED:.*]] = octet.observe %[[RELU]] by @u.2_0
// CHECK-NEXT: nn.linear %[[OBSERVED]]
func.func @shared(%x: !t {nn.name = "y"}) -> !t {
  %w = nn.constant dense<1.0> : !w
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"u.2">} : (!t, !w) -> !t
  %1 = nn.relu %0 {octet.origin = #octet.origin<"s.2">} : (!t) -> !t
  %2 = nn.linear %1, %w {octet.origin = #octet.origin<"s.3">} : (!t, !w) -> !t
  return %2 : !t
}

// An operator that reads other integers than it writes.
// CHECK-LABEL: func.func @input_and_result
// CHECK: %[[M:.*]] = nn.linear
// CHECK-NEXT: %[[FIRST:.*]] = octet.observe %[[M]] by @mixed.0 {
// CHECK-NEXT: %[[OTHER:.*]] = octet.observe %[[FIRST]] by @mixed.0_0 {
// CHECK-NEXT: %[[LAST:.*]] = nn.linear %[[OTHER]]
// CHECK-NEXT: octet.observe %[[LAST]] by @mixed.1 {
func.func @input_and_result(%x: !t {nn.name = "z"}) -> !t {
  %w = nn.constant dense<1.0> : !w
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"mixed.0">} : (!t, !w) -> !t
  %1 = nn.linear %0, %w {octet.origin = #octet.origin<"mixed.1">} : (!t, !w) -> !t
  return %1 : !t
}

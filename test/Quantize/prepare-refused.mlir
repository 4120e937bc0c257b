// Reasons why an operator stays float although the mapping gives it a QConfig; in strict mode all of them are errors.
// DEFINE: %{attach} = --octet-attach-policy='backend=%S/Inputs/strict.mlir qconfig-mapping=%S/Inputs/measured.mlir'
// RUN: octet-opt %s -o /dev/null %{attach} --octet-explain | FileCheck %s
// RUN: octet-opt %s --verify-diagnostics -o /dev/null %{attach} --octet-prepare=strict=true
// RUN: octet-opt %s %{attach} --octet-prepare --remarks-filter-missed='octet-prepare' --remark-format=emitRemark -o /dev/null \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK: OCT202 the range of the activation observer does not lie inside the backend's [0, 127]
// CHECK-NEXT: -> give the activation observer a range inside [0, 127]
// CHECK: OCT201 eps 1.19209e-07 of the activation observer is below the backend's scale_min 0.001
// CHECK-NEXT: -> set eps of the activation observer to at least 0.001
// CHECK: OCT203 the backend fixes the result to scale 0.00390625, zero point 0, but the QConfig does not
// CHECK-NEXT: -> observe the result with #octet.fixed_qparams of scale 0.00390625, zero point 0
// CHECK: OCT204 the activation observer yields ui8, but the backend takes si8
// CHECK-NEXT: -> give the activation observer the dtype si8
// CHECK: OCT103 pattern @untyped_neg has no data types
// CHECK-NEXT: -> list an octet.dtypes in the pattern
// CHECK: OCT208 the weight observer has one scale per element of axis 1, but the result's channels lie on axis 0
// CHECK-NEXT: -> set axis = 0 in the weight observer
// CHECK: OCT208 the QConfig has no weight observer
// CHECK: OCT204 the bias is f32, but the backend takes f16
// CHECK: OCT105 backend @strict has no pattern for this group
// CHECK-NEXT: -> let octet-fuse make the groups
// CHECK: OCT101 no pattern of backend @strict matches this nn.div
// CHECK-NEXT: -> add an octet.pattern that matches nn.div, or say none for it in the QConfig mapping
// CHECK: OCT205 the QConfig mapping says none here
// CHECK: OCT104 no integer form: it is better so

// REMARK: remark: [Missed] OCT202
// REMARK-SAME: Category:octet-prepare
// REMARK-SAME: Suggestion="give the activation observer a range inside [0, 127]"

!t = tensor<1x2xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2xf32>
  %b = nn.constant dense<1.0> : tensor<2xf32>
  // expected-error @+1 {{stays float [OCT202]: the range of the activation observer does not lie inside the backend's [0, 127]; give}}
  %0 = nn.relu %x : (!t) -> !t
  // expected-error @+1 {{stays float [OCT201]}}
  %1 = nn.elu %0 alpha 1.0 : (!t) -> !t
  // expected-error @+1 {{stays float [OCT203]}}
  %2 = nn.sigmoid %1 : (!t) -> !t
  // expected-error @+1 {{stays float [OCT204]}}
  %3 = nn.silu %2 : (!t) -> !t
  // expected-error @+1 {{stays float [OCT103]}}
  %4 = nn.neg %3 : (!t) -> !t
  // expected-error @+1 {{stays float [OCT208]}}
  %5 = nn.linear %4, %w : (!t, tensor<2x2xf32>) -> !t
  // expected-error @+1 {{stays float [OCT208]: the QConfig has no weight observer}}
  %6 = nn.linear %5, %w {octet.origin = #octet.origin<"bare">} : (!t, tensor<2x2xf32>) -> !t
  // expected-error @+1 {{stays float [OCT204]: the bias is f32, but the backend takes f16}}
  %7 = nn.linear %6, %w, %b {octet.origin = #octet.origin<"wide">} : (!t, tensor<2x2xf32>, tensor<2xf32>) -> !t
  // expected-error @+1 {{stays float [OCT105]: backend @strict has no pattern for this group; let octet-fuse make the groups}}
  %8 = octet.group(%a = %7) : (!t) -> !t {
    %9 = nn.relu %a : (!t) -> !t
    octet.yield %9 : !t
  }
  // expected-error @+1 {{stays float [OCT101]: no pattern of backend @strict matches this nn.div; add an octet.pattern}}
  %10 = nn.div %8, %7 : (!t, !t) -> !t
  %11 = nn.exp %10 : (!t) -> !t
  %12 = nn.softmax %11 axis 1 : (!t) -> !t
  return %12 : !t
}

func.func @other(%x: !t) -> !t {
  // expected-error @+1 {{stays float [OCT202]}}
  %0 = nn.relu %x : (!t) -> !t
  return %0 : !t
}

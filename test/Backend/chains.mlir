// Chains stand for patterns and folds, which octet-attach-policy puts in their place; files may be included.
// RUN: rm -rf %t && split-file %s %t
// RUN: octet-opt %t/network.mlir --octet-attach-policy=backend=%t/own.mlir | FileCheck %s --implicit-check-not=octet.part --implicit-check-not=dtypes_list
// RUN: octet-opt %t/network.mlir --octet-attach-policy=backend=%t/own.mlir | octet-opt --octet-attach-policy=backend=%t/own.mlir -o /dev/null

// A backend in the module is resolved in its place, and passes refuse one that is not.
// RUN: cat %t/network.mlir %t/plain.mlir > %t/inside.mlir
// RUN: octet-opt %t/inside.mlir --octet-attach-policy | FileCheck %s --check-prefix=INSIDE
// RUN: not octet-opt %t/inside.mlir --octet-fuse 2>&1 | FileCheck %s --check-prefix=UNRESOLVED

// Every combination of data types that the list has; the included file's own chain of other data types is left out.
// CHECK-LABEL: octet.backend @own {
// CHECK: octet.pattern @layer_act dtypes = [@d, @e] float_uses = float_result {
// CHECK-NEXT: %[[X:.*]] = octet.activation
// CHECK-NEXT: %[[W:.*]] = octet.weight axis = 0
// CHECK-NEXT: %[[B:.*]] = octet.bias optional
// CHECK-NEXT: %[[C:.*]] = octet.match ["nn.linear"](%[[X]], %[[W]], %[[B]]) where [#octet.source_class<["torch.nn.Linear"]>]
// CHECK-NEXT: %[[Y:.*]] = octet.match ["nn.relu"](%[[C]])
// CHECK-NEXT: octet.yield %[[Y]] : none
// CHECK: octet.pattern @layer dtypes = [@d, @e] float_uses = float_result {
// CHECK-NEXT: {{.*}} = octet.activation
// CHECK-NEXT: {{.*}} = octet.weight
// CHECK-NEXT: {{.*}} = octet.bias
// CHECK-NEXT: {{.*}} = octet.match
// CHECK-NEXT: octet.yield

// The second part of a link, which has several; alternatives of one part are one; a constraint of the part stays.
// CHECK: octet.pattern @moves_act dtypes = [@d] observation = shared {
// CHECK: octet.pattern @moves_reshape dtypes = [@d] observation = shared {
// CHECK: octet.match ["nn.reshape"](%{{.*}}) where [#octet.same_shape, #octet.source_class<["torch.flatten", "torch.squeeze"], required = true>]

// With one activation, and with two.
// CHECK: octet.pattern @sum_add dtypes = [@d] {
// CHECK: octet.pattern @sum_add_number dtypes = [@d] observation = shared {

// CHECK: octet.fold @folded_scale channel_axis = -1 {
// CHECK: %[[C:.*]] = octet.match ["nn.linear"]
// CHECK: %[[S:.*]] = octet.parameter
// CHECK: %[[Y:.*]] = octet.match ["nn.mul"](%[[C]], %[[S]]) commutative
// CHECK: octet.affine %[[Y]] scale %[[S]]

// The includer's chain of the same name stands, the included one of another name follows.
// CHECK: octet.pattern @overridden_add_act dtypes = [@d] {
// CHECK: octet.pattern @overridden_add_number_act dtypes = [@d] {
// CHECK: octet.pattern @further dtypes = [@d] {
// CHECK-NOT: octet.pattern

// INSIDE: octet.pattern @layer dtypes = [@d] {
// UNRESOLVED: inside.mlir:{{[0-9]+}}:1: error: 'octet.backend' op expected a backend whose inclusion and chains are resolved; octet-attach-policy does that

// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/no-part.mlir 2>&1 | FileCheck %s --check-prefix=PART
// PART: no-part.mlir:2:3: error: 'octet.chain' op expected the symbol of an 'octet.part' of this backend, but got @nothing
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/no-class.mlir 2>&1 | FileCheck %s --check-prefix=CLASS
// CLASS: no-class.mlir:2:3: error: 'octet.chain' op expected a class that an 'octet.part' of this backend has, but got "torch.nn.Bilinear"; write an octet.part of this class
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/no-types.mlir 2>&1 | FileCheck %s --check-prefix=TYPES
// TYPES: no-types.mlir:2:3: error: 'octet.chain' op expected the symbol of an 'octet.dtypes' or an 'octet.dtypes_list' of this backend, but got @nothing
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/taken.mlir 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN: taken.mlir:9:3: error: 'octet.chain' op stands for @layer, which the backend has already; rename the chain
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/no-affine.mlir 2>&1 | FileCheck %s --check-prefix=AFFINE
// AFFINE: no-affine.mlir:7:3: error: 'octet.fold_chain' op expected a last part that ends with 'octet.affine', but got @act
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/no-activation.mlir 2>&1 | FileCheck %s --check-prefix=ACTIVATION
// ACTIVATION: no-activation.mlir:7:3: error: 'octet.chain' op expected a part with an activation behind another one, but got @weights
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/other-kind.mlir 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: other-kind.mlir:2:3: error: 'octet.dtypes' op has the name of another kind of entry in '{{.*}}base.mlir', @act; rename it
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/circle.mlir 2>&1 | FileCheck %s --check-prefix=CIRCLE
// CIRCLE: error: 'octet.backend' op includes '{{.*}}circle.mlir', which includes this one; omit one of them

// Of recipes, places that are not named are those of the included file.
// RUN: octet-opt %t/network.mlir --octet-attach-policy=backend=%t/before.mlir | FileCheck %s --check-prefix=BEFORE
// RUN: octet-opt %t/network.mlir --octet-attach-policy=backend=%t/after.mlir | FileCheck %s --check-prefix=AFTER
// BEFORE-COUNT-1: octet.recipe before_prepare "octet-equalize" after_calibrate "octet-scale-each-run{{.*}}octet-correct-bias"
// BEFORE-NOT: octet.recipe
// AFTER-COUNT-1: octet.recipe before_prepare "octet-prepare-attention" after_calibrate "octet-correct-bias"
// AFTER-NOT: octet.recipe

//--- before.mlir
octet.backend @own includes "cpu" { octet.recipe before_prepare "octet-equalize" }

//--- after.mlir
octet.backend @own includes "cpu" { octet.recipe after_calibrate "octet-correct-bias" }

//--- network.mlir
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> { return %x : tensor<1x4xf32> }
octet.qconfig_mapping @m { octet.global none }

//--- own.mlir
octet.backend @own includes "base.mlir" {
  octet.dtypes @d input = <ui8> output = <ui8> weight = <si8>
  octet.dtypes @e input = <si8> output = <si8> weight = <si8>
  octet.dtypes_list @products [@d, @e]
  octet.part @reshape of ["torch.flatten", "torch.squeeze", "torch.Tensor.view"] required {
    %x = octet.activation
    %y = octet.match ["nn.reshape"](%x) where [#octet.same_shape]
    octet.yield %y : none
  }
  octet.chain @layer dtypes = [@products] float_uses = float_result : ["torch.nn.Linear"] -> optional [@act]
  octet.chain @moves dtypes = [@d] observation = shared : [@act, "torch.flatten", "torch.squeeze"]
  octet.chain @sum dtypes = [@d] one_activation = shared : ["operator.add"]
  octet.fold_chain @folded channel_axis = -1 : [@linear] -> [@scale]
  octet.chain @overridden dtypes = [@d] : ["operator.add"] -> [@act]
}

//--- base.mlir
octet.backend @base {
  octet.part @linear of ["torch.nn.Linear"] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.part @act {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  octet.part @add of ["operator.add"] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.add"](%a, %b)
    octet.yield %y : none
  }
  octet.part @add_number of ["operator.add"] {
    %a = octet.activation
    %b = octet.parameter
    %y = octet.match ["nn.add"](%a, %b)
    octet.yield %y : none
  }
  octet.part @scale {
    %x = octet.activation
    %s = octet.parameter
    %y = octet.match ["nn.mul"](%x, %s) commutative
    octet.affine %y scale %s
  }
  octet.chain @overridden dtypes = [@d] observation = shared : [@act]
  octet.chain @further dtypes = [@d] : [@scale]
  octet.chain @left_out dtypes = [@unknown] : [@act] -> [@act]
}

//--- plain.mlir
octet.backend @plain {
  octet.dtypes @d input = <ui8>
  octet.part @act {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  octet.chain @layer dtypes = [@d] : [@act]
}

//--- no-part.mlir
octet.backend @b {
  octet.chain @c dtypes = [] : [@nothing]
}

//--- no-class.mlir
octet.backend @b includes "torch" {
  octet.chain @c dtypes = [] : ["torch.nn.Bilinear"]
}

//--- no-types.mlir
octet.backend @b includes "torch" {
  octet.chain @c dtypes = [@nothing] : ["torch.nn.Linear"]
}

//--- taken.mlir
octet.backend @b {
  octet.dtypes @d input = <ui8>
  octet.part @act {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  octet.chain @layer dtypes = [@d] : [@act]
  octet.chain @layer dtypes = [@d] : [@act]
}

//--- no-affine.mlir
octet.backend @b {
  octet.part @act {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  octet.fold_chain @c channel_axis = 1 : [@act] -> [@act]
}

//--- no-activation.mlir
octet.backend @b {
  octet.part @weights {
    %w = octet.weight axis = 0
    %y = octet.match ["nn.relu"](%w)
    octet.yield %y : none
  }
  octet.chain @c dtypes = [] : [@weights] -> [@weights]
}

//--- other-kind.mlir
octet.backend @b includes "base.mlir" {
  octet.dtypes @act input = <ui8>
}

//--- circle.mlir
octet.backend @b includes "circle.mlir" { }

// Faults of a backend that no network shows, one message each with its place; the built-in one has none.
// RUN: split-file %s %t
// RUN: octet-opt %t/empty.mlir --octet-attach-policy --octet-lint-backend -o /dev/null
// RUN: not octet-opt %t/empty.mlir --octet-lint-backend 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: expected one 'octet.backend' in the module, but got 0; octet-attach-policy puts it there
// RUN: octet-opt %t/order.mlir --octet-lint-backend --verify-diagnostics
// RUN: octet-opt %t/any.mlir --allow-unregistered-dialect --octet-lint-backend --verify-diagnostics
// RUN: octet-opt %t/folds.mlir --octet-lint-backend --verify-diagnostics
// RUN: octet-opt %t/operators.mlir --octet-lint-backend --verify-diagnostics
// RUN: octet-opt %t/dtypes.mlir --octet-lint-backend --verify-diagnostics
// RUN: octet-opt %t/mapping.mlir --octet-lint-backend --verify-diagnostics

//--- empty.mlir
func.func @main() { return }

//--- order.mlir
octet.backend @order {
  octet.dtypes @d input = <ui8> output = <ui8> weight = <si8>
  // expected-note @+1 {{the earlier pattern}}
  octet.pattern @linear dtypes = [@d] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  // Without a bias, and with another role of the constant: the first pattern takes that, too.
  // expected-error @+1 {{never matches: an earlier pattern of the same length matches whatever it matches; put it before that pattern, or omit it}}
  octet.pattern @plain dtypes = [@d] {
    %x = octet.activation
    %k = octet.parameter
    %y = octet.match ["nn.linear"](%x, %k)
    octet.yield %y : none
  }
  octet.pattern @some_unary dtypes = [@d] {
    %x = octet.activation
    // expected-note @+1 {{the earlier pattern's match}}
    %y = octet.match ["nn.relu", "nn.elu"](%x)
    octet.yield %y : none
  }
  octet.pattern @more_unary dtypes = [@d] {
    %x = octet.activation
    // expected-error @+1 {{never matches "nn.elu", which an earlier pattern takes; omit the names in one of the patterns}}
    %y = octet.match ["nn.neg", "nn.elu"](%x)
    octet.yield %y : none
  }
  // Longer patterns and those with conditions come first.
  octet.pattern @bounded_clip dtypes = [@d] {
    %x = octet.activation
    %y = octet.match ["nn.clip"](%x) with {min = 0.0 : f32}
    octet.yield %y : none
  }
  octet.pattern @clip dtypes = [@d] {
    %x = octet.activation
    %y = octet.match ["nn.clip"](%x)
    octet.yield %y : none
  }
  octet.pattern @linear_relu dtypes = [@d] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %c = octet.match ["nn.linear"](%x, %w)
    %y = octet.match ["nn.relu"](%c)
    octet.yield %y : none
  }
  // expected-note @+1 {{the earlier pattern}}
  octet.pattern @add dtypes = [@d] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.add"](%a, %b) commutative
    octet.yield %y : none
  }
  // expected-error @+1 {{never matches: an earlier pattern}}
  octet.pattern @doubled dtypes = [@d] {
    %a = octet.activation
    %y = octet.match ["nn.add"](%a, %a)
    octet.yield %y : none
  }
  octet.pattern @squared dtypes = [@d] {
    %a = octet.activation
    %y = octet.match ["nn.mul"](%a, %a)
    octet.yield %y : none
  }
  octet.pattern @mul dtypes = [@d] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.mul"](%a, %b)
    octet.yield %y : none
  }
  // expected-note @+1 {{the earlier pattern}}
  octet.pattern @concat dtypes = [@d] {
    %a = octet.activation variadic
    %y = octet.match ["nn.concat"](%a)
    octet.yield %y : none
  }
  // expected-error @+1 {{never matches: an earlier pattern}}
  octet.pattern @concat_of_two dtypes = [@d] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.concat"](%a, %b)
    octet.yield %y : none
  }
  // A constant in the first place, by the other order of a commutative match.
  // expected-note @+1 {{the earlier pattern}}
  octet.pattern @add_constant dtypes = [@d] {
    %k = octet.parameter
    %b = octet.activation
    %y = octet.match ["nn.add"](%b, %k) commutative
    octet.yield %y : none
  }
  // expected-error @+1 {{never matches: an earlier pattern}}
  octet.pattern @constant_add dtypes = [@d] {
    %k = octet.parameter
    %b = octet.activation
    %y = octet.match ["nn.add"](%k, %b)
    octet.yield %y : none
  }
}

//--- any.mlir
octet.backend @any {
  octet.dtypes @d input = <ui8> output = <ui8>
  // expected-note @+1 {{the earlier pattern}}
  octet.pattern @rest dtypes = [@d] {
    %x = octet.activation
    %rest = octet.any variadic
    %y = octet.match ["my.resize"](%x, %rest) results variadic
    octet.yield %y : none
  }
  // A leaf that is left alone takes what any leaf takes, and any number of results those of a number.
  // expected-error @+1 {{never matches: an earlier pattern of the same length matches whatever it matches; put it before that pattern, or omit it}}
  octet.pattern @two dtypes = [@d] {
    %x = octet.activation
    %p = octet.parameter
    %y:2 = octet.match ["my.resize"](%x, %p)
    octet.yield %y#0, %y#1 : none, none
  }
  // Not the reverse, nor another number of results, nor another one of them.
  octet.pattern @named dtypes = [@d] {
    %x = octet.activation
    %y:2 = octet.match ["my.halves"](%x)
    octet.yield %y#0, %y#1 : none, none
  }
  octet.pattern @single dtypes = [@d] {
    %x = octet.activation
    %y = octet.match ["my.halves"](%x)
    octet.yield %y : none
  }
  octet.pattern @any_number dtypes = [@d] {
    %x = octet.any
    %y = octet.match ["my.halves"](%x) results variadic
    octet.yield %y : none
  }
  octet.pattern @first dtypes = [@d] {
    %x = octet.activation
    %m:2 = octet.match ["my.halves"](%x)
    %y = octet.match ["my.relu"](%m#0)
    octet.yield %y : none
  }
  octet.pattern @second dtypes = [@d] {
    %x = octet.activation
    %m:2 = octet.match ["my.halves"](%x)
    %y = octet.match ["my.relu"](%m#1)
    octet.yield %y : none
  }
  octet.pattern @one_operand dtypes = [@d] {
    %x = octet.activation
    %to = octet.any
    // expected-error @+1 {{never matches "nn.relu", which has 1 operands, not 2; correct the operands, or omit the name}}
    %y = octet.match ["my.relu", "nn.relu"](%x, %to)
    octet.yield %y : none
  }
}

//--- folds.mlir
func.func @main() { return }
octet.backend @folds {
  // expected-note @+1 {{the earlier fold}}
  octet.fold @scale channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %k = octet.parameter
    %y = octet.match ["nn.mul", "nn.div"](%c, %k)
    octet.affine %y scale %k
  }
  // expected-error @+1 {{never matches: an earlier fold matches whatever it matches; put it before that fold, or omit it}}
  octet.fold @again channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %k = octet.parameter
    %y = octet.match ["nn.mul"](%c, %k)
    octet.affine %y scale %k
  }
  octet.fold @of_the_last_axis channel_axis = -1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %k = octet.parameter
    %y = octet.match ["nn.mul"](%c, %k)
    octet.affine %y scale %k
  }
}

//--- operators.mlir
func.func @main() { return }
octet.backend @operators {
  octet.dtypes @d input = <ui8> output = <ui8>
  octet.pattern @three_operands dtypes = [@d] {
    %a = octet.activation
    %b = octet.activation
    // expected-error @+1 {{never matches "nn.relu", which has 1 operands, not 2; correct the operands, or omit the name}}
    %y = octet.match ["my.relu", "nn.relu"](%a, %b)
    octet.yield %y : none
  }
  octet.pattern @attribute dtypes = [@d] {
    %a = octet.activation
    // expected-error @+1 {{never matches "nn.elu", which has no attribute "beta"; correct the attributes behind `with`, or omit the name}}
    %y = octet.match ["nn.elu"](%a) with {beta = 1.0 : f32}
    octet.yield %y : none
  }
  octet.pattern @result dtypes = [@d] {
    %a = octet.activation variadic
    // expected-error @+1 {{never matches "func.return", which has not one result; omit the name}}
    %y = octet.match ["func.return"](%a)
    octet.yield %y : none
  }
}

//--- dtypes.mlir
octet.backend @dtypes {
  // expected-error @+1 {{is in no pattern; list it in the `dtypes` of a pattern, or omit it}}
  octet.dtypes @unused input = <ui8> output = <ui8>
  // expected-error @+1 {{fits no QConfig: its output is of si32, and there are integers of at most 16 bits only; give the output another type or range}}
  octet.dtypes @wide input = <ui8> output = <si32>
  // expected-error @+1 {{fits no QConfig: its input is of the range [10, 20], which does not include 0, as every observer's does; give the input another type or range}}
  octet.dtypes @without_zero input = <ui8 range [10, 20]> output = <ui8>
  octet.dtypes @plain input = <ui8> output = <ui8>
  // expected-note @+1 {{the data types}}
  octet.dtypes @half_bias input = <ui8> output = <ui8> bias = f16
  octet.pattern @unary dtypes = [@wide, @without_zero, @plain] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  // expected-error @+1 {{has no data types, so that no QConfig fits it; list an octet.dtypes in it}}
  octet.pattern @untyped dtypes = [] {
    %x = octet.activation
    %y = octet.match ["nn.elu"](%x)
    octet.yield %y : none
  }
  // expected-error @+2 {{has a weight, but its data types @half_bias have none; give these data types `weight = ...`}}
  // expected-error @+1 {{has a bias, which is f32, but its data types @half_bias have another type for it; give these data types `bias = f32` or `bias = si32`}}
  octet.pattern @linear dtypes = [@half_bias] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  // expected-note @+1 {{the data types}}
  octet.dtypes @mixed input = <ui8> output = <si8>
  // expected-error @+1 {{shares the observer of its inputs with its result, but its data types @mixed have another type for it; give input and output of these data types one type, or let the pattern observe its result}}
  octet.pattern @shared dtypes = [@mixed] observation = shared {
    %x = octet.activation
    %y = octet.match ["nn.reshape"](%x)
    octet.yield %y : none
  }
  octet.dtypes @weighted input = <ui8> output = <ui8> weight = <si8>
  octet.pattern @weight_behind dtypes = [@weighted] {
    %x = octet.activation
    %r = octet.match ["nn.neg"](%x)
    %w = octet.weight axis = 0
    // expected-error @+1 {{reads a weight, but no activation to multiply it by; let it read an octet.activation, or make the weight an octet.parameter}}
    %y = octet.match ["nn.linear"](%r, %w)
    octet.yield %y : none
  }
}

//--- mapping.mlir
octet.backend @mapped {
  // expected-note @+1 {{the data types}}
  octet.dtypes @signed input = <si8> output = <si8> weight = <si8>
  octet.dtypes @unsigned input = <ui8> output = <ui8> weight = <si8>
  // expected-note @+1 {{the data types}}
  octet.dtypes @narrow input = <ui8> output = <ui8> weight = <si8 range [-64, 63]>
  // expected-error @+1 {{has the data types @signed, which no QConfig of the mapping @m fits: the activation observer yields ui8, but the backend takes si8; give the activation observer the dtype si8, or omit the data types}}
  octet.pattern @unary dtypes = [@signed, @unsigned] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  // expected-error @+1 {{has the data types @narrow, which no QConfig of the mapping @m fits: the range of the weight observer does not lie inside the backend's [-64, 63]; give the weight observer a range inside [-64, 63], or omit the data types}}
  octet.pattern @linear dtypes = [@unsigned, @narrow] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
}
octet.qconfig_mapping @m {
  octet.object_type "nn.relu" #octet.qconfig<activation = #octet.min_max<dtype = ui8>>
  octet.object_type "nn.neg" none
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8>>
}

// RUN: octet-opt %s --split-input-file --verify-diagnostics

octet.backend @b {
  // expected-error @+1 {{expected a range [low, high] with low < high, but got [255, 0]}}
  octet.dtypes @d input = <ui8 range [255, 0]>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected an integer type beside a range or a zero point, but got 'f32'}}
  octet.dtypes @d input = <f32 range [0, 255]>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected an integer or float type, but got 'index'}}
  octet.dtypes @d input = <index>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a positive scale_min, but got 0.000000e+00 : f32}}
  octet.dtypes @d input = <ui8 scale_min 0.0 : f32>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a positive scale, but got -1.000000e+00 : f32}}
  octet.dtypes @d input = <ui8 scale -1.0 : f32 zero_point 0>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected scale and zero_point together, but got only one of them}}
  octet.dtypes @d input = <ui8 scale 1.0 : f32>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a scale of at least scale_min, but got 5.000000e-01 : f32 and 1.000000e+00 : f32}}
  octet.dtypes @d input = <ui8 scale_min 1.0 : f32 scale 0.5 : f32 zero_point 0>
}

// -----

octet.qconfig_mapping @m {
  // expected-error @+1 {{expected a column_activation of the type of the activation, but got #octet.column_min_max<dtype = si8> beside #octet.min_max<dtype = ui8>}}
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, column_activation = #octet.column_min_max<dtype = si8>>
}

// -----

octet.qconfig_mapping @m {
  // expected-error @+1 {{expected a column_activation with one scale that follows the data, but got #octet.per_channel_min_max<dtype = ui8>}}
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, column_activation = #octet.per_channel_min_max<dtype = ui8>>
}

// -----

octet.qconfig_mapping @m {
  // expected-error @+1 {{expected a trunk_activation with one scale that follows the data, but got #octet.placeholder<dtype = f32>}}
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, trunk_activation = #octet.placeholder<dtype = f32>>
}

// -----

octet.backend @b {
  // expected-error @+1 {{'octet.dtypes' op expected an input beside 'dynamic'}}
  octet.dtypes @d dynamic weight = <si8>
}

// -----

octet.backend @b {
  // expected-error @+1 {{'octet.dtypes' op expected the output f32 beside 'dynamic', but got 'ui8'}}
  octet.dtypes @d dynamic input = <ui8> output = <ui8>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected the symbol of an 'octet.dtypes' of this backend, but got @missing}}
  octet.pattern @p dtypes = [@missing] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    // expected-error @+1 {{expected at least one operator name}}
    %y = octet.match [](%x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    // expected-error @+1 {{expected two operands beside 'commutative', but got 1}}
    %y = octet.match ["nn.relu"](%x) commutative
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    %xs = octet.activation variadic
    // expected-error @+1 {{expected an optional or variadic operand in the last place only}}
    %y = octet.match ["nn.concat"](%xs, %x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    // expected-error @+1 {{expected a match constraint behind 'where', but got 1 : i64}}
    %y = octet.match ["nn.relu"](%x) where [1]
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected the result of an 'octet.match' as the root}}
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    octet.yield %x : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected only leaves and matches, but got 'nn.constant'}}
  octet.pattern @p dtypes = [] {
    %k = nn.constant dense<1> : tensor<1xi64>
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    // expected-error @+1 {{expected to be part of the graph, but nothing uses it}}
    %z = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected at most one weight, and a bias only beside it}}
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    %b = octet.bias
    %y = octet.match ["nn.add"](%x, %b)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a region that ends with 'octet.yield' of the root's results}}
  octet.pattern @p dtypes = [] {
    octet.yield
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected no weight in a pattern whose result shares the observer of its inputs}}
  octet.pattern @p dtypes = [] observation = shared {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected no channel_axis on a pattern whose result shares the observer of its inputs}}
  octet.pattern @p dtypes = [] observation = shared channel_axis = 1 {
    %x = octet.activation
    %y = octet.match ["nn.reshape"](%x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a region that ends with 'octet.affine'}}
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a weight and a bias to fold into}}
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %k = octet.parameter
    %y = octet.match ["nn.mul"](%x, %k)
    octet.affine %y scale %k
  }
}

// -----

octet.backend @b {
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %z = octet.activation
    %y = octet.match ["nn.mul"](%c, %z)
    // expected-error @+1 {{expected 'octet.parameter' as scale, divisor, shift, mean and variance}}
    octet.affine %y scale %z
  }
}

// -----

octet.backend @b {
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %v = octet.parameter
    %y = octet.match ["nn.mul"](%c, %v)
    // expected-error @+1 {{expected an epsilon beside the variance}}
    octet.affine %y variance %v
  }
}

// -----

octet.backend @b {
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %v = octet.parameter
    %y = octet.match ["nn.div"](%c, %v)
    // expected-error @+1 {{expected no scale and no variance beside a divisor}}
    octet.affine %y scale %v divisor %v
  }
}

// -----

// expected-error @+1 {{expected dtypes, patterns, folds, float operators and a recipe, but got 'octet.observer'}}
octet.backend @b {
  octet.observer @o #octet.fixed_qparams<ui8, scale = 1.0 : f32, zero_point = 0>
}

// -----

octet.backend @b {
  // expected-note @+1 {{the earlier pattern; it always wins}}
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  // expected-error @+1 {{expected a graph of its own, but an earlier pattern has the same}}
  octet.pattern @q dtypes = [] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

// -----

// expected-error @+1 {{expected at most one 'octet.recipe'}}
octet.backend @b {
  octet.recipe before_prepare "a"
  octet.recipe after_calibrate "b"
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a share between 0 and 1, but got 2.000000e+00}}
  octet.float_ends share = 2.0 because "it is small"
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a share between 0 and 1, but got -1.000000e+00}}
  octet.float_products share = -1.0 because "they are few"
}

// -----

octet.backend @b {
  // expected-error @+1 {{attribute 'length' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  octet.float_sums length = 0 because "they are many"
}

// -----

octet.backend @b {
  // expected-error @+1 {{attribute 'linear_length' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  octet.float_sums length = 3 linear_length = 0 because "they are many"
}

// -----

octet.qconfig_mapping @m {
  // expected-error @+1 {{expected a regular expression, but got "a\x1B[": }}
  octet.module_name_regex "a\1B[" none
}

// -----

// expected-error @+1 {{expected mapping entries only, but got 'nn.constant'}}
octet.qconfig_mapping @m {
  %k = nn.constant dense<1> : tensor<1xi64>
}

// -----

octet.qconfig_mapping @m {
  // expected-note @+1 {{the other entry}}
  octet.object_type "nn.relu" none
  // expected-error @+1 {{expected one entry of this kind and key, but there is another}}
  octet.object_type "nn.relu" none
}

// -----

octet.qconfig_mapping @m {
  // expected-note @+1 {{the other entry}}
  octet.global none
  // expected-error @+1 {{expected one entry of this kind and key, but there is another}}
  octet.global none
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a range within 'ui8', but got [0, 300]}}
  octet.dtypes @d input = <ui8 range [0, 300]>
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a zero point within 'ui8', but got 900}}
  octet.dtypes @d input = <ui8 scale 1.0 : f32 zero_point 900>
}

// -----

octet.backend @b {
  octet.dtypes @d input = <ui8>
  // expected-note @+1 {{the pattern}}
  octet.pattern @p dtypes = [@d] {
    %x = octet.activation
    %y = octet.match ["nn.relu", "nn.exp\0A"](%x)
    octet.yield %y : none
  }
  // expected-error @+1 {{expected operators that no pattern takes, but a pattern takes "nn.exp\x0A"}}
  octet.float ["nn.softmax", "nn.exp\0A"] because "it is better so"
}

// -----

octet.qconfig_mapping @m {
  // expected-error @+1 {{expected a regular expression, but got "block(?=1)": there is no matcher for '(?='}}
  octet.module_name_regex "block(?=1)" none
}

// -----

octet.qconfig_mapping @m {
  // expected-error @+1 {{attribute 'index' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  octet.module_name_object_type_order "body", "Conv", -1 none
}

// -----

octet.qconfig_mapping @m {
  // expected-note @+1 {{the other entry}}
  octet.module_name_object_type_order "body", "Conv", 1 none
  octet.module_name_object_type_order "body", "Conv", 2 none
  // expected-error @+1 {{expected one entry of this kind and key, but there is another}}
  octet.module_name_object_type_order "body", "Conv", 1 none
}

// -----

// expected-error @+1 {{expected a positive finite f32 as the scale, but got 0.000000e+00 : f32}}
octet.observer @o #octet.fixed_qparams<ui8, scale = 0.0 : f32, zero_point = 0>

// -----

// expected-error @+1 {{expected a positive finite f32 as the scale, but got 0x7FC00000 : f32}}
octet.observer @o #octet.fixed_qparams<ui8, scale = 0x7FC00000 : f32, zero_point = 0>

// -----

// expected-error @+1 {{expected a positive finite f32 as the scale, but got 1.000000e+00 : f64}}
octet.observer @o #octet.fixed_qparams<ui8, scale = 1.0 : f64, zero_point = 0>

// -----

// expected-error @+1 {{expected a zero point within 'ui8', but got 900}}
octet.observer @o #octet.fixed_qparams<ui8, scale = 1.0 : f32, zero_point = 900>

// -----

// expected-error @+1 {{expected an integer dtype with a sign}}
octet.observer @o #octet.fixed_qparams<i8, scale = 1.0 : f32, zero_point = 0>

// -----

octet.backend @b {
  // expected-error @+1 {{expected an activation in a pattern whose result shares its observer}}
  octet.pattern @p dtypes = [] observation = shared {
    %k = octet.parameter
    %y = octet.match ["nn.reshape"](%k)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a root that reads the operator with the weight}}
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %r = octet.match ["nn.relu"](%c)
    %k = octet.parameter
    %y = octet.match ["nn.mul"](%r, %k)
    octet.affine %y scale %k
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected the bias beside the weight, but they are of two operators}}
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %c = octet.match ["nn.conv"](%x, %w)
    %b = octet.bias
    %k = octet.parameter
    %y = octet.match ["nn.fma"](%c, %k, %b)
    octet.affine %y scale %k
  }
}

// -----

octet.backend @b {
  octet.fold @f channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %k = octet.parameter
    %y = octet.match ["nn.neg"](%c)
    // expected-error @+1 {{expected parameters that an 'octet.match' reads}}
    octet.affine %y scale %k
  }
}

// -----

// expected-error @+1 {{expected an operand and a dimension from 0, but got -1 and 1}}
#before_the_first = #octet.attribute_is_dimension<"groups", operand -1, dimension 1, above 1>

// -----

// expected-error @+1 {{expected an operand and a dimension from 0, but got 0 and -2}}
#from_the_end = #octet.attribute_is_dimension<"groups", operand 0, dimension -2, above 1>

// -----

octet.backend @b {
  octet.part @p {
    %x = octet.activation
    // expected-error @+1 {{expected at least one class}}
    %y = octet.match ["nn.relu"](%x) where [#octet.source_class<[]>]
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  octet.part @p {
    %x = octet.activation
    // expected-error @+1 {{expected names of classes, but got 1 : i64}}
    %y = octet.match ["nn.relu"](%x) where [#octet.source_class<[1]>]
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a region that ends with 'octet.yield' of one value or with 'octet.affine'}}
  octet.part @p {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected the result of an 'octet.match' as the root}}
  octet.part @p {
    %x = octet.activation
    octet.yield %x : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected classes beside 'required'}}
  octet.part @p required {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a first link that is not optional}}
  octet.chain @c dtypes = [] : optional [@p]
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected a list of parts or classes as a link, but got []}}
  octet.chain @c dtypes = [] : [@p] -> []
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected the symbol of a part or a class, but got 1 : i64}}
  octet.fold_chain @c channel_axis = 1 : [@p] -> [1]
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected at least one link, and a flag for each, but got 0 and 0}}
  "octet.chain"() {base = "c", dtypes = [], links = [], optional = array<i1>} : () -> ()
}

// -----

octet.backend @b {
  // expected-error @+1 {{expected to yield all results of one 'octet.match', in their order}}
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    %y:2 = octet.match ["my.halves"](%x)
    octet.yield %y#1, %y#0 : none, none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    // expected-error @+1 {{expected one result beside 'results variadic', but got 2}}
    %y:2 = octet.match ["my.halves"](%x) results variadic
    octet.yield %y#0, %y#1 : none, none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    // expected-error @+1 {{expected a root beside 'results variadic', but a match reads it}}
    %m = octet.match ["my.split"](%x) results variadic
    %y = octet.match ["my.relu"](%m)
    octet.yield %y : none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    // expected-error @+1 {{expected a result}}
    octet.match ["my.relu"](%x)
    octet.yield %x : none
  }
}

// -----

octet.backend @b {
  octet.pattern @p dtypes = [] {
    %x = octet.activation
    %sizes = octet.any variadic
    // expected-error @+1 {{expected an optional or variadic operand in the last place only}}
    %y = octet.match ["my.resize"](%sizes, %x)
    octet.yield %y : none
  }
}

// RUN: octet-opt %s | octet-opt | FileCheck %s
// RUN: octet-opt %s --mlir-print-op-generic | octet-opt | FileCheck %s

// CHECK-LABEL: octet.backend @tutorial
octet.backend @tutorial {
  // CHECK: octet.dtypes @w8a8 input = <ui8 range[0, 255] scale_min 2.44140625E-4 : f64> output = <ui8> weight = <si8 range[-127, 127]> bias = f32
  octet.dtypes @w8a8 input = <ui8 range [0, 255] scale_min 2.44140625e-4 : f64> output = <ui8> weight = <si8 range [-127, 127]> bias = f32
  // CHECK: octet.dtypes @unit output = <ui8 scale 3.906250e-03 : f64 zero_point 0>
  octet.dtypes @unit output = <ui8 scale 3.90625e-3 : f64 zero_point 0>
  // CHECK: octet.dtypes @run_time dynamic input = <ui8> output = <f32> weight = <si8> bias = f32
  octet.dtypes @run_time dynamic input = <ui8> output = <f32> weight = <si8> bias = f32

  // CHECK: octet.fold @conv_batch_norm channel_axis = 1 {
  octet.fold @conv_batch_norm channel_axis = 1 {
    %x = octet.activation
    // CHECK: octet.weight axis = 0
    %w = octet.weight axis = 0
    // CHECK: octet.bias optional
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    // CHECK-COUNT-4: octet.parameter vector along 1
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%c, %scale, %shift, %mean, %variance)
    // CHECK: octet.affine %{{.*}} scale %{{.*}} shift %{{.*}} mean %{{.*}} variance %{{.*}} epsilon "epsilon"
    octet.affine %y scale %scale shift %shift mean %mean variance %variance epsilon "epsilon"
  }

  // CHECK: octet.pattern @depthwise dtypes = [@w8a8] float_uses = float_result channel_axis = 1 {
  octet.pattern @depthwise dtypes = [@w8a8] float_uses = float_result channel_axis = 1 {
    // CHECK: octet.activation channel_axis = 1
    %x = octet.activation channel_axis = 1
    %w = octet.weight axis = 0
    // CHECK: octet.match ["nn.conv"](%{{.*}}, %{{.*}}) where [#octet.attribute_is_dimension<"groups", operand 0, dimension 1, above 1>]
    %y = octet.match ["nn.conv"](%x, %w) where [#octet.attribute_is_dimension<"groups", operand 0, dimension 1, above 1>]
    octet.yield %y : none
  }
  // CHECK: octet.pattern @concat dtypes = [@w8a8, @unit] observation = shared {
  octet.pattern @concat dtypes = [@w8a8, @unit] observation = shared {
    // CHECK: octet.activation variadic
    %x = octet.activation variadic
    %y = octet.match ["nn.concat"](%x)
    octet.yield %y : none
  }
  // CHECK: octet.pattern @add dtypes = [@w8a8] float_uses = stays_float {
  octet.pattern @add dtypes = [@w8a8] float_uses = stays_float {
    %a = octet.activation
    %b = octet.activation
    // CHECK: octet.match ["nn.add"](%{{.*}}, %{{.*}}) commutative where [#octet.same_shape]
    %s = octet.match ["nn.add"](%a, %b) commutative where [#octet.same_shape]
    // CHECK: octet.match ["nn.clip", "my.clip"](%{{.*}}) with {max = 6.000000e+00 : f32} where [#octet.attribute_in_range<"min", 0.000000e+00 : f32, 1.000000e+00 : f32>]
    %y = octet.match ["nn.clip", "my.clip"](%s) with {max = 6.0 : f32} where [#octet.attribute_in_range<"min", 0.0 : f32, 1.0 : f32>]
    octet.yield %y : none
  }
  // CHECK: octet.pattern @cell
  octet.pattern @cell dtypes = [@w8a8] {
    %x = octet.activation
    // CHECK: %[[TO:.*]] = octet.any
    %to = octet.any
    // CHECK: %[[REST:.*]] = octet.any variadic
    %rest = octet.any variadic
    // CHECK: %[[Y:.*]]:2 = octet.match ["my.cell"](%{{.*}}, %[[TO]], %[[REST]]) where [#octet.body<["arith.addf"]>]
    %y:2 = octet.match ["my.cell"](%x, %to, %rest) where [#octet.body<["arith.addf"]>]
    // CHECK: octet.yield %[[Y]]#0, %[[Y]]#1 : none, none
    octet.yield %y#0, %y#1 : none, none
  }
  // CHECK: octet.pattern @split
  octet.pattern @split dtypes = [@w8a8] observation = shared {
    %x = octet.activation
    // CHECK: octet.match ["my.split"](%{{.*}}) results variadic
    %y = octet.match ["my.split"](%x) results variadic
    octet.yield %y : none
  }
  // CHECK: octet.float ["nn.softmax"] because "it is a choice"
  octet.float ["nn.softmax"] because "it is a choice"
  // CHECK: octet.float_states because "it is another one"
  octet.float_states because "it is another one"
  // CHECK: octet.float_norms because "a norm reads it"
  octet.float_norms because "a norm reads it"
  // CHECK: octet.float_angles because "a sine reads it"
  octet.float_angles because "a sine reads it"
  // CHECK: octet.float_ratios because "ratios of it count"
  octet.float_ratios because "ratios of it count"
  // CHECK: octet.float_sums length = 18 linear_length = 2 because "they are many"
  octet.float_sums length = 18 linear_length = 2 because "they are many"
  // CHECK: octet.float_ends share = 5.000000e-02 because "it is small"
  octet.float_ends share = 0.05 because "it is small"
  // CHECK: octet.float_products share = 1.000000e-01 because "they are few"
  octet.float_products share = 0.1 because "they are few"
  // CHECK: octet.recipe before_prepare "cse" after_calibrate "octet-correct-bias"
  octet.recipe before_prepare "cse" after_calibrate "octet-correct-bias"
}

// CHECK-LABEL: octet.qconfig_mapping @mapping
octet.qconfig_mapping @mapping {
  // CHECK: octet.global #octet.qconfig<activation = #octet.fixed_qparams<{{.*}}>, weight = #octet.fixed_qparams<{{.*}}>>
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 1.0 : f32, zero_point = 0>, weight = #octet.fixed_qparams<si8, scale = 1.0 : f32, zero_point = 0>>
  // CHECK: octet.object_type "nn.relu" none
  octet.object_type "nn.relu" none
  // CHECK: octet.object_type "nn.linear" #octet.qconfig<activation = #octet.placeholder<dtype = ui8, dynamic = true, range = [0, 254], reduce_range = true, per_row = true>>
  octet.object_type "nn.linear" #octet.qconfig<activation = #octet.placeholder<dtype = ui8, dynamic = true, range = [0, 254], reduce_range = true, per_row = true>>
  // CHECK: octet.module_name "head" none
  octet.module_name "head" none
  // CHECK: octet.module_name_regex "stage[0-9]+" none
  octet.module_name_regex "stage[0-9]+" none
  // CHECK: octet.module_name_object_type_order "body", "torch.nn.Linear", 1 none
  octet.module_name_object_type_order "body", "torch.nn.Linear", 1 none
}

// CHECK-LABEL: octet.backend @short includes "torch" {
octet.backend @short includes "torch" {
  // CHECK: octet.dtypes @d input = <ui8> {fx = {scale_max_upper_bound = 5.000000e-01 : f64}}
  octet.dtypes @d input = <ui8> {fx = {scale_max_upper_bound = 0.5}}
  // CHECK: octet.dtypes_list @all [@d]
  octet.dtypes_list @all [@d]
  // CHECK: octet.part @act of ["torch.nn.ReLU"] required {
  octet.part @act of ["torch.nn.ReLU"] required {
    %x = octet.activation
    // CHECK: where [#octet.source_class<["torch.nn.ReLU"]>, #octet.source_class<["torch.nn.ReLU"], required = true>]
    %y = octet.match ["nn.relu"](%x) where [#octet.source_class<["torch.nn.ReLU"]>, #octet.source_class<["torch.nn.ReLU"], required = true>]
    octet.yield %y : none
  }
  // CHECK: octet.part @scale {
  octet.part @scale {
    %x = octet.activation
    %s = octet.parameter
    %y = octet.match ["nn.mul"](%x, %s) commutative
    // CHECK: octet.affine %{{.*}} scale %{{.*}}
    octet.affine %y scale %s
  }
  // CHECK: octet.chain @linear dtypes = [@all] one_activation = shared float_uses = float_result channel_axis = 1 : ["torch.nn.Linear", @act] -> optional [@act] {fx = {root_module = "torch.nn.Linear"}}
  octet.chain @linear dtypes = [@all] one_activation = shared float_uses = float_result channel_axis = 1
    : ["torch.nn.Linear", @act] -> optional [@act] {fx = {root_module = "torch.nn.Linear"}}
  // CHECK: octet.fold_chain @linear channel_axis = -1 : ["torch.nn.Linear"] -> [@scale]
  octet.fold_chain @linear channel_axis = -1 : ["torch.nn.Linear"] -> [@scale]
}

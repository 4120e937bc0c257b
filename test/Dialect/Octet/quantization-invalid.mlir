// RUN: octet-opt %s --split-input-file --verify-diagnostics

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected one scale per element of axis 1, but got 2}}
  %q = octet.quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<u8:f32:1, {0.5, 0.25}>>
  return
}

// -----

func.func @axis_of_fake_quantize(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected one scale per element of axis 1, but got 2}}
  %q = octet.fake_quantize %x as !quant.uniform<u8:f32:1, {0.5, 0.25}> : tensor<2x3xf32>
  return
}

// -----

func.func @type_of_fake_quantize(%x: tensor<2x3xf32>) {
  // expected-error @below {{'quantized_type' failed to satisfy constraint: type attribute of uniform quantized type per tensor or axis}}
  %q = octet.fake_quantize %x as f32 : tensor<2x3xf32>
  return
}

// -----

func.func @observer(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected the symbol of an 'octet.observer', but got @missing}}
  %q = octet.observe %x by @missing : tensor<2x3xf32>
  return
}

// -----

func.func @yield(%x: tensor<2xf32>) {
  // expected-error @below {{expected to yield the shape [2], but got [3]}}
  %y = octet.group(%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    %r = nn.constant dense<1.0> : tensor<3xf32>
    octet.yield %r : tensor<3xf32>
  }
  return
}

// -----

func.func @origin_of_another_type(%x: tensor<2xf32>) {
  // expected-error @below {{expected an '#octet.origin' as 'octet.origin', but got "relu1"}}
  %r = nn.relu %x {octet.origin = "relu1"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// expected-error @below {{expected a source name, but got an empty one}}
#unnamed = #octet.origin<"">

// -----

// expected-error @below {{expected a source class, but got an empty one}}
#unclassed = #octet.origin<"relu1", "", 0>

// -----

// expected-error @below {{expected a number of the operator from 0, but got -1}}
#uncounted = #octet.origin<"relu1", "Relu", -1>

// -----

func.func @sub_channel(%x: tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>) {
  // expected-error @below {{uniform quantized type per tensor or axis}}
  %y = octet.dequantize %x : (tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>) -> tensor<2x4xf32>
  return
}

// -----

// expected-error @below {{expected a code of the form OCT123, but got "OCT1"}}
#coded = #octet.reason<"OCT1", "no pattern", "">

// -----

// expected-error @below {{expected a code of docs/reasons.md, but got "OCT199"}}
#uncommon = #octet.reason<"OCT199", "no pattern", "">

// -----

// expected-error @below {{expected a text beside the code, but got an empty one}}
#silent = #octet.reason<"OCT101", "", "">

// -----

// expected-error @below {{expected a reason for the verdict float, but got none}}
#unexplained = #octet.decision<number = 0, verdict = float>

// -----

func.func @decision_of_another_type(%x: tensor<2xf32>) {
  // expected-error @below {{expected an '#octet.decision' as 'octet.decision', but got "float"}}
  %r = nn.relu %x {octet.decision = "float"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pattern_of_no_backend(%x: tensor<2xf32>) {
  // expected-error @below {{expected the symbol of an 'octet.pattern' of the module's backend, but got @cpu::@act}}
  %y = octet.group @cpu::@act(%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    octet.yield %a : tensor<2xf32>
  }
  return
}

// -----

// expected-error @below {{expected a number of the operator from 0, but got -1}}
#negative = #octet.decision<number = -1, verdict = int8>

// -----

// expected-error @below {{expected the name of a stage as 'octet.stage', but got "calibrated"}}
module attributes {octet.stage = "calibrated"} {}

// -----

// expected-error @below {{expected a string as 'octet.report', but got 3 : i64}}
module attributes {octet.report = 3} {}

// -----

// expected-error @below {{expected a unit as 'octet.quantized_source', but got "yes"}}
module attributes {octet.quantized_source = "yes"} {}

// -----

// expected-error @below {{expected a unit as 'octet.quantized_io', but got true}}
module attributes {octet.quantized_io = true} {}

// -----

// expected-error @below {{expected 'octet.stage' on a module only}}
func.func private @stage_of_a_function() attributes {octet.stage = "fuse"}

// -----

func.func @results_of_a_group(%x: tensor<2xf32>) {
  // expected-error @below {{expected a region that ends with 'octet.yield' of one value per result}}
  %y:2 = octet.group(%a = %x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    octet.yield %a : tensor<2xf32>
  }
  return
}

// -----

// expected-error @below {{a vector of i8, i64, f32 or f64}}
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[[1.0, 2.0]]> : tensor<1x2xf32>

// -----

// expected-error @below {{expected a unit as 'octet.weight', but got 1}}
func.func @mark_of_an_argument(%w: tensor<2xf32> {octet.weight = 1}) {
  return
}

// -----

func.func @mark_of_an_operator() {
  // expected-error @below {{expected a unit as 'octet.weight', but got true}}
  %w = arith.constant {octet.weight = true} 1.0 : f32
  return
}

// -----

func.func @weights_shape(%q: tensor<4x6xui4>, %s: tensor<4x1xf32>) {
  // expected-error @below {{expected a result of shape [4, 6], but got [6, 4]}}
  %x = octet.dequantize_weights %q scales %s : (tensor<4x6xui4>, tensor<4x1xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @halves_scales(%q: tensor<4x6xf16>, %s: tensor<4x1xf32>) {
  // expected-error @below {{expected neither scales nor zero points of floats}}
  %x = octet.dequantize_weights %q scales %s : (tensor<4x6xf16>, tensor<4x1xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @no_scales(%q: tensor<4x6xui4>) {
  // expected-error @below {{expected scales of integers}}
  %x = octet.dequantize_weights %q : (tensor<4x6xui4>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scales_shape(%q: tensor<4x6xui4>, %s: tensor<4x2xf32>) {
  // expected-error @below {{expected one scale for each block of [4, 6] elements, but got [4, 2]}}
  %x = octet.dequantize_weights %q scales %s : (tensor<4x6xui4>, tensor<4x2xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @blocks_shape(%q: tensor<4x6xui4>, %s: tensor<4x3xf32>) {
  // expected-error @below {{expected one scale for each block of [4, 6] elements, but got [4, 3]}}
  %x = octet.dequantize_weights %q scales %s block [1, 4] : (tensor<4x6xui4>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @block_sizes(%q: tensor<4x6xui4>, %s: tensor<4x3xf32>) {
  // expected-error @below {{expected 2 positive sizes of a block, but got [0, 4]}}
  %x = octet.dequantize_weights %q scales %s block [0, 4] : (tensor<4x6xui4>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @zero_points_shape(%q: tensor<4x6xui4>, %s: tensor<4x1xf32>, %z: tensor<1x1xf32>) {
  // expected-error @below {{expected zero points of shape [4, 1], but got [1, 1]}}
  %x = octet.dequantize_weights %q scales %s zero_points %z : (tensor<4x6xui4>, tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x6xf32>
  return
}

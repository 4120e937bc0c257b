// RUN: octet-opt %s --split-input-file --verify-diagnostics

func.func @conv_channels(%x: tensor<1x4x8x8xf32>, %w: tensor<8x3x3x3xf32>) {
  // expected-error @below {{expected a filter for 4 input channels in 1 groups, but got [8, 3, 3, 3]}}
  %y = nn.conv %x, %w : (tensor<1x4x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @conv_shape(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @below {{expected result shape [1, 8, 6, 6], but got [1, 8, 8, 8]}}
  %y = nn.conv %x, %w : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x8x8xf32>
  return
}

// -----

func.func @conv_window(%x: tensor<1x4x2x2xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @below {{expected a window inside the padded input, but it is larger by 1}}
  %y = nn.conv %x, %w : (tensor<1x4x2x2xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x1x1xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<4x2x2xf32>, %w: tensor<8x4x1x1xf32>) {
  // expected-error @below {{expected input of rank 4, but got rank 3}}
  %y = nn.conv %x, %w : (tensor<4x2x2xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x2x2xf32>
  return
}

// -----

func.func @bias(%x: tensor<1x4xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected bias of shape [8], but got [4]}}
  %y = nn.linear %x, %w, %b : (tensor<1x4xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<1x8xf32>
  return
}

// -----

func.func @linear(%x: tensor<1x5xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{expected an input whose last dimension is 4, but got [1, 5]}}
  %y = nn.linear %x, %w : (tensor<1x5xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
  return
}

// -----

func.func @matmul(%x: tensor<2x3xf32>, %w: tensor<4x5xf32>) {
  // expected-error @below {{expected matrices that multiply, but got [2, 3] and [4, 5]}}
  %y = nn.matmul %x, %w : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @factor_larger_than_its_operand(%x: tensor<1x3xf32>, %k: tensor<2x1xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{expected a factor and a shift that broadcast to [1, 3], but got [2, 3]}}
  %z = nn.fma %x, %k, %b : (tensor<1x3xf32>, tensor<2x1xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{expected shapes that broadcast, but got [2, 3] and [2, 4]}}
  %z = nn.add %x, %y : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @window_attributes(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{expected two kernel sizes, strides and dilations, and four pads}}
  %y = nn.max_pool %x kernel [2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @window_values(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{expected positive kernel sizes, strides and dilations, and non-negative pads}}
  %y = nn.max_pool %x kernel [2, 2] strides [0, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @axes(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{expected ascending axes inside rank 4}}
  %y = nn.reduce_mean %x axes [3, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>
  return
}

// -----

func.func @softmax_axis(%x: tensor<1x2xf32>) {
  // expected-error @below {{expected an axis inside rank 2, but got 2}}
  %y = nn.softmax %x axis 2 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return
}

// -----

func.func @concat(%x: tensor<1x2xf32>, %y: tensor<2x2xf32>) {
  // expected-error @below {{expected inputs that agree outside axis 1, but got [2, 2]}}
  %z = nn.concat %x, %y axis 1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @pad(%x: tensor<1x2xf32>) {
  // expected-error @below {{expected non-negative pads}}
  %y = nn.pad %x low [0, -1] high [0, 0] : (tensor<1x2xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @slice(%x: tensor<1x2xf32>) {
  // expected-error @below {{expected a slice inside [1, 2]}}
  %y = nn.slice %x starts [0, 1] sizes [1, 2] steps [1, 1] : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return
}

// -----

func.func @transpose(%x: tensor<1x2xf32>) {
  // expected-error @below {{expected a permutation of 2 dimensions}}
  %y = nn.transpose %x permutation [0, 0] : (tensor<1x2xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @reshape(%x: tensor<1x2xf32>) {
  // expected-error @below {{expected 2 elements in the result, but got 3}}
  %y = nn.reshape %x : (tensor<1x2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @constant_shape() {
  // expected-error @below {{expected a value of shape [2], but got [3]}}
  %y = nn.constant dense<1> : tensor<3xi8> -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @constant_type() {
  // expected-error @below {{expected values of type 'i8', but got 'i32'}}
  %y = nn.constant dense<1> : tensor<2xi32> -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @relayout(%x: tensor<1x2x3x3xf32>) {
  // expected-error @below {{expected input and result to differ in their encoding only}}
  %y = nn.relayout %x : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// expected-error @below {{expected a positive channel pitch, but got 0}}
func.func @layout_pitch(%x: tensor<1x2x3x3xf32, #nn.layout<nhwc, channels = 0, pads = [0, 0, 0, 0]>>)

// -----

// expected-error @below {{expected four non-negative pads (top, left, bottom, right)}}
func.func @layout_pads(%x: tensor<1x2x3x3xf32, #nn.layout<nhwc, channels = 2, pads = [0, 0]>>)

// -----

// expected-error @below {{expected a string for 'nn.name', but got 3}}
func.func @name(%x: tensor<1xf32> {nn.name = 3 : i32}) { return }

// -----

// expected-error @below {{has unknown attribute '"nn.label"'; expected 'nn.name' or 'nn.state'}}
func.func @label(%x: tensor<1xf32> {nn.label = "x"}) { return }

// -----

// expected-error @below {{expected a string for 'nn.state', but got unit}}
func.func @state_without_name(%x: tensor<1xf32> {nn.state}) { return }

// -----

// expected-error @below {{expected one argument and one result for the state "h", but got 1 and 0}}
func.func @state_without_result(%x: tensor<1xf32> {nn.state = "h"}) { return }

// -----

// expected-error @below {{expected one argument and one result for the state "h", but got 1 and 2}}
func.func private @state_with_two_results(tensor<1xf32> {nn.state = "h"}) -> (tensor<1xf32> {nn.state = "h"}, tensor<1xf32> {nn.state = "h"})

// -----

// expected-error @below {{expected one type for the state "h", but got 'tensor<1xf32>' and 'tensor<2xf32>'}}
func.func private @state_of_two_types(tensor<1xf32> {nn.state = "h"}) -> (tensor<2xf32> {nn.state = "h"})

// -----

func.func @resize(%x: tensor<1x2x3x3xf32>) {
  // expected-error @below {{expected two positive sizes and two positive scales}}
  %y = nn.resize %x size [3, 3] scales [0.0, 1.0] linear half_pixel floor : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @sub_channel(%x: tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>) {
  // expected-error @below {{or uniform quantized type per tensor or axis or integer values}}
  %y = nn.relu %x : (tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>) -> tensor<2x4xf32>
  return
}

// -----

func.func @integers_have_no_exponential(%x: tensor<4xi64>) {
  // expected-error @below {{expected real numbers, but got 'i64'}}
  %y = nn.exp %x : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @integers_and_reals(%x: tensor<4xi64>, %y: tensor<4xf32>) {
  // expected-error @below {{expected elements of one type, but got 'i64' and 'f32'}}
  %z = nn.add %x, %y : (tensor<4xi64>, tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @reals_have_no_bits(%x: tensor<4xf32>) {
  // expected-error @below {{expected integers, but got 'f32'}}
  %y = nn.not %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compared_with_another_type(%x: tensor<4xi32>, %y: tensor<4xi64>) {
  // expected-error @below {{expected elements of one type, but got 'i32' and 'i64'}}
  %z = nn.compare equal %x, %y : (tensor<4xi32>, tensor<4xi64>) -> tensor<4xi1>
  return
}

// -----

func.func @chosen_from_two_types(%c: tensor<4xi1>, %x: tensor<4xi32>, %y: tensor<4xf32>) {
  // expected-error @below {{expected elements of one type, but got 'i32' and 'f32'}}
  %z = nn.select %c, %x, %y : (tensor<4xi1>, tensor<4xi32>, tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @gathered_as_another_type(%x: tensor<4xi32>, %i: tensor<2xi64>) {
  // expected-error @below {{expected elements of one type, but got 'i32' and 'i64'}}
  %z = nn.gather %x, %i axis 0 : (tensor<4xi32>, tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @gathered_along_no_axis(%x: tensor<4xi32>, %i: tensor<2xi64>) {
  // expected-error @below {{expected an axis inside rank 1, but got 1}}
  %z = nn.gather %x, %i axis 1 : (tensor<4xi32>, tensor<2xi64>) -> tensor<2xi32>
  return
}

// -----

func.func @scattered_into_a_scalar(%x: tensor<f32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @below {{expected data of rank 1 or more, but got a scalar}}
  %z = nn.scatter %x, %i, %u sum : (tensor<f32>, tensor<2xi64>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @scattered_at_a_matrix(%x: tensor<4xf32>, %i: tensor<1x2xi64>, %u: tensor<2xf32>) {
  // expected-error @below {{expected indices of rank 1, but got rank 2}}
  %z = nn.scatter %x, %i, %u sum : (tensor<4xf32>, tensor<1x2xi64>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scattered_updates(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x4xf32>) {
  // expected-error @below {{expected updates [2, 3], but got [2, 4]}}
  %z = nn.scatter %x, %i, %u sum : (tensor<4x3xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduced_to_one_of_them(%x: tensor<4xi32>) {
  // expected-error @below {{expected a combination of all elements, but got replace}}
  %z = nn.reduce %x replace axes [0] : (tensor<4xi32>) -> tensor<i32>
  return
}

// -----

func.func @summed_along_no_axis(%x: tensor<4xf32>) {
  // expected-error @below {{expected an axis inside rank 1, but got 1}}
  %z = nn.cumulative_sum %x axis 1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @more_than_a_row(%x: tensor<4xf32>) {
  // expected-error @below {{expected from 1 to 4 of each row, but got 5}}
  %z = nn.top_k %x k 5 : (tensor<4xf32>) -> tensor<5xi64>
  return
}

// -----

func.func @axis_named_twice(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{expected ascending axes inside rank 4}}
  %y = nn.reduce_sum %x axes [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x4xf32>
  return
}

// -----

// 4 * 2^62 is 0 in 64 bits.
func.func @window_beyond_64_bits(%x: tensor<1x2x8x8xf32>) {
  // expected-error @below {{expected positive kernel sizes, strides and dilations, and non-negative pads, all below 2^31}}
  %y = nn.max_pool %x kernel [5, 1] dilations [4611686018427387904, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @pads_beyond_64_bits(%x: tensor<4xf32>) {
  // expected-error @below {{expected non-negative pads below 2^31}}
  %y = nn.pad %x low [9223372036854775807] high [9223372036854775807] : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// 4 * 2^62 is 0 in 64 bits.
func.func @slice_beyond_64_bits(%x: tensor<8xf32>) {
  // expected-error @below {{expected a slice inside [8]}}
  %y = nn.slice %x starts [0] sizes [5] steps [4611686018427387904] : (tensor<8xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @slice_backwards_beyond_64_bits(%x: tensor<8xf32>) {
  // expected-error @below {{expected a slice inside [8]}}
  %y = nn.slice %x starts [7] sizes [5] steps [-4611686018427387904] : (tensor<8xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @table_of_words(%x: tensor<4xf32>) {
  // expected-error @below {{expected elements of 8 bits, but got 'f32'}}
  %y = nn.table %x, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] : (tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 0.5>>
  return
}

// -----

func.func @sparse_constant() {
  // expected-error @below {{expected dense elements or a resource, but got sparse<}}
  %y = nn.constant sparse<[[1]], [2.0]> : tensor<4xf32>
  return
}

// -----

func.func @short_table(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) {
  // expected-error @below {{expected a table of 256 entries, but got 2}}
  %y = nn.table %x, [0, 1] : (tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.5>>
  return
}

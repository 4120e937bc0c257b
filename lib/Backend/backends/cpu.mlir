// The CPU backend: x86-64 and AArch64, unsigned 8-bit activations, signed 8-bit weights.
#unary = ["nn.relu", "nn.clip", "nn.silu", "nn.hard_swish", "nn.sigmoid", "nn.hard_sigmoid", "nn.leaky_relu", "nn.tanh", "nn.elu", "nn.erf", "nn.softplus", "nn.gelu", "nn.abs", "nn.thresholded_relu"]
#depthwise = [#octet.attribute_is_dimension<"groups", operand 0, dimension 1, above 1>]

octet.backend @cpu {
  octet.dtypes @w8a8 input = <ui8 range [0, 255]> output = <ui8 range [0, 255]> weight = <si8> bias = si32
  octet.dtypes @w8a16 input = <ui16> output = <ui16> weight = <si8> bias = f32
  octet.dtypes @a8 input = <ui8 range [0, 255]> output = <ui8 range [0, 255]>

  //===--- Parts ---===//

  octet.part @convolution {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.conv"](%x, %w, %b)
    octet.yield %y : none
  }
  // Depthwise ones take activations quantized per channel.
  octet.part @depthwise_convolution {
    %x = octet.activation channel_axis = 1
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.conv"](%x, %w, %b) where #depthwise
    octet.yield %y : none
  }
  octet.part @linear_layer {
    %x = octet.activation splittable
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.part @add {
    %x = octet.activation
    %r = octet.activation
    %y = octet.match ["nn.add"](%x, %r) commutative where [#octet.same_shape]
    octet.yield %y : none
  }
  octet.part @act {
    %x = octet.activation
    %y = octet.match #unary(%x)
    octet.yield %y : none
  }
  octet.part @of_two {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.add", "nn.sub", "nn.mul"](%a, %b)
    octet.yield %y : none
  }
  octet.part @batch_norm {
    %x = octet.activation
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%x, %scale, %shift, %mean, %variance)
    octet.affine %y scale %scale shift %shift mean %mean variance %variance epsilon "epsilon"
  }
  octet.part @bias {
    %x = octet.activation
    %shift = octet.parameter
    %y = octet.match ["nn.add"](%x, %shift) commutative
    octet.affine %y shift %shift
  }
  octet.part @scale {
    %x = octet.activation
    %scale = octet.parameter
    %y = octet.match ["nn.mul"](%x, %scale) commutative
    octet.affine %y scale %scale
  }
  // Behind weights that were trained as their product with a batch norm's factor.
  octet.part @division {
    %x = octet.activation
    %divisor = octet.parameter
    %y = octet.match ["nn.div"](%x, %divisor)
    octet.affine %y divisor %divisor
  }

  //===--- Affine operators that disappear into the weights in front of them ---===//

  octet.fold_chain @conv channel_axis = 1 : [@convolution] -> [@batch_norm, @bias, @scale, @division]
  octet.fold_chain @linear channel_axis = -1 : [@linear_layer] -> [@batch_norm, @bias, @scale, @division]

  //===--- Products, what is added to them, what is computed of them ---===//

  octet.chain @depthwise_conv dtypes = [@w8a8, @w8a16] float_uses = float_result channel_axis = 1
    : [@depthwise_convolution] -> optional [@add] -> optional [@act]
  octet.chain @conv dtypes = [@w8a8, @w8a16] float_uses = float_result channel_axis = 1
    : [@convolution] -> optional [@add] -> optional [@act]
  octet.chain @linear dtypes = [@w8a8, @w8a16] float_uses = float_result : [@linear_layer] -> optional [@add] -> optional [@act]

  //===--- Products of two activations ---===//

  octet.pattern @matmul dtypes = [@a8] float_uses = float_result {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.matmul"](%a, %b)
    octet.yield %y : none
  }

  //===--- Element-wise; batch norm that no weights took, as behind a concatenation ---===//

  octet.chain @binary dtypes = [@a8] float_uses = stays_float float_operands = stays_float channel_axis = 1
    : [@of_two] -> optional [@act]
  octet.chain @unary dtypes = [@a8] float_uses = stays_float float_operands = stays_float : [@act]
  octet.chain @batch_norm dtypes = [@a8] float_uses = stays_float float_operands = stays_float channel_axis = 1
    : [@batch_norm] -> optional [@act]

  //===--- Means: their range is much smaller than their input's, so they have a scale of their own ---===//

  octet.pattern @mean dtypes = [@a8] float_uses = stays_float float_operands = stays_float {
    %x = octet.activation
    %y = octet.match ["nn.avg_pool"](%x)
    octet.yield %y : none
  }
  octet.pattern @spatial_mean dtypes = [@a8] float_uses = stays_float float_operands = stays_float {
    %x = octet.activation
    %y = octet.match ["nn.reduce_mean"](%x) with {axes = array<i64: 2, 3>}
    octet.yield %y : none
  }

  //===--- Sums, as those of a softmax's exponentials ---===//

  octet.pattern @sum dtypes = [@a8] float_uses = float_result float_operands = follows {
    %x = octet.activation
    %y = octet.match ["nn.reduce_sum"](%x)
    octet.yield %y : none
  }

  //===--- Values that keep their scale ---===//

  octet.pattern @max_pool dtypes = [@a8] observation = shared float_uses = stays_float {
    %x = octet.activation
    %y = octet.match ["nn.max_pool"](%x)
    octet.yield %y : none
  }
  octet.pattern @slice dtypes = [@a8] observation = shared float_uses = stays_float float_operands = follows {
    %x = octet.activation
    %y = octet.match ["nn.slice"](%x)
    octet.yield %y : none
  }
  octet.pattern @data_movement dtypes = [@a8] observation = shared float_uses = stays_float {
    %x = octet.activation
    %y = octet.match ["nn.reshape", "nn.transpose", "nn.pad"](%x)
    octet.yield %y : none
  }
  octet.pattern @concat dtypes = [@a8] observation = shared float_uses = stays_float {
    %x = octet.activation variadic
    %y = octet.match ["nn.concat"](%x)
    octet.yield %y : none
  }
  octet.pattern @resize dtypes = [@a8] observation = shared float_uses = stays_float {
    %x = octet.activation
    %y = octet.match ["nn.resize"](%x)
    octet.yield %y : none
  }

  octet.float ["nn.softmax", "nn.exp"] because "its result spans many orders of magnitude, which 8 bits with one scale cannot hold"

  octet.float_states because "a state that comes in and leaves again collects what 8 bits with one scale lose at every step"

  octet.float_norms because "a normalization reads or makes it: a few of its values are far larger than the others, and 8 bits with one scale lose the others"

  octet.float_angles because "sines and cosines read it: of an angle of many turns, 8 bits with one scale lose the part that counts"

  octet.float_ratios because "ratios of it count, in a logarithm or a quotient, small ones as much as large ones: 8 bits with one scale lose the small ones"

  octet.float_sums length = 18 linear_length = 2 because "many residual sums follow on each other: each would round what all before it have added"

  octet.float_ends share = 0.01 because "it is small beside the network, and reads an input, whose columns may differ much, or makes an output, in which all of its error is seen"

  octet.float_products share = 0.02 because "products of two activations are a small part of the network, or it is one with a single row or column: 8 bits would cost more than they gain"

  octet.recipe before_prepare "octet-prepare-attention" after_calibrate "octet-scale-each-run,octet-split-outliers,octet-equalize-channels,octet-round-weights,octet-correct-bias"
}

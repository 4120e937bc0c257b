// The CPU backend without calibration: linear layers, those of recurrent networks among them, whose inputs are quantized row by
// row in each run, and convolutions of one group, whose inputs are quantized as a whole. All else is float.
#unary = ["nn.relu", "nn.clip", "nn.silu", "nn.hard_swish", "nn.sigmoid", "nn.hard_sigmoid", "nn.leaky_relu", "nn.tanh", "nn.elu", "nn.erf", "nn.softplus", "nn.gelu", "nn.abs", "nn.thresholded_relu"]

octet.backend @cpu_dynamic {
  octet.dtypes @w8 dynamic input = <ui8> weight = <si8 range [-127, 127]> bias = f32

  octet.fold @conv_batch_norm channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%c, %scale, %shift, %mean, %variance)
    octet.affine %y scale %scale shift %shift mean %mean variance %variance epsilon "epsilon"
  }
  octet.fold @linear_batch_norm channel_axis = -1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.linear"](%x, %w, %b)
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%c, %scale, %shift, %mean, %variance)
    octet.affine %y scale %scale shift %shift mean %mean variance %variance epsilon "epsilon"
  }
  octet.fold @linear_bias channel_axis = -1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.linear"](%x, %w, %b)
    %shift = octet.parameter
    %y = octet.match ["nn.add"](%c, %shift) commutative
    octet.affine %y shift %shift
  }

  octet.pattern @linear_act dtypes = [@w8] {
    %x = octet.activation splittable
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.linear"](%x, %w, %b)
    %y = octet.match #unary(%c)
    octet.yield %y : none
  }
  octet.pattern @linear dtypes = [@w8] {
    %x = octet.activation splittable
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }

  octet.pattern @conv_act dtypes = [@w8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b) with {groups = 1 : i64}
    %y = octet.match #unary(%c)
    octet.yield %y : none
  }
  octet.pattern @conv dtypes = [@w8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.conv"](%x, %w, %b) with {groups = 1 : i64}
    octet.yield %y : none
  }

  octet.float_angles because "sines and cosines read it: of an angle of many turns, 8 bits with one scale lose the part that counts"

  octet.float_ratios because "ratios of it count, in a logarithm or a quotient, small ones as much as large ones: 8 bits with one scale lose the small ones"

  octet.float_ends share = 0.01 because "it is small beside the network, and reads an input, whose columns may differ much, or makes an output, in which all of its error is seen"

  octet.float ["nn.conv"] because "convolutions of several groups take less time than the search for the extremes of their input"
}

// A convolution with batch norm in training form: its weights hold the batch norm's factor, by which its result is divided before
// the bias is added.
octet.backend @training {
  octet.dtypes @w8 input = <ui8> output = <ui8> weight = <si8> bias = f32

  octet.fold @conv_batch_norm channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%p, %scale, %shift, %mean, %variance)
    octet.affine %y scale %scale shift %shift mean %mean variance %variance epsilon "epsilon"
  }
  octet.fold @conv_division channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %divisor = octet.parameter
    %y = octet.match ["nn.div"](%p, %divisor)
    octet.affine %y divisor %divisor
  }
  octet.fold @conv_bias channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %shift = octet.parameter
    %y = octet.match ["nn.add"](%p, %shift) commutative
    octet.affine %y shift %shift
  }
  octet.pattern @conv_relu dtypes = [@w8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %y = octet.match ["nn.relu"](%p)
    octet.yield %y : none
  }
}

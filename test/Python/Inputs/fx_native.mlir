// PyTorch's native BackendConfig as far as the recorded networks use it, with its observation types and data types.
octet.backend @native {
  octet.dtypes @w8 input = <ui8> output = <ui8> weight = <si8> bias = f32
  octet.dtypes @dynamic dynamic input = <ui8> output = <f32> weight = <si8> bias = f32
  octet.dtypes @a8 input = <ui8> output = <ui8>
  octet.dtypes @slopes input = <ui8> output = <ui8> weight = <ui8>
  octet.dtypes @unit input = <ui8> output = <ui8 range [0, 255] scale 3.90625e-3 : f32 zero_point 0>
  octet.dtypes @signed_unit input = <ui8> output = <ui8 range [0, 255] scale 7.8125e-3 : f32 zero_point 128>

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
  octet.fold @linear_batch_norm channel_axis = -1 {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.linear"](%x, %w, %b)
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%p, %scale, %shift, %mean, %variance)
    octet.affine %y scale %scale shift %shift mean %mean variance %variance epsilon "epsilon"
  }

  //===--- Products ---===//

  octet.pattern @conv_relu dtypes = [@w8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %y = octet.match ["nn.relu"](%p)
    octet.yield %y : none
  }
  octet.pattern @conv dtypes = [@w8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.conv"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.pattern @linear_relu dtypes = [@w8, @dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.linear"](%x, %w, %b)
    %y = octet.match ["nn.relu"](%p)
    octet.yield %y : none
  }
  octet.pattern @linear dtypes = [@w8, @dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }

  //===--- Sums and products: of two values, or of a value and a number, which share an observer ---===//

  octet.pattern @binary_relu dtypes = [@a8] {
    %a = octet.activation
    %b = octet.activation
    %s = octet.match ["nn.add", "nn.mul"](%a, %b)
    %y = octet.match ["nn.relu"](%s)
    octet.yield %y : none
  }
  octet.pattern @binary dtypes = [@a8] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.add", "nn.mul", "nn.matmul"](%a, %b)
    octet.yield %y : none
  }
  octet.pattern @scalar_relu dtypes = [@a8] observation = shared {
    %a = octet.activation
    %b = octet.parameter
    %s = octet.match ["nn.add", "nn.mul"](%a, %b) commutative
    %y = octet.match ["nn.relu"](%s)
    octet.yield %y : none
  }
  octet.pattern @scalar dtypes = [@a8] observation = shared {
    %a = octet.activation
    %b = octet.parameter
    %y = octet.match ["nn.add", "nn.mul"](%a, %b) commutative
    octet.yield %y : none
  }

  //===--- Operators with an observer of their own ---===//

  octet.pattern @batch_norm_relu dtypes = [@a8] {
    %x = octet.activation
    %scale = octet.parameter
    %shift = octet.parameter
    %mean = octet.parameter
    %variance = octet.parameter
    %n = octet.match ["nn.batch_norm"](%x, %scale, %shift, %mean, %variance)
    %y = octet.match ["nn.relu"](%n)
    octet.yield %y : none
  }
  octet.pattern @batch_norm dtypes = [@a8] {
    %x = octet.activation
    %scale = octet.parameter
    %shift = octet.parameter
    %mean = octet.parameter
    %variance = octet.parameter
    %y = octet.match ["nn.batch_norm"](%x, %scale, %shift, %mean, %variance)
    octet.yield %y : none
  }
  // Layer and group normalization, as they are composed of operators.
  octet.pattern @norm dtypes = [@a8] {
    %x = octet.activation
    %epsilon = octet.parameter
    %scale = octet.parameter
    %shift = octet.parameter
    %m = octet.match ["nn.reduce_mean"](%x)
    %d = octet.match ["nn.sub"](%x, %m)
    %s = octet.match ["nn.mul"](%d, %d)
    %v = octet.match ["nn.reduce_mean"](%s)
    %e = octet.match ["nn.add"](%v, %epsilon)
    %r = octet.match ["nn.sqrt"](%e)
    %n = octet.match ["nn.div"](%d, %r)
    %w = octet.match ["nn.mul"](%n, %scale)
    %y = octet.match ["nn.add"](%w, %shift)
    octet.yield %y : none
  }
  octet.pattern @unary dtypes = [@a8] {
    %x = octet.activation
    %y = octet.match ["nn.leaky_relu", "nn.elu", "nn.hard_swish"](%x)
    octet.yield %y : none
  }
  octet.pattern @prelu dtypes = [@slopes] {
    %x = octet.activation
    %slopes = octet.weight axis = 0
    %y = octet.match ["nn.prelu"](%x, %slopes)
    octet.yield %y : none
  }
  // Dropout in evaluation, which does nothing: a transpose that leaves all axes where they are.
  octet.pattern @dropout dtypes = [@a8] {
    %x = octet.activation
    %y = octet.match ["nn.transpose"](%x) with {permutation = array<i64: 0, 1>}
    octet.yield %y : none
  }
  octet.pattern @known_unit dtypes = [@unit] {
    %x = octet.activation
    %y = octet.match ["nn.sigmoid", "nn.softmax"](%x)
    octet.yield %y : none
  }
  octet.pattern @known_signed_unit dtypes = [@signed_unit] {
    %x = octet.activation
    %y = octet.match ["nn.tanh"](%x)
    octet.yield %y : none
  }

  //===--- Operators that share their input's observer ---===//

  octet.pattern @pixel_shuffle dtypes = [@a8] observation = shared {
    %x = octet.activation
    %a = octet.match ["nn.reshape"](%x)
    %b = octet.match ["nn.transpose"](%a)
    %y = octet.match ["nn.reshape"](%b)
    octet.yield %y : none
  }
  octet.pattern @stack dtypes = [@a8] observation = shared {
    %a = octet.activation
    %b = octet.activation
    %c = octet.match ["nn.reshape"](%a)
    %d = octet.match ["nn.reshape"](%b)
    %y = octet.match ["nn.concat"](%c, %d)
    octet.yield %y : none
  }
  octet.pattern @concat dtypes = [@a8] observation = shared {
    %x = octet.activation variadic
    %y = octet.match ["nn.concat"](%x)
    octet.yield %y : none
  }
  octet.pattern @copy dtypes = [@a8] observation = shared {
    %x = octet.activation
    %y = octet.match ["nn.relu", "nn.max_pool", "nn.avg_pool", "nn.reduce_mean", "nn.reshape", "nn.resize", "nn.slice", "nn.transpose"](%x)
    octet.yield %y : none
  }
}

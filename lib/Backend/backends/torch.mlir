// What the operators of PyTorch are here, and which of them its built-in BackendConfigs treat alike. These include this file
// and say in an octet.dtypes_list which data types a group has; groups without one are left out. Folds, of which a
// BackendConfig has those of its patterns, are here for all: they do not change what a network computes.
#relu = ["torch.nn.ReLU", "torch.nn.functional.relu"]

octet.backend @torch {
  //===--- Products ---===//

  octet.part @conv of ["torch.nn.Conv2d", "torch.nn.Conv1d", "torch.nn.Conv3d", "torch.ao.nn.qat.Conv2d",
      "torch.ao.nn.qat.Conv1d", "torch.ao.nn.qat.Conv3d", "torch.nn.functional.conv2d", "torch.nn.functional.conv1d",
      "torch.nn.functional.conv3d", "torch.nn.ConvTranspose2d", "torch.nn.ConvTranspose1d", "torch.nn.ConvTranspose3d",
      "torch.nn.functional.conv_transpose2d", "torch.nn.functional.conv_transpose1d",
      "torch.nn.functional.conv_transpose3d"] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.conv"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.part @linear of ["torch.nn.Linear", "torch.ao.nn.qat.Linear", "torch.nn.functional.linear", "torch.addmm"] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.part @matmul of ["torch.matmul"] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.matmul"](%a, %b)
    octet.yield %y : none
  }
  // Recurrent networks are linear layers of their inputs and of their states.
  octet.part @recurrent of ["torch.nn.LSTM", "torch.nn.GRU", "torch.nn.LSTMCell", "torch.nn.GRUCell", "torch.nn.RNNCell"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.part @embedding of ["torch.nn.Embedding", "torch.ao.nn.qat.Embedding", "torch.nn.functional.embedding"] {
    %t = octet.weight axis = 0
    %i = octet.activation
    %y = octet.match ["nn.gather"](%t, %i) with {axis = 0 : i64}
    octet.yield %y : none
  }
  octet.part @embedding_bag of ["torch.nn.EmbeddingBag", "torch.ao.nn.qat.EmbeddingBag"] {
    %t = octet.weight axis = 0
    %i = octet.activation
    %rows = octet.match ["nn.gather"](%t, %i) with {axis = 0 : i64}
    %y = octet.match ["nn.reduce_sum", "nn.reduce_mean"](%rows)
    octet.yield %y : none
  }

  //===--- Modules that hold several operators: all of these have the module's class ---===//

  octet.part @conv_relu_module of ["torch.ao.nn.intrinsic.ConvReLU2d", "torch.ao.nn.intrinsic.ConvReLU1d",
      "torch.ao.nn.intrinsic.ConvReLU3d", "torch.ao.nn.intrinsic.qat.ConvReLU2d", "torch.ao.nn.intrinsic.qat.ConvReLU1d",
      "torch.ao.nn.intrinsic.qat.ConvReLU3d"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %y = octet.match ["nn.relu"](%p)
    octet.yield %y : none
  }
  octet.part @conv_bn_module of ["torch.ao.nn.intrinsic.ConvBn2d", "torch.ao.nn.intrinsic.ConvBn1d",
      "torch.ao.nn.intrinsic.ConvBn3d", "torch.ao.nn.intrinsic.qat.ConvBn2d", "torch.ao.nn.intrinsic.qat.ConvBn1d",
      "torch.ao.nn.intrinsic.qat.ConvBn3d"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%p, %scale, %shift, %mean, %variance)
    octet.yield %y : none
  }
  octet.part @conv_bn_relu_module of ["torch.ao.nn.intrinsic.ConvBnReLU2d", "torch.ao.nn.intrinsic.ConvBnReLU1d",
      "torch.ao.nn.intrinsic.ConvBnReLU3d", "torch.ao.nn.intrinsic.qat.ConvBnReLU2d",
      "torch.ao.nn.intrinsic.qat.ConvBnReLU1d", "torch.ao.nn.intrinsic.qat.ConvBnReLU3d"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %v0 = octet.match ["nn.batch_norm"](%p, %scale, %shift, %mean, %variance)
    %y = octet.match ["nn.relu"](%v0)
    octet.yield %y : none
  }
  octet.part @conv_add_module of ["torch.ao.nn.intrinsic.ConvAdd2d"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %r = octet.activation
    %y = octet.match ["nn.add"](%p, %r) commutative
    octet.yield %y : none
  }
  octet.part @conv_add_relu_module of ["torch.ao.nn.intrinsic.ConvAddReLU2d"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.conv"](%x, %w, %b)
    %r = octet.activation
    %v0 = octet.match ["nn.add"](%p, %r) commutative
    %y = octet.match ["nn.relu"](%v0)
    octet.yield %y : none
  }
  octet.part @linear_relu_module of ["torch.ao.nn.intrinsic.LinearReLU", "torch.ao.nn.intrinsic.qat.LinearReLU"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.linear"](%x, %w, %b)
    %y = octet.match ["nn.relu"](%p)
    octet.yield %y : none
  }
  octet.part @linear_bn_module of ["torch.ao.nn.intrinsic.LinearBn1d", "torch.ao.nn.intrinsic.qat.LinearBn1d"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.linear"](%x, %w, %b)
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%p, %scale, %shift, %mean, %variance)
    octet.yield %y : none
  }
  octet.part @linear_leaky_relu_module of ["torch.ao.nn.intrinsic.LinearLeakyReLU"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.linear"](%x, %w, %b)
    %y = octet.match ["nn.leaky_relu"](%p)
    octet.yield %y : none
  }
  octet.part @linear_tanh_module of ["torch.ao.nn.intrinsic.LinearTanh"] required {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.linear"](%x, %w, %b)
    %y = octet.match ["nn.tanh"](%p)
    octet.yield %y : none
  }
  octet.part @bn_relu_module of ["torch.ao.nn.intrinsic.BNReLU2d", "torch.ao.nn.intrinsic.BNReLU3d"] required {
    %x = octet.activation
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %n = octet.match ["nn.batch_norm"](%x, %scale, %shift, %mean, %variance)
    %y = octet.match ["nn.relu"](%n)
    octet.yield %y : none
  }

  //===--- Sums, differences and products of two values, or of a value and a number ---===//

  octet.part @add of ["operator.add", "torch.add"] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.add"](%a, %b) commutative
    octet.yield %y : none
  }
  octet.part @add_number of ["operator.add", "torch.add"] {
    %a = octet.activation
    %b = octet.parameter
    %y = octet.match ["nn.add"](%a, %b) commutative
    octet.yield %y : none
  }
  octet.part @mul of ["operator.mul", "torch.mul"] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.mul"](%a, %b) commutative
    octet.yield %y : none
  }
  octet.part @mul_number of ["operator.mul", "torch.mul"] {
    %a = octet.activation
    %b = octet.parameter
    %y = octet.match ["nn.mul"](%a, %b) commutative
    octet.yield %y : none
  }
  octet.part @sub of ["operator.sub", "torch.sub"] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["nn.sub"](%a, %b)
    octet.yield %y : none
  }
  octet.part @sub_number of ["operator.sub", "torch.sub"] {
    %a = octet.activation
    %b = octet.parameter
    %y = octet.match ["nn.sub"](%a, %b)
    octet.yield %y : none
  }

  //===--- Normalizations ---===//

  octet.part @bn of ["torch.nn.BatchNorm2d", "torch.nn.BatchNorm1d", "torch.nn.BatchNorm3d"] {
    %x = octet.activation
    %scale = octet.parameter vector along 1
    %shift = octet.parameter vector along 1
    %mean = octet.parameter vector along 1
    %variance = octet.parameter vector along 1
    %y = octet.match ["nn.batch_norm"](%x, %scale, %shift, %mean, %variance)
    octet.affine %y scale %scale shift %shift mean %mean variance %variance epsilon "epsilon"
  }
  octet.part @norm of ["torch.nn.LayerNorm", "torch.nn.functional.layer_norm", "torch.nn.functional.group_norm",
      "torch.nn.InstanceNorm1d", "torch.nn.InstanceNorm2d", "torch.nn.InstanceNorm3d", "torch.nn.functional.instance_norm"] {
    %x = octet.activation
    %epsilon = octet.parameter
    %one = octet.parameter
    %scale = octet.parameter
    %shift = octet.parameter
    %m = octet.match ["nn.reduce_mean"](%x)
    %d = octet.match ["nn.sub"](%x, %m)
    %s = octet.match ["nn.mul"](%d, %d)
    %v = octet.match ["nn.reduce_mean"](%s)
    %e = octet.match ["nn.add"](%v, %epsilon)
    %r = octet.match ["nn.sqrt"](%e)
    %i = octet.match ["nn.div"](%one, %r)
    %n = octet.match ["nn.mul"](%d, %i)
    %w = octet.match ["nn.mul"](%n, %scale)
    %y = octet.match ["nn.add"](%w, %shift)
    octet.yield %y : none
  }
  octet.part @norm_without_scale of ["torch.nn.LayerNorm", "torch.nn.functional.layer_norm",
      "torch.nn.functional.group_norm", "torch.nn.InstanceNorm1d", "torch.nn.InstanceNorm2d", "torch.nn.InstanceNorm3d",
      "torch.nn.functional.instance_norm"] {
    %x = octet.activation
    %epsilon = octet.parameter
    %one = octet.parameter
    %m = octet.match ["nn.reduce_mean"](%x)
    %d = octet.match ["nn.sub"](%x, %m)
    %s = octet.match ["nn.mul"](%d, %d)
    %v = octet.match ["nn.reduce_mean"](%s)
    %e = octet.match ["nn.add"](%v, %epsilon)
    %r = octet.match ["nn.sqrt"](%e)
    %i = octet.match ["nn.div"](%one, %r)
    %y = octet.match ["nn.mul"](%d, %i)
    octet.yield %y : none
  }

  // The reshapes bring the channels of a group together.
  octet.part @group_norm of ["torch.nn.functional.group_norm"] {
    %x = octet.activation
    %epsilon = octet.parameter
    %one = octet.parameter
    %scale = octet.parameter
    %shift = octet.parameter
    %g = octet.match ["nn.reshape"](%x)
    %m = octet.match ["nn.reduce_mean"](%g)
    %d = octet.match ["nn.sub"](%g, %m)
    %s = octet.match ["nn.mul"](%d, %d)
    %v = octet.match ["nn.reduce_mean"](%s)
    %e = octet.match ["nn.add"](%v, %epsilon)
    %r = octet.match ["nn.sqrt"](%e)
    %i = octet.match ["nn.div"](%one, %r)
    %n = octet.match ["nn.mul"](%d, %i)
    %a = octet.match ["nn.reshape"](%n)
    %w = octet.match ["nn.mul"](%a, %scale)
    %y = octet.match ["nn.add"](%w, %shift)
    octet.yield %y : none
  }
  octet.part @group_norm_without_scale of ["torch.nn.functional.group_norm"] {
    %x = octet.activation
    %epsilon = octet.parameter
    %one = octet.parameter
    %g = octet.match ["nn.reshape"](%x)
    %m = octet.match ["nn.reduce_mean"](%g)
    %d = octet.match ["nn.sub"](%g, %m)
    %s = octet.match ["nn.mul"](%d, %d)
    %v = octet.match ["nn.reduce_mean"](%s)
    %e = octet.match ["nn.add"](%v, %epsilon)
    %r = octet.match ["nn.sqrt"](%e)
    %i = octet.match ["nn.div"](%one, %r)
    %n = octet.match ["nn.mul"](%d, %i)
    %y = octet.match ["nn.reshape"](%n)
    octet.yield %y : none
  }

  //===--- Activations ---===//

  octet.part @relu of ["torch.nn.ReLU", "torch.nn.functional.relu", "torch.relu", "torch.Tensor.relu", "torch.Tensor.relu_"] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  octet.part @clip of ["torch.nn.Hardtanh", "torch.nn.ReLU6", "torch.nn.functional.hardtanh",
      "torch.nn.functional.hardtanh_", "torch.nn.functional.relu6", "torch.clamp", "torch.Tensor.clamp"] {
    %x = octet.activation
    %y = octet.match ["nn.clip"](%x)
    octet.yield %y : none
  }
  octet.part @leaky_relu of ["torch.nn.LeakyReLU", "torch.nn.functional.leaky_relu", "torch.nn.functional.leaky_relu_",
      "torch.Tensor.leaky_relu"] {
    %x = octet.activation
    %y = octet.match ["nn.leaky_relu"](%x)
    octet.yield %y : none
  }
  octet.part @elu of ["torch.nn.ELU", "torch.nn.functional.elu"] {
    %x = octet.activation
    %y = octet.match ["nn.elu"](%x)
    octet.yield %y : none
  }
  octet.part @hardswish of ["torch.nn.Hardswish", "torch.nn.functional.hardswish"] {
    %x = octet.activation
    %y = octet.match ["nn.hard_swish"](%x)
    octet.yield %y : none
  }
  octet.part @prelu of ["torch.nn.PReLU"] {
    %x = octet.activation
    %slopes = octet.weight axis = 0
    %y = octet.match ["nn.prelu"](%x, %slopes)
    octet.yield %y : none
  }
  octet.part @sigmoid of ["torch.nn.Sigmoid", "torch.sigmoid", "torch.Tensor.sigmoid", "torch.Tensor.sigmoid_"] {
    %x = octet.activation
    %y = octet.match ["nn.sigmoid"](%x)
    octet.yield %y : none
  }
  octet.part @hardsigmoid of ["torch.nn.Hardsigmoid", "torch.nn.functional.hardsigmoid", "torch.Tensor.hardsigmoid",
      "torch.Tensor.hardsigmoid_"] {
    %x = octet.activation
    %y = octet.match ["nn.hard_sigmoid"](%x)
    octet.yield %y : none
  }
  octet.part @softmax of ["torch.nn.Softmax"] {
    %x = octet.activation
    %y = octet.match ["nn.softmax"](%x)
    octet.yield %y : none
  }
  octet.part @tanh of ["torch.nn.Tanh", "torch.tanh", "torch.Tensor.tanh", "torch.Tensor.tanh_"] {
    %x = octet.activation
    %y = octet.match ["nn.tanh"](%x)
    octet.yield %y : none
  }

  //===--- Means, maxima, moves ---===//

  octet.part @mean of ["torch.nn.AdaptiveAvgPool2d", "torch.nn.AdaptiveAvgPool1d", "torch.nn.AdaptiveAvgPool3d",
      "torch.nn.functional.adaptive_avg_pool2d", "torch.nn.functional.adaptive_avg_pool1d",
      "torch.nn.functional.adaptive_avg_pool3d", "torch.nn.AvgPool2d", "torch.nn.AvgPool1d", "torch.nn.AvgPool3d",
      "torch.nn.functional.avg_pool2d", "torch.nn.functional.avg_pool1d", "torch.nn.functional.avg_pool3d", "torch.mean",
      "torch.Tensor.mean"] {
    %x = octet.activation
    %y = octet.match ["nn.avg_pool", "nn.reduce_mean"](%x)
    octet.yield %y : none
  }
  octet.part @max_pool of ["torch.nn.MaxPool2d", "torch.nn.MaxPool1d", "torch.nn.MaxPool3d",
      "torch.nn.functional.max_pool2d", "torch.nn.functional.max_pool1d", "torch.nn.functional.max_pool3d"] {
    %x = octet.activation
    %y = octet.match ["nn.max_pool"](%x)
    octet.yield %y : none
  }
  octet.part @reshape of ["torch.nn.Flatten", "torch.flatten", "torch.squeeze", "torch.unsqueeze", "torch.Tensor.reshape",
      "torch.Tensor.resize_", "torch.Tensor.squeeze", "torch.Tensor.squeeze_", "torch.Tensor.unsqueeze",
      "torch.Tensor.unsqueeze_", "torch.Tensor.view"] {
    %x = octet.activation
    %y = octet.match ["nn.reshape"](%x)
    octet.yield %y : none
  }
  octet.part @transpose of ["torch.transpose", "torch.permute", "torch.permute_copy", "torch.Tensor.permute",
      "torch.Tensor.transpose"] {
    %x = octet.activation
    %y = octet.match ["nn.transpose"](%x)
    octet.yield %y : none
  }
  octet.part @narrow of ["torch.narrow"] {
    %x = octet.activation
    %y = octet.match ["nn.slice"](%x)
    octet.yield %y : none
  }
  octet.part @pad of ["torch.nn.functional.pad", "torch.nn.ConstantPad2d"] {
    %x = octet.activation
    %y = octet.match ["nn.pad"](%x)
    octet.yield %y : none
  }
  octet.part @interpolate of ["torch.nn.functional.interpolate", "torch.repeat_interleave",
      "torch.Tensor.repeat_interleave"] {
    %x = octet.activation
    %y = octet.match ["nn.resize"](%x)
    octet.yield %y : none
  }
  octet.part @cat of ["torch.cat", "torch.concat", "torch.concatenate", "torch.Tensor.repeat"] {
    %x = octet.activation variadic
    %y = octet.match ["nn.concat"](%x)
    octet.yield %y : none
  }
  octet.part @stack of ["torch.stack"] {
    %a = octet.activation
    %b = octet.activation
    %c = octet.match ["nn.reshape"](%a)
    %d = octet.match ["nn.reshape"](%b)
    %y = octet.match ["nn.concat"](%c, %d)
    octet.yield %y : none
  }
  octet.part @shuffle of ["torch.nn.PixelShuffle", "torch.nn.PixelUnshuffle", "torch.nn.functional.pixel_shuffle",
      "torch.nn.functional.pixel_unshuffle"] {
    %x = octet.activation
    %a = octet.match ["nn.reshape"](%x)
    %b = octet.match ["nn.transpose"](%a)
    %y = octet.match ["nn.reshape"](%b)
    octet.yield %y : none
  }
  octet.part @floordiv of ["operator.floordiv"] {
    %x = octet.activation
    %k = octet.parameter
    %q = octet.match ["nn.div"](%x, %k)
    %y = octet.match ["nn.floor"](%q)
    octet.yield %y : none
  }
  // Operators that do nothing are moves that leave all where it is.
  octet.part @identity of ["torch.nn.Identity", "torch.Tensor.contiguous", "torch.Tensor.detach", "torch.Tensor.detach_"] required {
    %x = octet.activation
    %y = octet.match ["nn.reshape", "nn.transpose"](%x)
    octet.yield %y : none
  }
  octet.part @dropout of ["torch.nn.Dropout", "torch.nn.functional.dropout"] required {
    %x = octet.activation
    %y = octet.match ["nn.reshape", "nn.transpose"](%x)
    octet.yield %y : none
  }
  // Of other dialects: shapes are known in `nn`.
  octet.part @size of ["torch.Tensor.size"] {
    %x = octet.activation
    %axis = octet.parameter
    %y = octet.match ["tensor.dim"](%x, %axis)
    octet.yield %y : none
  }
  octet.part @shape of ["torch.Tensor.shape"] {
    %x = octet.activation
    %y = octet.match ["shape.shape_of"](%x)
    octet.yield %y : none
  }

  //===--- What disappears into the weights in front of it: modules only, as in PyTorch ---===//

  octet.fold_chain @module_conv channel_axis = 1
    : ["torch.nn.Conv2d", "torch.nn.Conv1d", "torch.nn.Conv3d", "torch.nn.ConvTranspose2d", "torch.nn.ConvTranspose1d", "torch.nn.ConvTranspose3d"] -> [@bn]
  octet.fold_chain @module_linear channel_axis = -1 : ["torch.nn.Linear"] -> ["torch.nn.BatchNorm1d"]

  //===--- Convolutions ---===//

  octet.chain @conv2d dtypes = [@conv2d_types] : ["torch.nn.Conv2d"] -> optional ["torch.nn.BatchNorm2d"] -> optional #relu
  octet.chain @functional_conv2d dtypes = [@conv2d_types] : ["torch.nn.functional.conv2d"] -> optional #relu
  octet.chain @trained_conv2d dtypes = [@conv2d_types] : ["torch.ao.nn.qat.Conv2d", "torch.ao.nn.intrinsic.ConvReLU2d",
      "torch.ao.nn.intrinsic.qat.ConvReLU2d", "torch.ao.nn.intrinsic.ConvBn2d", "torch.ao.nn.intrinsic.qat.ConvBn2d",
      "torch.ao.nn.intrinsic.ConvBnReLU2d", "torch.ao.nn.intrinsic.qat.ConvBnReLU2d"]
  octet.chain @conv1d dtypes = [@conv_types] : ["torch.nn.Conv1d"] -> optional ["torch.nn.BatchNorm1d"] -> optional #relu
  octet.chain @functional_conv1d dtypes = [@conv_types] : ["torch.nn.functional.conv1d"] -> optional #relu
  octet.chain @trained_conv1d dtypes = [@conv_types] : ["torch.ao.nn.qat.Conv1d", "torch.ao.nn.intrinsic.ConvReLU1d",
      "torch.ao.nn.intrinsic.qat.ConvReLU1d", "torch.ao.nn.intrinsic.ConvBn1d", "torch.ao.nn.intrinsic.qat.ConvBn1d",
      "torch.ao.nn.intrinsic.ConvBnReLU1d", "torch.ao.nn.intrinsic.qat.ConvBnReLU1d"]
  octet.chain @conv3d dtypes = [@conv_types] : ["torch.nn.Conv3d"] -> optional ["torch.nn.BatchNorm3d"] -> optional #relu
  octet.chain @functional_conv3d dtypes = [@conv_types] : ["torch.nn.functional.conv3d"] -> optional #relu
  octet.chain @trained_conv3d dtypes = [@conv_types] : ["torch.ao.nn.qat.Conv3d", "torch.ao.nn.intrinsic.ConvReLU3d",
      "torch.ao.nn.intrinsic.qat.ConvReLU3d", "torch.ao.nn.intrinsic.ConvBn3d", "torch.ao.nn.intrinsic.qat.ConvBn3d",
      "torch.ao.nn.intrinsic.ConvBnReLU3d", "torch.ao.nn.intrinsic.qat.ConvBnReLU3d"]
  octet.chain @conv_transpose2d dtypes = [@conv_types] : ["torch.nn.ConvTranspose2d"] -> optional ["torch.nn.BatchNorm2d"]
  octet.chain @conv_transpose1d dtypes = [@conv_types] : ["torch.nn.ConvTranspose1d"] -> optional ["torch.nn.BatchNorm1d"]
  octet.chain @conv_transpose3d dtypes = [@conv_types] : ["torch.nn.ConvTranspose3d"] -> optional ["torch.nn.BatchNorm3d"]
  octet.chain @functional_conv_transpose dtypes = [@conv_types] : ["torch.nn.functional.conv_transpose2d",
      "torch.nn.functional.conv_transpose1d", "torch.nn.functional.conv_transpose3d"]

  //===--- Linear layers ---===//

  octet.chain @linear dtypes = [@linear_types] : ["torch.nn.Linear", "torch.ao.nn.qat.Linear", "torch.nn.functional.linear"]
  octet.chain @linear dtypes = [@fused_linear_types] : ["torch.nn.Linear", "torch.nn.functional.linear"] -> ["torch.nn.ReLU",
      "torch.nn.functional.relu"]
  octet.chain @linear dtypes = [@fused_linear_types] : ["torch.nn.Linear"] -> ["torch.nn.BatchNorm1d"]
  octet.chain @trained_linear dtypes = [@fused_linear_types] : ["torch.ao.nn.intrinsic.LinearReLU",
      "torch.ao.nn.intrinsic.qat.LinearReLU", "torch.ao.nn.intrinsic.LinearBn1d", "torch.ao.nn.intrinsic.qat.LinearBn1d"]
  octet.chain @addmm dtypes = [@addmm_types] : ["torch.addmm"]
  octet.chain @recurrent dtypes = [@recurrent_types] : ["torch.nn.LSTM", "torch.nn.GRU", "torch.nn.LSTMCell",
      "torch.nn.GRUCell", "torch.nn.RNNCell"]
  octet.chain @embedding dtypes = [@embedding_types] : ["torch.nn.Embedding", "torch.ao.nn.qat.Embedding",
      "torch.nn.EmbeddingBag", "torch.ao.nn.qat.EmbeddingBag"]
  octet.chain @functional_embedding dtypes = [@functional_embedding_types] : ["torch.nn.functional.embedding"]

  //===--- Of two values: with a number for one of them, the result shares the other's observer ---===//

  octet.chain @binary dtypes = [@binary_types] one_activation = shared : ["operator.add", "torch.add", "operator.mul",
      "torch.mul"] -> optional ["torch.nn.ReLU", "torch.nn.functional.relu", "torch.relu"]
  octet.chain @difference dtypes = [@difference_types] one_activation = shared : ["operator.sub", "torch.sub"]
      -> optional ["torch.nn.ReLU", "torch.nn.functional.relu", "torch.relu"]
  octet.chain @product dtypes = [@matmul_types] : ["torch.matmul"]

  //===--- Operators with an observer of their own ---===//

  octet.chain @default dtypes = [@default_types] : ["torch.nn.Hardswish", "torch.nn.functional.hardswish", "torch.nn.PReLU",
      "torch.nn.Dropout", "torch.nn.functional.dropout", "torch.nn.functional.group_norm", "torch.nn.InstanceNorm1d",
      "torch.nn.InstanceNorm2d", "torch.nn.InstanceNorm3d", "torch.nn.functional.instance_norm"]
  octet.chain @rectified dtypes = [@rectified_types] : ["torch.nn.ELU", "torch.nn.functional.elu", "torch.nn.LeakyReLU",
      "torch.nn.functional.leaky_relu"]
  octet.chain @layer_norm dtypes = [@layer_norm_types] : ["torch.nn.LayerNorm", "torch.nn.functional.layer_norm"]
  octet.chain @batch_norm2d dtypes = [@batch_norm_types] : ["torch.nn.BatchNorm2d"]
  octet.chain @batch_norm3d dtypes = [@default_types] : ["torch.nn.BatchNorm3d"]
  octet.chain @batch_norm dtypes = [@default_types] : ["torch.nn.BatchNorm2d", "torch.nn.BatchNorm3d"] -> ["torch.nn.ReLU",
      "torch.nn.functional.relu"]
  octet.chain @trained_batch_norm dtypes = [@default_types] : ["torch.ao.nn.intrinsic.BNReLU2d",
      "torch.ao.nn.intrinsic.BNReLU3d"]
  octet.chain @known_unit dtypes = [@unit_types] : ["torch.nn.Sigmoid", "torch.sigmoid", "torch.Tensor.sigmoid",
      "torch.Tensor.sigmoid_", "torch.nn.Hardsigmoid", "torch.nn.functional.hardsigmoid", "torch.Tensor.hardsigmoid",
      "torch.Tensor.hardsigmoid_", "torch.nn.Softmax"]
  octet.chain @known_signed_unit dtypes = [@signed_unit_types] : ["torch.nn.Tanh", "torch.tanh", "torch.Tensor.tanh",
      "torch.Tensor.tanh_"]

  //===--- Operators that share their input's observer ---===//

  octet.chain @copy dtypes = [@copy_types] observation = shared : ["torch.cat", "torch.nn.AdaptiveAvgPool2d",
      "torch.nn.functional.adaptive_avg_pool2d", "torch.nn.MaxPool2d", "torch.nn.functional.max_pool2d", "torch.mean",
      "torch.Tensor.mean", "torch.nn.functional.relu", "torch.Tensor.relu", "torch.Tensor.relu_", "torch.nn.Hardtanh",
      "torch.nn.ReLU6", "torch.nn.functional.hardtanh", "torch.nn.functional.relu6", "torch.clamp", "torch.Tensor.clamp",
      "torch.flatten", "torch.squeeze", "torch.Tensor.reshape", "torch.Tensor.squeeze", "torch.Tensor.squeeze_",
      "torch.Tensor.permute"]
  octet.chain @more dtypes = [@more_copy_types] observation = shared : ["torch.nn.ReLU", "torch.nn.functional.hardtanh_",
      "torch.nn.AdaptiveAvgPool1d", "torch.nn.AdaptiveAvgPool3d", "torch.nn.functional.adaptive_avg_pool1d",
      "torch.nn.functional.adaptive_avg_pool3d", "torch.nn.AvgPool1d", "torch.nn.AvgPool2d", "torch.nn.AvgPool3d",
      "torch.nn.functional.avg_pool1d", "torch.nn.functional.avg_pool2d", "torch.nn.functional.avg_pool3d",
      "torch.nn.MaxPool1d", "torch.nn.MaxPool3d", "torch.nn.functional.max_pool1d", "torch.nn.functional.max_pool3d",
      "torch.nn.PixelShuffle", "torch.nn.PixelUnshuffle", "torch.nn.functional.pixel_shuffle",
      "torch.nn.functional.pixel_unshuffle", "torch.nn.functional.interpolate", "torch.repeat_interleave",
      "torch.Tensor.repeat_interleave", "torch.Tensor.repeat", "torch.stack", "torch.narrow", "torch.transpose",
      "torch.Tensor.transpose", "torch.unsqueeze", "torch.Tensor.unsqueeze", "torch.Tensor.unsqueeze_",
      "torch.Tensor.resize_", "torch.Tensor.view", "operator.floordiv", "torch.nn.Identity", "torch.Tensor.contiguous",
      "torch.Tensor.detach", "torch.Tensor.detach_"]
  octet.chain @shape dtypes = [@shape_types] observation = none : ["torch.Tensor.shape", "torch.Tensor.size"]
}

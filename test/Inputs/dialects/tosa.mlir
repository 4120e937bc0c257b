// Layers of MobileNet in TOSA: convolutions with their clamp, sums, and operators that move values.
octet.backend @tosa {
  octet.dtypes @w8a8 input = <ui8> output = <ui8> weight = <si8> bias = f32
  octet.dtypes @a8 input = <ui8> output = <ui8>

  octet.pattern @conv dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %zeros = octet.any variadic
    %y = octet.match ["tosa.conv2d"](%x, %w, %b, %zeros)
    octet.yield %y : none
  }
  octet.pattern @conv_clamp dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %zeros = octet.any variadic
    %c = octet.match ["tosa.conv2d"](%x, %w, %b, %zeros)
    %y = octet.match ["tosa.clamp"](%c)
    octet.yield %y : none
  }
  octet.pattern @depthwise_clamp dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 2
    %b = octet.bias
    %zeros = octet.any variadic
    %c = octet.match ["tosa.depthwise_conv2d"](%x, %w, %b, %zeros)
    %y = octet.match ["tosa.clamp"](%c)
    octet.yield %y : none
  }
  octet.pattern @add dtypes = [@a8] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["tosa.add"](%a, %b)
    octet.yield %y : none
  }
  octet.pattern @moved dtypes = [@a8] observation = shared {
    %x = octet.activation
    %rest = octet.any variadic
    %y = octet.match ["tosa.avg_pool2d", "tosa.max_pool2d", "tosa.reshape", "tosa.transpose"](%x, %rest)
    octet.yield %y : none
  }
}
octet.qconfig_mapping @tosa_default_mapping {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>>
  // Its weights have the shape [height, width, channels, multiplier].
  octet.object_type "tosa.depthwise_conv2d" #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 2>>
}

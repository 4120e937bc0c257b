// Layers of a dialect that nobody has registered.
octet.backend @toy {
  octet.dtypes @w8a8 input = <ui8> output = <ui8> weight = <si8>
  octet.dtypes @a8 input = <ui8> output = <ui8>

  octet.pattern @dense_relu dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %c = octet.match ["toy.dense"](%x, %w)
    %y = octet.match ["toy.relu"](%c)
    octet.yield %y : none
  }
  octet.pattern @dense dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["toy.dense"](%x, %w)
    octet.yield %y : none
  }
  octet.pattern @sum dtypes = [@a8] {
    %a = octet.activation
    %b = octet.activation
    %y = octet.match ["toy.add"](%a, %b)
    octet.yield %y : none
  }
  octet.pattern @split dtypes = [@a8] observation = shared {
    %x = octet.activation
    %sizes = octet.any variadic
    %y = octet.match ["toy.split"](%x, %sizes) results variadic
    octet.yield %y : none
  }
  octet.pattern @join dtypes = [@a8] observation = shared {
    %parts = octet.activation variadic
    %y = octet.match ["toy.concat"](%parts)
    octet.yield %y : none
  }
}
octet.qconfig_mapping @toy_default_mapping {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>>
}

// Layers in linalg on tensors. Destinations are left alone; a bias is one of them, and stays float.
octet.backend @linalg {
  octet.dtypes @w8a8 input = <ui8> output = <ui8> weight = <si8>
  octet.dtypes @a8 input = <ui8> output = <ui8>

  octet.pattern @matmul_relu dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 1
    %to = octet.any
    %c = octet.match ["linalg.matmul"](%x, %w, %to)
    %end = octet.any
    %y = octet.match ["linalg.generic"](%c, %end) where [#octet.body<["arith.maximumf"]>]
    octet.yield %y : none
  }
  octet.pattern @matmul dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 1
    %to = octet.any
    %y = octet.match ["linalg.matmul"](%x, %w, %to)
    octet.yield %y : none
  }
  octet.pattern @sum dtypes = [@a8] {
    %a = octet.activation
    %b = octet.activation
    %to = octet.any
    %y = octet.match ["linalg.add"](%a, %b, %to)
    octet.yield %y : none
  }
  octet.pattern @moved dtypes = [@a8] observation = shared {
    %x = octet.activation
    %rest = octet.any variadic
    %y = octet.match ["linalg.transpose", "tensor.collapse_shape", "tensor.extract_slice"](%x, %rest)
    octet.yield %y : none
  }
}
octet.qconfig_mapping @linalg_default_mapping {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 1>>
}

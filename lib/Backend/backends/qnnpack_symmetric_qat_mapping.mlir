// PyTorch's _get_symmetric_qnnpack_qat_qconfig_mapping(): signed activations, weights without -128, scales of at least 2^-12.
#values = #octet.moving_average_min_max<dtype = si8, eps = 2.44140625e-4 : f32>
#weights = #octet.moving_average_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], eps = 2.44140625e-4 : f32>
#tensor_weights = #octet.moving_average_min_max<dtype = si8, scheme = symmetric>

octet.qconfig_mapping @qnnpack_symmetric_qat {
  octet.global #octet.qconfig<activation = #values, weight = #weights>

  // Results whose range is known.
  octet.object_type "nn.sigmoid" #octet.qconfig<activation = #values, weight = #tensor_weights,
    result = #octet.fixed_qparams<ui8, scale = 3.90625e-3 : f32, zero_point = 0>>
  octet.object_type "nn.hard_sigmoid" #octet.qconfig<activation = #values, weight = #tensor_weights,
    result = #octet.fixed_qparams<ui8, scale = 3.90625e-3 : f32, zero_point = 0>>
  octet.object_type "nn.softmax" #octet.qconfig<activation = #values, weight = #tensor_weights,
    result = #octet.fixed_qparams<ui8, scale = 3.90625e-3 : f32, zero_point = 0>>
  octet.object_type "nn.tanh" #octet.qconfig<activation = #values, weight = #tensor_weights,
    result = #octet.fixed_qparams<ui8, scale = 7.8125e-3 : f32, zero_point = 128>>
}

// PyTorch's get_default_qat_qconfig_mapping("fbgemm"): 7 bits of activations, so that sums of two products fit 16 bits.
#values = #octet.moving_average_min_max<dtype = ui8, reduce_range = true>
#weights = #octet.moving_average_per_channel_min_max<dtype = si8, scheme = symmetric, axis = 0>
#tensor_weights = #octet.moving_average_min_max<dtype = si8, scheme = symmetric>

octet.qconfig_mapping @fbgemm_default_qat {
  octet.global #octet.qconfig<activation = #values, weight = #weights>
  octet.object_type "nn.reshape" #octet.qconfig<activation = #octet.reuse_input>

  // Transposed convolutions: one scale for all channels.
  octet.object_type "torch.nn.ConvTranspose1d" #octet.qconfig<activation = #values, weight = #tensor_weights>
  octet.object_type "torch.nn.ConvTranspose2d" #octet.qconfig<activation = #values, weight = #tensor_weights>
  octet.object_type "torch.nn.ConvTranspose3d" #octet.qconfig<activation = #values, weight = #tensor_weights>
  octet.object_type "torch.nn.functional.conv_transpose1d" #octet.qconfig<activation = #values, weight = #tensor_weights>
  octet.object_type "torch.nn.functional.conv_transpose2d" #octet.qconfig<activation = #values, weight = #tensor_weights>
  octet.object_type "torch.nn.functional.conv_transpose3d" #octet.qconfig<activation = #values, weight = #tensor_weights>
  octet.object_type "ConvTranspose" #octet.qconfig<activation = #values, weight = #tensor_weights>

  // Weights that stay float.
  octet.object_type "torch.nn.LayerNorm" #octet.qconfig<activation = #values, weight = #octet.placeholder<dtype = f32>>
  octet.object_type "torch.nn.functional.layer_norm" #octet.qconfig<activation = #values, weight = #octet.placeholder<dtype = f32>>
  octet.object_type "LayerNormalization" #octet.qconfig<activation = #values, weight = #octet.placeholder<dtype = f32>>

  octet.object_type "nn.prelu" #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #octet.min_max<dtype = ui8>>

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

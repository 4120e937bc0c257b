// The default observers of the CPU backend. A few large values would take most of the integers that the others need; those of
// rows get further columns instead. The least scale is 2^-60: products of two are normal numbers, and values may be as small as they like.
#values = #octet.mean_squared_error<dtype = ui8, eps = 8.67361738e-19 : f32>
#channels = #octet.channel_min_max<dtype = ui8, eps = 8.67361738e-19 : f32, axis = 1>
#columns = #octet.column_min_max<dtype = ui8, eps = 8.67361738e-19 : f32>
#trunks = #octet.min_max<dtype = ui16, eps = 8.67361738e-19 : f32>
#weights = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], eps = 8.67361738e-19 : f32, axis = 0>

octet.qconfig_mapping @cpu_default {
  octet.global #octet.qconfig<activation = #values, weight = #weights, channel_activation = #channels, column_activation = #columns, trunk_activation = #trunks>

  // Results whose range is known.
  octet.object_type "nn.sigmoid" #octet.qconfig<
    activation = #values, result = #octet.fixed_qparams<ui8, scale = 3.90625e-3 : f32, zero_point = 0>>
  octet.object_type "nn.hard_sigmoid" #octet.qconfig<
    activation = #values, result = #octet.fixed_qparams<ui8, scale = 3.90625e-3 : f32, zero_point = 0>>
  octet.object_type "nn.tanh" #octet.qconfig<
    activation = #values, result = #octet.fixed_qparams<ui8, scale = 7.8125e-3 : f32, zero_point = 128>>
}

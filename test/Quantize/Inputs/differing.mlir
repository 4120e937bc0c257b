// Operators that ask for different observers of one value.
octet.qconfig_mapping @differing {
  octet.object_type "nn.relu" #octet.qconfig<activation = #octet.min_max<dtype = ui8>>
  octet.object_type "nn.elu" #octet.qconfig<activation = #octet.min_max<dtype = ui8, eps = 1.0e-3 : f32>>
  octet.object_type "nn.concat" #octet.qconfig<activation = #octet.min_max<dtype = ui8>>
  octet.object_type "nn.linear" #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.fixed_qparams<si8, scale = 1.0e-12 : f32, zero_point = 0>>
}

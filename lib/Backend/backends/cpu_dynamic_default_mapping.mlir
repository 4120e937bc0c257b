// The default observers of the backend cpu_dynamic: none that needs samples.
#rows = #octet.placeholder<dtype = ui8, dynamic = true, per_row = true>
#whole = #octet.placeholder<dtype = ui8, dynamic = true>
#weights = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], eps = 8.67361738e-19 : f32, axis = 0>

octet.qconfig_mapping @cpu_dynamic_default {
  octet.global none
  octet.object_type "nn.conv" #octet.qconfig<activation = #whole, weight = #weights>
  octet.object_type "nn.linear" #octet.qconfig<activation = #rows, weight = #weights>
}

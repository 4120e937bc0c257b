// Observers whose answers are known without calibration.
#values = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
#weights = #octet.fixed_qparams<si8, scale = 0.25 : f32, zero_point = 0>

octet.qconfig_mapping @constants {
  octet.global #octet.qconfig<activation = #values, weight = #weights>
  octet.object_type "nn.sigmoid" #octet.qconfig<activation = #values,
    result = #octet.fixed_qparams<ui8, scale = 3.90625e-3 : f32, zero_point = 0>>
  octet.object_type "nn.tanh" none
  octet.module_name "head" none
  octet.module_name "head/first" #octet.qconfig<activation = #values, weight = #weights>
  octet.module_name_regex "block[0-9]" none
}

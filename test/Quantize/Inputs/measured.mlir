octet.qconfig_mapping @measured {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, axis = 1>>
  octet.module_name "bare" #octet.qconfig<activation = #octet.min_max<dtype = ui8>>
  octet.object_type "nn.exp" none
  octet.module_name "wide" #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}

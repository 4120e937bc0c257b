octet.qconfig_mapping @ranges {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, axis = 1>>
}

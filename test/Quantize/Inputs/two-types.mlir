// Convolutions on unsigned values, linear layers on signed ones, matrix products along an axis that weights lack.
octet.backend @two_types {
  octet.dtypes @u input = <ui8> output = <ui8> weight = <si8>
  octet.dtypes @s input = <si8> output = <si8> weight = <si8>
  octet.pattern @depthwise_of_rank_5 dtypes = [@u] channel_axis = 1 {
    %x = octet.activation
    %w = octet.weight axis = 4
    %y = octet.match ["nn.conv"](%x, %w) with {groups = 2 : i64}
    octet.yield %y : none
  }
  octet.pattern @conv dtypes = [@u] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.conv"](%x, %w)
    octet.yield %y : none
  }
  octet.pattern @linear dtypes = [@s] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
}
#weight = #octet.min_max<dtype = si8, scheme = symmetric>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #weight>
  octet.object_type "nn.linear" #octet.qconfig<activation = #octet.min_max<dtype = si8>, weight = #weight>
  octet.module_name "reuses" #octet.qconfig<activation = #octet.reuse_input, weight = #weight>
  octet.module_name "wide" #octet.qconfig<activation = #octet.min_max<dtype = ui32>, weight = #weight>
  octet.module_name "sum" #octet.qconfig<activation = #octet.channel_sum<axis = 1>, weight = #weight>
}

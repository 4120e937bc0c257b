// Units that compute with floats and have their weights in fewer bits.
octet.backend @weight_only {
  octet.dtypes @rows8 input = <f32> output = <f32> weight = <ui8>
  octet.dtypes @rows4 input = <f32> output = <f32> weight = <ui4>
  octet.dtypes @half input = <f16> output = <f16> weight = <f16>
  octet.dtypes @brain input = <f32> output = <f32> weight = <bf16>
  octet.pattern @rows dtypes = [@rows8, @rows4] {
    %w = octet.weight axis = 0
    %i = octet.activation
    %y = octet.match ["nn.gather"](%w, %i) with {axis = 0 : i64}
    octet.yield %y : none
  }
  octet.pattern @product dtypes = [@half, @brain] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
}

#single = #octet.placeholder<dtype = f32>
#half = #octet.placeholder<dtype = f16>
#rows8 = #octet.per_channel_min_max<dtype = ui8, scheme = affine_float_qparams>
#rows4 = #octet.per_channel_min_max<dtype = ui4, scheme = affine_float_qparams>
octet.qconfig_mapping @m {
  octet.global #octet.qconfig<activation = #single, weight = #rows8>
  octet.object_type "nn.linear" #octet.qconfig<activation = #half, weight = #half>
  octet.module_name "small" #octet.qconfig<activation = #single, weight = #rows4>
  octet.module_name "wide" #octet.qconfig<activation = #single, weight = #octet.per_channel_min_max<dtype = si16>>
  octet.module_name "static" #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #rows8>
  octet.module_name "brain" #octet.qconfig<activation = #single, weight = #octet.placeholder<dtype = bf16>>
}

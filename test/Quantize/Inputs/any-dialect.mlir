// Layers of no dialect that Octet knows.
octet.backend @any {
  octet.dtypes @w8a8 input = <ui8> output = <ui8> weight = <si8> bias = si32
  octet.pattern @linear dtypes = [@w8a8] float_uses = float_result {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["my.linear"](%x, %w, %b)
    octet.yield %y : none
  }
}
octet.qconfig_mapping @measured {
  octet.global #octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>,
    weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}

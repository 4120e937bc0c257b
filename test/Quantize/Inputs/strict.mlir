// Demands that QConfigs must meet, one pattern each.
octet.backend @strict {
  octet.dtypes @range input = <ui8 range [0, 127]> output = <ui8>
  octet.dtypes @eps input = <ui8 scale_min 0.001 : f32> output = <ui8>
  octet.dtypes @unit input = <ui8> output = <ui8 scale 3.90625e-3 : f32 zero_point 0>
  octet.dtypes @signed input = <si8> output = <si8>
  octet.dtypes @half input = <ui8> output = <ui8> weight = <si8> bias = f16
  octet.pattern @range_relu dtypes = [@range] {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
  octet.pattern @eps_elu dtypes = [@eps] {
    %x = octet.activation
    %y = octet.match ["nn.elu"](%x)
    octet.yield %y : none
  }
  octet.pattern @unit_sigmoid dtypes = [@unit] {
    %x = octet.activation
    %y = octet.match ["nn.sigmoid"](%x)
    octet.yield %y : none
  }
  octet.pattern @signed_silu dtypes = [@signed] {
    %x = octet.activation
    %y = octet.match ["nn.silu"](%x)
    octet.yield %y : none
  }
  octet.pattern @untyped_neg dtypes = [] {
    %x = octet.activation
    %y = octet.match ["nn.neg"](%x)
    octet.yield %y : none
  }
  octet.pattern @linear dtypes = [@half] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.float ["nn.softmax"] because "it is better so"
}

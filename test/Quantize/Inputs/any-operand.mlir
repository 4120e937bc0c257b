octet.backend @mine {
  octet.dtypes @w8a8 input = <ui8> output = <ui8> weight = <si8>
  octet.dtypes @a8 input = <ui8> output = <ui8>
  octet.pattern @matmul_max dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 1
    %to = octet.any
    %c = octet.match ["linalg.matmul"](%x, %w, %to)
    %end = octet.any
    %y = octet.match ["linalg.generic"](%c, %end) where [#octet.body<["arith.maximumf"]>]
    octet.yield %y : none
  }
  octet.pattern @sized dtypes = [@a8] observation = shared {
    %x = octet.activation
    %sizes = octet.any variadic
    %r = octet.match ["my.resize"](%x, %sizes)
    %y = octet.match ["my.relu"](%r)
    octet.yield %y : none
  }
  octet.pattern @largest dtypes = [@a8] observation = shared {
    %x = octet.activation
    %m:2 = octet.match ["my.max_and_index"](%x)
    %y = octet.match ["my.relu"](%m#0)
    octet.yield %y : none
  }
  octet.pattern @halves dtypes = [@a8] observation = shared {
    %x = octet.activation
    %r = octet.match ["my.relu"](%x)
    %y:2 = octet.match ["my.halves"](%r)
    octet.yield %y#0, %y#1 : none, none
  }
  octet.pattern @split dtypes = [@a8] observation = shared {
    %x = octet.activation
    %y = octet.match ["my.split"](%x) results variadic
    octet.yield %y : none
  }
  octet.pattern @cell dtypes = [@a8] {
    %x = octet.activation
    %h = octet.activation
    %y:2 = octet.match ["my.cell"](%x, %h)
    octet.yield %y#0, %y#1 : none, none
  }
  octet.pattern @relu dtypes = [@a8] {
    %x = octet.activation
    %y = octet.match ["my.relu"](%x)
    octet.yield %y : none
  }
  octet.pattern @dense dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["my.dense"](%x, %w)
    octet.yield %y : none
  }
}
octet.qconfig_mapping @mine_default_mapping {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}

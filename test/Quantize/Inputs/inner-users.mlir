octet.backend @mine {
  octet.pattern @silu dtypes = [] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %c = octet.match ["my.conv"](%x, %w)
    %s = octet.match ["my.sigmoid"](%c)
    %y = octet.match ["my.mul"](%c, %s) commutative
    octet.yield %y : none
  }
  octet.pattern @square dtypes = [] {
    %x = octet.activation
    %s = octet.match ["my.mul"](%x, %x)
    %y = octet.match ["my.relu"](%s)
    octet.yield %y : none
  }
  octet.pattern @scaled dtypes = [] {
    %x = octet.activation
    %s = octet.match ["my.scale"](%x) with {mode = "exact"} where [#octet.attribute_in_range<"by", 1.0 : f32, 3.0 : f32>]
    %y = octet.match ["my.relu"](%s)
    octet.yield %y : none
  }
}

func.func @main(%x: tensor<2xf32> {nn.name = "x"}, %h: tensor<1xf32> {nn.name = "h"}, %i: tensor<1xf32> {nn.name = "i"})
    -> (tensor<1xf32> {nn.name = "hn"}, tensor<1xf32> {nn.name = "y"}, tensor<1xf32> {nn.name = "h_out"}) {
  return %h, %h, %h : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

// Two convolutions, so that quantizing the first makes errors in the second.
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<[[[[0.311]], [[-0.127]]], [[[0.077]], [[0.413]]]]> : tensor<2x2x1x1xf32>
  %a = nn.conv %x, %w {octet.origin = #octet.origin<"first">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = nn.relu %a {octet.origin = #octet.origin<"relu">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %b = nn.conv %r, %w {octet.origin = #octet.origin<"second">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %b : tensor<1x2x4x4xf32>
}

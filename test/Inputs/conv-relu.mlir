func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> (tensor<1x3x4x4xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<3x2x1x1xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"conv1">} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu1">} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %1 : tensor<1x3x4x4xf32>
}

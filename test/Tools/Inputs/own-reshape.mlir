func.func @main(%x: tensor<1x4x1xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
  %0 = nn.reshape %x {octet.origin = #octet.origin<"squeeze", "torch.squeeze", 0>} : (tensor<1x4x1xf32>) -> tensor<1x4xf32>
  %1 = nn.relu %0 {octet.origin = #octet.origin<"relu", "torch.relu", 0>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}

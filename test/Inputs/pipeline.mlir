// The network of docs/pipeline.md, as an importer gives it.
func.func @main(%image: tensor<1x1x8x8xf32> {nn.name = "image"}) -> (tensor<1x3xf32> {nn.name = "scores"}) {
  %w1 = nn.constant dense_resource<conv1.weight> : tensor<2x1x3x3xf32> loc("conv1.weight")
  %scale = nn.constant dense_resource<bn1.scale> : tensor<2xf32> loc("bn1.scale")
  %shift = nn.constant dense_resource<bn1.shift> : tensor<2xf32> loc("bn1.shift")
  %mean = nn.constant dense_resource<bn1.mean> : tensor<2xf32> loc("bn1.mean")
  %variance = nn.constant dense_resource<bn1.variance> : tensor<2xf32> loc("bn1.variance")
  %w2 = nn.constant dense_resource<fc.weight> : tensor<3x32xf32> loc("fc.weight")
  %b2 = nn.constant dense_resource<fc.bias> : tensor<3xf32> loc("fc.bias")
  %0 = nn.conv %image, %w1 pads [1, 1, 1, 1] : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x8x8xf32> loc("conv1")
  %1 = nn.batch_norm %0, %scale, %shift, %mean, %variance : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32> loc("bn1")
  %2 = nn.relu %1 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> loc("relu1")
  %3 = nn.max_pool %2 kernel [2, 2] strides [2, 2] : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> loc("pool1")
  %4 = nn.reshape %3 : (tensor<1x2x4x4xf32>) -> tensor<1x32xf32> loc("flatten")
  %5 = nn.linear %4, %w2, %b2 : (tensor<1x32xf32>, tensor<3x32xf32>, tensor<3xf32>) -> tensor<1x3xf32> loc("fc")
  %6 = nn.softmax %5 axis 1 : (tensor<1x3xf32>) -> tensor<1x3xf32> loc("softmax")
  return %6 : tensor<1x3xf32>
}
{-# dialect_resources: { builtin: {
  "conv1.weight": "0x040000000000303F0000043F000020BE0000F8BE0000803C000040BE0000103F0000C8BE000040BD0000303E0000503F0000803C0000E0BE0000043F0000703E000000BF0000503F0000783F",
  "bn1.scale": "0x040000000000243F0000AC3F",
  "bn1.shift": "0x040000000000E83E0000E83E",
  "bn1.mean": "0x04000000000088BE0000403D",
  "bn1.variance": "0x0400000000003C3F00001C3F",
  "fc.weight": "0x040000000000803E0000F83E0000183F0000643F0000F83E0000583F000070BF000080BD0000643F0000983E00004C3F000048BF000080BD000000BF0000C03D0000103E000078BF000010BF0000E0BE0000543F0000083F000030BF0000183F000038BF0000703E000040BF000080BF0000403F000014BF000010BF0000783F0000403F0000D8BE00006C3F0000A03D0000B83E000018BF0000603F0000C03E0000703F0000483F0000D0BE000090BE00002CBF000034BF000060BF0000C8BE0000503E000080BF0000B83E0000A8BE0000C0BE0000243F000000BD0000C0BE000000BD0000D03E000064BF0000743F000074BF0000003F0000303F000078BF0000143F000088BE0000203E00007CBF000068BF000024BF0000683F00001CBF0000043F00005C3F0000643F0000A0BE000098BE0000403D00000C3F000048BF0000003F0000183F0000383F00006CBF0000643F000050BF0000A0BE0000603E0000583F0000A0BE0000583F0000C03D0000C0BE0000B8BE000024BF000058BF000034BF",
  "fc.bias": "0x040000000000183F0000243F000000BD"
} } #-}

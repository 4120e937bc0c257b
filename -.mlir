#loc1 = loc("x")
module attributes {octet.stage = "import"} {
  func.func @main(%arg0: tensor<1x100x12x19xf32> {nn.name = "x"} loc("x")) -> (tensor<1200x19xf32> {nn.name = "v2"}, tensor<1x100x12x8xf32> {nn.name = "v16"}, tensor<100x1x1x7xf32> {nn.name = "v20"}) {
    %0 = nn.transpose %arg0 permutation [1, 2, 0, 3] {octet.origin = #octet.origin<"Transpose_1", "Transpose", 0>} : (tensor<1x100x12x19xf32>) -> tensor<100x12x1x19xf32> loc(#loc2)
    %1 = nn.reshape %0 {octet.origin = #octet.origin<"Flatten_2", "Flatten", 0>} : (tensor<100x12x1x19xf32>) -> tensor<1200x19xf32> loc(#loc3)
    %2 = octet.quantize %arg0 {octet.origin = #octet.origin<"QuantizeLinear_5", "QuantizeLinear", 0>} : (tensor<1x100x12x19xf32>) -> tensor<1x100x12x19x!quant.uniform<u8:f32, 0.02242465503513813:110>> loc(#loc4)
    %3 = octet.dequantize %2 {octet.origin = #octet.origin<"QLinearMatMul_13", "QLinearMatMul", 0>} : (tensor<1x100x12x19x!quant.uniform<u8:f32, 0.02242465503513813:110>>) -> tensor<1x100x12x19xf32> loc(#loc5)
    %4 = nn.constant dense_resource<c8> : tensor<8x19xi8> -> tensor<8x19x!quant.uniform<u8:f32, 0.012083070352673531:119>> loc(#loc6)
    %5 = octet.dequantize %4 {octet.origin = #octet.origin<"QLinearMatMul_13", "QLinearMatMul", 0>} : (tensor<8x19x!quant.uniform<u8:f32, 0.012083070352673531:119>>) -> tensor<8x19xf32> loc(#loc6)
    %6 = nn.linear %3, %5 {octet.origin = #octet.origin<"QLinearMatMul_13", "QLinearMatMul", 0>} : (tensor<1x100x12x19xf32>, tensor<8x19xf32>) -> tensor<1x100x12x8xf32> loc(#loc5)
    %7 = octet.quantize %6 {octet.origin = #octet.origin<"QLinearMatMul_13", "QLinearMatMul", 0>} : (tensor<1x100x12x8xf32>) -> tensor<1x100x12x8x!quant.uniform<u8:f32, 0.053629446774721146:111>> loc(#loc5)
    %8 = octet.dequantize %7 {octet.origin = #octet.origin<"DequantizeLinear_16", "DequantizeLinear", 0>} : (tensor<1x100x12x8x!quant.uniform<u8:f32, 0.053629446774721146:111>>) -> tensor<1x100x12x8xf32> loc(#loc7)
    %9 = nn.reshape %0 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xf32>) -> tensor<22800xf32> loc(#loc8)
    %10 = nn.constant dense_resource<"v18/offsets"> : tensor<100x12x1x19xi64>  loc(#loc9)
    %11 = nn.constant dense_resource<c17> : tensor<100x12x1x19xi64>  loc(#loc10)
    %12 = nn.constant dense_resource<"v18/zero"> : tensor<i64>  loc(#loc11)
    %13 = nn.constant dense_resource<"v18/size"> : tensor<i64>  loc(#loc12)
    %14 = nn.constant dense_resource<"v18/zero_1"> : tensor<i64>  loc(#loc11)
    %15 = nn.constant dense_resource<"v18/size_1"> : tensor<i64>  loc(#loc12)
    %16 = nn.add %11, %15 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi64>, tensor<i64>) -> tensor<100x12x1x19xi64> loc(#loc8)
    %17 = nn.compare less %11, %14 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi64>, tensor<i64>) -> tensor<100x12x1x19xi1> loc(#loc8)
    %18 = nn.select %17, %16, %11 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi1>, tensor<100x12x1x19xi64>, tensor<100x12x1x19xi64>) -> tensor<100x12x1x19xi64> loc(#loc8)
    %19 = nn.compare less_or_equal %12, %18 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<i64>, tensor<100x12x1x19xi64>) -> tensor<100x12x1x19xi1> loc(#loc8)
    %20 = nn.compare less %18, %13 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi64>, tensor<i64>) -> tensor<100x12x1x19xi1> loc(#loc8)
    %21 = nn.and %19, %20 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi1>, tensor<100x12x1x19xi1>) -> tensor<100x12x1x19xi1> loc(#loc8)
    %22 = nn.constant dense_resource<"v18/stride"> : tensor<i64>  loc(#loc13)
    %23 = nn.mul %18, %22 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi64>, tensor<i64>) -> tensor<100x12x1x19xi64> loc(#loc8)
    %24 = nn.add %10, %23 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi64>, tensor<100x12x1x19xi64>) -> tensor<100x12x1x19xi64> loc(#loc8)
    %25 = nn.constant dense_resource<"v18/outside"> : tensor<i64>  loc(#loc14)
    %26 = nn.select %21, %24, %25 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<100x12x1x19xi1>, tensor<100x12x1x19xi64>, tensor<i64>) -> tensor<100x12x1x19xi64> loc(#loc8)
    %27 = nn.gather %9, %26 axis 0 {octet.origin = #octet.origin<"GatherElements_18", "GatherElements", 0>} : (tensor<22800xf32>, tensor<100x12x1x19xi64>) -> tensor<100x12x1x19xf32> loc(#loc8)
    %28 = nn.constant dense_resource<c19> : tensor<1x12x1x1xf32>  loc(#loc15)
    %29 = nn.conv %27, %28 strides [3, 3] {octet.origin = #octet.origin<"Conv_20", "Conv", 0>} : (tensor<100x12x1x19xf32>, tensor<1x12x1x1xf32>) -> tensor<100x1x1x7xf32> loc(#loc16)
    return %1, %8, %29 : tensor<1200x19xf32>, tensor<1x100x12x8xf32>, tensor<100x1x1x7xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("Transpose_1")
#loc3 = loc("Flatten_2")
#loc4 = loc("QuantizeLinear_5")
#loc5 = loc("QLinearMatMul_13")
#loc6 = loc("c8")
#loc7 = loc("DequantizeLinear_16")
#loc8 = loc("GatherElements_18")
#loc9 = loc("v18/offsets")
#loc10 = loc("c17")
#loc11 = loc("v18/zero")
#loc12 = loc("v18/size")
#loc13 = loc("v18/stride")
#loc14 = loc("v18/outside")
#loc15 = loc("c19")
#loc16 = loc("Conv_20")

{-#
  dialect_resources: {
    builtin: {
      "v18/zero": "0x100000000000000000000000",
      "v18/size": "0x100000000100000000000000",
      "v18/zero_1": "0x100000000000000000000000",
      "v18/size_1": "0x100000000100000000000000",
      "v18/stride": "0x100000001300000000000000",
      "v18/outside": "0x1000000000000000000000C0"
    }
  }
#-}

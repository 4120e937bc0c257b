// A network that is quantized in its file: decisions from the places of quantize and dequantize, products as octet-lower knows
// them, with the same values.
// RUN: octet-opt %s --octet-adopt | FileCheck %s
// RUN: octet-opt %s --octet-adopt --octet-lower | FileCheck %s --check-prefix=LOWERED
// RUN: octet-opt %s --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: octet-opt %s --octet-adopt --octet-explain -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-adopt | FileCheck %s --check-prefix=FUSED

// No patterns: those are what the policy quantizes.
// FUSED-NOT: octet.group

!x = tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:10>>
!w = tensor<2x2x1x1x!quant.uniform<u8:f32, 0.25:128>>
!y = tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>

// The weights lie around 0; the float bias stays.
// CHECK-LABEL: func @float_bias
// CHECK:         %[[W:.*]] = nn.constant dense_resource<constant.i8> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK:         %[[F:.*]] = octet.dequantize %[[W]]
// CHECK:         %[[C:.*]] = nn.conv %{{.*}}, %[[F]], %{{.*}} {octet.decision = #octet.decision<number = 0, verdict = int8>
// CHECK:         octet.quantize %[[C]]
// LOWERED-LABEL: func @float_bias
// LOWERED:         nn.conv {{.*}}, tensor<2xf32>) -> tensor<1x2x4x4x!quant.uniform<u8
// EXPLAIN:       layer    operator    verdict        why
// EXPLAIN-NEXT:  first    nn.conv     int8
func.func @float_bias(%x: !x) -> !y {
  %w = nn.constant dense<[[[[0]], [[255]]], [[[128]], [[1]]]]> : tensor<2x2x1x1xi8> -> !w
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = octet.dequantize %x : (!x) -> tensor<1x2x4x4xf32>
  %1 = octet.dequantize %w : (!w) -> tensor<2x2x1x1xf32>
  %2 = nn.conv %0, %1, %b {octet.origin = #octet.origin<"first">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %3 = octet.quantize %2 : (tensor<1x2x4x4xf32>) -> !y
  return %3 : !y
}

// A bias at the scale of the product stays; the scale is that of the file.
// CHECK-LABEL: func @stored_bias
// CHECK-NOT:     nn.add
// LOWERED-LABEL: func @stored_bias
// LOWERED:         nn.conv %arg0, %{{.*}}, %{{.*}}!quant.uniform<i32:f32, 1.250000e-01>>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 2.000000e+00>>
// EXPLAIN-NEXT:  second   nn.conv     int8
// EXPLAIN-NEXT:  another  nn.conv     int8
func.func @stored_bias(%x: !x) -> !y {
  %w = nn.constant dense<3> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>
  %b = nn.constant dense<[100, 200]> : tensor<2xi32> -> tensor<2x!quant.uniform<i32:f32, 0.125>>
  %0 = octet.dequantize %x : (!x) -> tensor<1x2x4x4xf32>
  %1 = octet.dequantize %w : (tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x2x1x1xf32>
  %2 = octet.dequantize %b : (tensor<2x!quant.uniform<i32:f32, 0.125>>) -> tensor<2xf32>
  %3 = nn.conv %0, %1, %2 {octet.origin = #octet.origin<"second">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %4 = octet.quantize %3 : (tensor<1x2x4x4xf32>) -> !y
  return %4 : !y
}

// One at another scale is the real numbers that it stands for.
// CHECK-LABEL: func @bias_at_another_scale
// CHECK:         %[[B:.*]] = nn.constant dense_resource<constant.f32{{.*}}> : tensor<2xf32>
// CHECK:         nn.conv %{{.*}}, %{{.*}}, %[[B]] {{.*}}tensor<2xf32>)
// LOWERED-LABEL: func @bias_at_another_scale
// LOWERED:         nn.conv {{.*}}, tensor<2xf32>) -> tensor<1x2x4x4x!quant.uniform<u8
func.func @bias_at_another_scale(%x: !x) -> !y {
  %w = nn.constant dense<3> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>
  %b = nn.constant dense<[100, 200]> : tensor<2xi32> -> tensor<2x!quant.uniform<i32:f32, 0.25>>
  %0 = octet.dequantize %x : (!x) -> tensor<1x2x4x4xf32>
  %1 = octet.dequantize %w : (tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x2x1x1xf32>
  %2 = octet.dequantize %b : (tensor<2x!quant.uniform<i32:f32, 0.25>>) -> tensor<2xf32>
  %3 = nn.conv %0, %1, %2 {octet.origin = #octet.origin<"another">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %4 = octet.quantize %3 : (tensor<1x2x4x4xf32>) -> !y
  return %4 : !y
}

// 255 - 100 is no signed byte: 127 and 28 are two, and the second channel is read twice.
// CHECK-LABEL: func @two_filters
// CHECK:         %[[SECOND:.*]] = nn.slice %[[X:.*]] starts [0, 1, 0, 0] sizes [1, 1, 4, 4]
// CHECK:         octet.quantize %[[SECOND]]
// CHECK:         %[[X2:.*]] = nn.concat %[[X]], %{{.*}} axis 1 {octet.origin = #octet.origin<"third">} : (tensor<1x2x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x3x4x4xf32>
// CHECK:         octet.quantize %[[X2]] {octet.origin = #octet.origin<"third">} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4x!quant.uniform<u8:f32, 5.000000e-01:10>>
// CHECK:         tensor<2x3x1x1xi8> -> tensor<2x3x1x1x!quant.uniform<i8:f32, 2.500000e-01>>
// LOWERED-LABEL: func @two_filters
// LOWERED-NOT:     octet.dequantize
// LOWERED:         nn.conv %{{.*}} : (tensor<1x3x4x4x!quant.uniform<u8:f32, 5.000000e-01:10>>, tensor<2x3x1x1x!quant.uniform<i8:f32, 2.500000e-01>>)
// EXPLAIN-NEXT:  third    nn.conv     int8
func.func @two_filters(%x: !x) -> !y {
  %w = nn.constant dense<[[[[0]], [[255]]], [[[100]], [[1]]]]> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!quant.uniform<u8:f32, 0.25:100>>
  %0 = octet.dequantize %x : (!x) -> tensor<1x2x4x4xf32>
  %1 = octet.dequantize %w : (tensor<2x2x1x1x!quant.uniform<u8:f32, 0.25:100>>) -> tensor<2x2x1x1xf32>
  %2 = nn.conv %0, %1 {octet.origin = #octet.origin<"third">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = octet.quantize %2 : (tensor<1x2x4x4xf32>) -> !y
  return %3 : !y
}

// 255 - 0 is 127 + 127 + 1: two signed bytes reach 254 only.
// CHECK-LABEL: func @three_filters
// CHECK:         %[[X3:.*]] = nn.concat %{{.*}}, %{{.*}}, %{{.*}} axis 1 {{.*}} -> tensor<1x3xf32>
// CHECK:         octet.quantize %[[X3]]
// CHECK:         nn.constant dense_resource<[[$PARTS:.*]]> : tensor<3x3xi8> -> tensor<3x3x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK:         nn.linear {{.*}} : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
// LOWERED-LABEL: func @three_filters
// LOWERED:         nn.linear %{{.*}} : (tensor<1x3x!quant.uniform<u8:f32, 5.000000e-01:10>>, tensor<3x3x!quant.uniform<i8:f32, 2.500000e-01>>)
// EXPLAIN-NEXT:  fourth   nn.linear   int8
func.func @three_filters(%x: tensor<1x1x!quant.uniform<u8:f32, 0.5:10>>) -> tensor<1x3x!quant.uniform<u8:f32, 2.0>> {
  %w = nn.constant dense<[[255], [254], [1]]> : tensor<3x1xi8> -> tensor<3x1x!quant.uniform<u8:f32, 0.25>>
  %0 = octet.dequantize %x : (tensor<1x1x!quant.uniform<u8:f32, 0.5:10>>) -> tensor<1x1xf32>
  %1 = octet.dequantize %w : (tensor<3x1x!quant.uniform<u8:f32, 0.25>>) -> tensor<3x1xf32>
  %2 = nn.linear %0, %1 {octet.origin = #octet.origin<"fourth">} : (tensor<1x1xf32>, tensor<3x1xf32>) -> tensor<1x3xf32>
  %3 = octet.quantize %2 : (tensor<1x3xf32>) -> tensor<1x3x!quant.uniform<u8:f32, 2.0>>
  return %3 : tensor<1x3x!quant.uniform<u8:f32, 2.0>>
}

// With groups it stays float, and octet-lower says so.
// CHECK-LABEL: func @groups
// CHECK-NOT:     nn.concat
// LOWERED-LABEL: func @groups
// LOWERED:         nn.conv {{.*}}verdict = float, reason = <"OCT305"
// EXPLAIN-NEXT:  grouped  nn.conv     int8
func.func @groups(%x: !x) -> !y {
  %w = nn.constant dense<[[[[0]]], [[[255]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!quant.uniform<u8:f32, 0.25:100>>
  %0 = octet.dequantize %x : (!x) -> tensor<1x2x4x4xf32>
  %1 = octet.dequantize %w : (tensor<2x1x1x1x!quant.uniform<u8:f32, 0.25:100>>) -> tensor<2x1x1x1xf32>
  %2 = nn.conv %0, %1 groups 2 {octet.origin = #octet.origin<"grouped">} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = octet.quantize %2 : (tensor<1x2x4x4xf32>) -> !y
  return %3 : !y
}

// What is moved between a quantize and an operator is bytes, on both sides of a product.
// CHECK-LABEL: func @moved
// CHECK:         nn.reshape
// CHECK-NEXT:    octet.quantize
// CHECK-NEXT:    octet.dequantize
// CHECK:         nn.linear
// CHECK-NEXT:    octet.quantize
// CHECK-NEXT:    octet.dequantize
// CHECK-NEXT:    nn.transpose
// LOWERED-LABEL: func @moved
// LOWERED-NOT:     octet.dequantize
// LOWERED:         return
// EXPLAIN-NEXT:  flat     nn.reshape    int8
// EXPLAIN-NEXT:  matrix   nn.linear     int8
// EXPLAIN-NEXT:  turn     nn.transpose  int8
func.func @moved(%x: !x) -> tensor<2x1x!quant.uniform<u8:f32, 2.0>> {
  %w = nn.constant dense<3> : tensor<2x32xi8> -> tensor<2x32x!quant.uniform<i8:f32, 0.25>>
  %0 = octet.dequantize %x : (!x) -> tensor<1x2x4x4xf32>
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"flat">} : (tensor<1x2x4x4xf32>) -> tensor<1x32xf32>
  %2 = octet.dequantize %w : (tensor<2x32x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x32xf32>
  %3 = nn.linear %1, %2 {octet.origin = #octet.origin<"matrix">} : (tensor<1x32xf32>, tensor<2x32xf32>) -> tensor<1x2xf32>
  %4 = nn.transpose %3 permutation [1, 0] {octet.origin = #octet.origin<"turn">} : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %5 = octet.quantize %4 : (tensor<2x1xf32>) -> tensor<2x1x!quant.uniform<u8:f32, 2.0>>
  return %5 : tensor<2x1x!quant.uniform<u8:f32, 2.0>>
}

// Why the rest is float.
// LOWERED-LABEL: func @rest
// EXPLAIN-NEXT:  free     nn.relu     float          OCT111 the file has it in float
// EXPLAIN-NEXT:  half     nn.add      float          OCT112 the file does not quantize all of its operands
// EXPLAIN-NEXT:                                      -> quantize them in the file
// EXPLAIN-NEXT:  soft     nn.softmax  int8
// EXPLAIN-NEXT:  last     nn.conv     int8 to float  OCT102 no quantized operator reads the result
// EXPLAIN-NEXT:  unread   nn.relu     float          OCT102 no quantized operator reads the result
func.func @rest(%x: !x, %r: tensor<1x2x4x4xf32>) -> (!y, !y, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = nn.constant dense<3> : tensor<2x2x1x1xi8> -> tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>
  %0 = octet.dequantize %x : (!x) -> tensor<1x2x4x4xf32>
  %1 = nn.relu %r {octet.origin = #octet.origin<"free">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = nn.add %0, %1 {octet.origin = #octet.origin<"half">} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = octet.quantize %2 : (tensor<1x2x4x4xf32>) -> !y
  %4 = nn.softmax %0 axis 1 {octet.origin = #octet.origin<"soft">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %5 = octet.quantize %4 : (tensor<1x2x4x4xf32>) -> !y
  %6 = octet.dequantize %w : (tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x2x1x1xf32>
  %7 = nn.conv %0, %6 {octet.origin = #octet.origin<"last">} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %8 = nn.relu %0 {octet.origin = #octet.origin<"unread">} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %3, %5, %7, %8 : !y, !y, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// Products and what moves values read integers of 16 bits.
// CHECK-LABEL: func @of_16_bits
// CHECK:         %[[R:.*]] = nn.reshape %[[X:.*]] :
// CHECK:         %[[Q:.*]] = octet.quantize %[[R]]
// CHECK-NEXT:    %[[D:.*]] = octet.dequantize %[[Q]]
// CHECK:         nn.linear %[[D]]
// CHECK:         nn.softmax %[[D]]
// LOWERED-LABEL: func @of_16_bits
// LOWERED-COUNT-2: nn.linear {{.*}}!quant.uniform<u8
// LOWERED-NOT:     nn.linear
// LOWERED:         return
// EXPLAIN-NEXT:  flat     nn.reshape  int8
// EXPLAIN-NEXT:  matrix   nn.linear   int8
// EXPLAIN-NEXT:  behind   nn.relu     int8
// EXPLAIN-NEXT:  soft     nn.softmax  float          OCT104 no integer form of 16 bits
!wide = tensor<1x32x!quant.uniform<u16:f32, 0.001:9>>
func.func @of_16_bits(%x: tensor<1x2x4x4x!quant.uniform<u16:f32, 0.001:9>>) -> (tensor<1x2x!quant.uniform<u16:f32, 0.5:9>>, tensor<1x32xf32>) {
  %w = nn.constant dense<3> : tensor<2x32xi8> -> tensor<2x32x!quant.uniform<i8:f32, 0.25>>
  %0 = octet.dequantize %x : (tensor<1x2x4x4x!quant.uniform<u16:f32, 0.001:9>>) -> tensor<1x2x4x4xf32>
  %1 = nn.reshape %0 {octet.origin = #octet.origin<"flat">} : (tensor<1x2x4x4xf32>) -> tensor<1x32xf32>
  %2 = octet.quantize %1 : (tensor<1x32xf32>) -> !wide
  %3 = octet.dequantize %2 : (!wide) -> tensor<1x32xf32>
  %4 = octet.dequantize %w : (tensor<2x32x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x32xf32>
  %5 = nn.linear %3, %4 {octet.origin = #octet.origin<"matrix">} : (tensor<1x32xf32>, tensor<2x32xf32>) -> tensor<1x2xf32>
  %6 = nn.relu %5 {octet.origin = #octet.origin<"behind">} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %7 = octet.quantize %6 : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<u16:f32, 0.5:9>>
  %8 = nn.softmax %3 axis 1 {octet.origin = #octet.origin<"soft">} : (tensor<1x32xf32>) -> tensor<1x32xf32>
  return %7, %8 : tensor<1x2x!quant.uniform<u16:f32, 0.5:9>>, tensor<1x32xf32>
}

// From bytes to 16 bits, moved in between.
// LOWERED-LABEL: func @moved_to_16_bits
// EXPLAIN-NEXT:  first    nn.linear     int8
// EXPLAIN-NEXT:  turn     nn.transpose  int8
// EXPLAIN-NEXT:  again    nn.reshape    int8
func.func @moved_to_16_bits(%x: tensor<1x32x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x!quant.uniform<u16:f32, 0.5:9>> {
  %w = nn.constant dense<3> : tensor<2x32xi8> -> tensor<2x32x!quant.uniform<i8:f32, 0.25>>
  %0 = octet.dequantize %x : (tensor<1x32x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x32xf32>
  %1 = octet.dequantize %w : (tensor<2x32x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x32xf32>
  %2 = nn.linear %0, %1 {octet.origin = #octet.origin<"first">} : (tensor<1x32xf32>, tensor<2x32xf32>) -> tensor<1x2xf32>
  %3 = nn.transpose %2 permutation [1, 0] {octet.origin = #octet.origin<"turn">} : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %4 = nn.reshape %3 {octet.origin = #octet.origin<"again">} : (tensor<2x1xf32>) -> tensor<2xf32>
  %5 = octet.quantize %4 : (tensor<2xf32>) -> tensor<2x!quant.uniform<u16:f32, 0.5:9>>
  return %5 : tensor<2x!quant.uniform<u16:f32, 0.5:9>>
}

// Rows of parts: [127, 127, 1], [127, 127, 0], [1, 0, 0].
// CHECK: [[$PARTS]]: "0x100000007F7F017F7F00010000"

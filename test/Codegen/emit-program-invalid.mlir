// RUN: octet-opt %s --octet-emit-program=levels=reference --split-input-file --verify-diagnostics
// RUN: echo 'func.func @main() { return }' | not octet-opt --octet-emit-program 2>&1 | FileCheck %s --check-prefix=LEVELS
// RUN: echo 'func.func @main(%%x: i32) -> i32 { return %%x : i32 }' | not octet-opt --octet-assign-layout 2>&1 | FileCheck %s --check-prefix=LAYOUT

// LEVELS: error: expected at least one CPU level; give the option 'levels'
// LAYOUT: error: expected tensors of static shape in a network, but got 'i32'

// expected-error @below {{expected a function named 'main'}}
module {
}

// -----

func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = octet.group(%a = %x) : (tensor<1x4xf32>) -> tensor<1x4xf32> {
    // expected-error @below {{cannot stand in a fused group: it is not element-wise}}
    %s = nn.softmax %a axis 1 : (tensor<1x4xf32>) -> tensor<1x4xf32>
    octet.yield %s : tensor<1x4xf32>
  }
  return %y : tensor<1x4xf32>
}

// -----

func.func @main(%x: tensor<1x2x1x1xf32>, %r: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %r) : (tensor<1x2x1x1xf32>, tensor<2x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
    // expected-error @below {{cannot stand in a fused group whose result has another shape: 'tensor<1x2x8x8xf32>'}}
    %c = nn.conv %0, %1 : (tensor<1x2x1x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x1x1xf32>
    %a = nn.add %c, %2 : (tensor<1x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %a : tensor<1x2x8x8xf32>
  }
  return %y : tensor<1x2x8x8xf32>
}

// -----

!wide = !quant.uniform<u32:f32, 0.25>
func.func @main(%x: tensor<4x!wide>) -> tensor<4xf32> {
  %y = octet.group(%q = %x) : (tensor<4x!wide>) -> tensor<4xf32> {
    // expected-error @below {{has code generation for storage of at most 16 bits, but got '!quant.uniform<u32:f32, 2.500000e-01>'; is the network lowered?}}
    %r = octet.dequantize %q : (tensor<4x!wide>) -> tensor<4xf32>
    %n = nn.neg %r : (tensor<4xf32>) -> tensor<4xf32>
    octet.yield %n : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = nn.constant dense<7> : tensor<4xi32> -> tensor<4x!quant.uniform<i32:f32, 0.25>>
  // expected-error @below {{has code generation for storage of at most 16 bits, but got '!quant.uniform<i32:f32, 2.500000e-01>'; is the network lowered?}}
  %y = octet.dequantize %b : (tensor<4x!quant.uniform<i32:f32, 0.25>>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

!q = !quant.uniform<u32:f32, 0.25>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has code generation for storage of at most 16 bits, but got '!quant.uniform<u32:f32, 2.500000e-01>'; is the network lowered?}}
  %q = octet.quantize %x : (tensor<4xf32>) -> tensor<4x!q>
  %y = octet.dequantize %q : (tensor<4x!q>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

!image = tensor<1x6x4x4xf32, #nn.layout<nhwc, channels = 6, pads = [0, 0, 0, 0]>>
!other = tensor<1x3x4x8xf32, #nn.layout<nhwc, channels = 3, pads = [0, 0, 0, 0]>>
func.func @main(%x: !image) -> !other {
  // expected-error @below {{has code generation where one side is dense only}}
  %y = nn.reshape %x : (!image) -> !other
  return %y : !other
}

// -----

// expected-error @below {{has 2288 MiB of weights, but a library reaches at most 1792 MiB; split the network}}
func.func @main(%x: tensor<1x20000xf32>) -> tensor<1x30000xf32> {
  %w = nn.constant dense<1.0> : tensor<30000x20000xf32>
  %y = nn.linear %x, %w : (tensor<1x20000xf32>, tensor<30000x20000xf32>) -> tensor<1x30000xf32>
  return %y : tensor<1x30000xf32>
}

// -----

// expected-error @below {{expected tensors of static shape in a network, but got 'i32'}}
func.func @main(%x: i32) -> i32 {
  return %x : i32
}

// -----

// expected-error @below {{expected a network: a function with a body of one block}}
func.func private @main(tensor<1xf32>) -> tensor<1xf32>

// -----

// expected-error @below {{GiB for its values, but a library reaches at most 32 GiB; give smaller input shapes}}
func.func @main(%x: tensor<1x100000x100000xf32>) -> tensor<1x100000x100000xf32> {
  %y = nn.relu %x : (tensor<1x100000x100000xf32>) -> tensor<1x100000x100000xf32>
  %z = nn.relu %y : (tensor<1x100000x100000xf32>) -> tensor<1x100000x100000xf32>
  return %z : tensor<1x100000x100000xf32>
}

// -----

func.func @main(%x: tensor<1x2x4x4xi64>) -> tensor<1x2x3x3xi64> {
  // expected-error @below {{has code generation for real numbers only, but got integers}}
  %y = nn.max_pool %x kernel [2, 2] : (tensor<1x2x4x4xi64>) -> tensor<1x2x3x3xi64>
  return %y : tensor<1x2x3x3xi64>
}

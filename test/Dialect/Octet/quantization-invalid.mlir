// RUN: octet-opt %s --split-input-file --verify-diagnostics

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected one scale per element of axis 1, but got 2}}
  %q = octet.quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<u8:f32:1, {0.5, 0.25}>>
  return
}

// -----

func.func @observer(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected the symbol of an 'octet.observer', but got @missing}}
  %q = octet.observe %x by @missing : tensor<2x3xf32>
  return
}

// -----

func.func @yield(%x: tensor<2xf32>) {
  // expected-error @below {{expected to yield the shape [2], but got [3]}}
  %y = octet.group "g"(%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    %r = nn.constant dense<1.0> : tensor<3xf32>
    octet.yield %r : tensor<3xf32>
  }
  return
}

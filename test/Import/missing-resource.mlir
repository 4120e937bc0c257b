// RUN: octet-opt %s --verify-diagnostics --split-input-file

func.func @text_for_people_does_not_read_back() -> tensor<2xf32> {
  // expected-error @+1 {{has no data for the resource 'gone'; read the bytecode; readable text omits weights}}
  %0 = nn.constant dense_resource<gone> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @wrong_size() -> tensor<2xf32> {
  // expected-error @+1 {{expected 8 bytes in the resource 'short', but got 4}}
  %0 = nn.constant dense_resource<short> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      short: "0x100000000000803F"
    }
  }
#-}

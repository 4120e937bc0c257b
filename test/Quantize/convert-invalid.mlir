// RUN: octet-opt %s --octet-convert --split-input-file --verify-diagnostics

// expected-error @+1 {{has seen nothing; calibrate before octet-convert}}
octet.observer @x #octet.min_max<dtype = ui8>
func.func @not_calibrated(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @+1 {{expected 8 bytes of statistics, but got 3}}
octet.observer @x #octet.min_max<dtype = ui8> saw dense<[1, 2, 3]> : tensor<3xi8>
func.func @statistics_of_something_else(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

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

// -----

// From 0 to 1e-9: 255 steps of 2^-23 reach 3e-5.
octet.observer @x #octet.min_max<dtype = ui8> saw dense<[0, 0, 0, 0, 95, 112, -119, 48]> : tensor<8xi8>
octet.observer @y #octet.min_max<dtype = ui8, eps = 1.0e-12> saw dense<[0, 0, 0, 0, 95, 112, -119, 48]> : tensor<8xi8>
func.func @too_small(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // expected-warning @+1 {{calibration saw only zeros, or numbers that the observer's least scale (its eps) is too large for (values like this: 2); int8 may lose them: check the samples, or give observers a smaller eps in the QConfig mapping}}
  %0 = octet.observe %x by @x : tensor<2xf32>
  %1 = octet.observe %x by @x : tensor<2xf32>
  %2 = octet.observe %x by @y : tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// RUN: octet-opt %s --octet-attach-policy --octet-convert --split-input-file --verify-diagnostics

// expected-error @+1 {{has seen nothing; calibrate before octet-convert}}
octet.observer @x #octet.min_max<dtype = ui8>
func.func @not_calibrated(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @+1 {{expected 8 bytes of statistics, but got 3}}
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[1, 2, 3]> : tensor<3xi8>
func.func @statistics_of_something_else(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @+1 {{expected 8 bytes of statistics, but got 4}}
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<1.0> : tensor<1xf32>
func.func @statistics_in_numbers(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// From 0 to 1e-9: 255 steps of 2^-23 reach 3e-5.
octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[0, 0, 0, 0, 95, 112, -119, 48]> : tensor<8xi8>
octet.observer @y #octet.min_max<dtype = ui8, eps = 1.0e-12> statistics dense<[0, 0, 0, 0, 95, 112, -119, 48]> : tensor<8xi8>
func.func @too_small(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // expected-warning @+1 {{calibration saw only zeros, or numbers that the observer's least scale (its eps) is too large for (values like this: 2); int8 may lose them; check the samples, or give observers a smaller eps in the QConfig mapping}}
  %0 = octet.observe %x by @x : tensor<2xf32>
  %1 = octet.observe %x by @x : tensor<2xf32>
  %2 = octet.observe %x by @y : tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// Scales of integers that a recovery pass chose cannot be raised.
octet.observer @x #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
func.func @bias_beyond_int32(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<[[3, -5]]> : tensor<1x2xi8> -> tensor<1x2x!quant.uniform<i8:f32, 1.0e-9>>
  %b = nn.constant dense<2.0> : tensor<1xf32>
  %0 = octet.observe %x by @x : tensor<1x2xf32>
  %1 = octet.dequantize %w : (tensor<1x2x!quant.uniform<i8:f32, 1.0e-9>>) -> tensor<1x2xf32>
  // expected-warning @+1 {{stays float: its bias does not fit into int32 at input scale times weight scale, and its weights are integers already (channels like this: 1); give these weights larger scales}}
  %2 = nn.linear %0, %1, %b : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

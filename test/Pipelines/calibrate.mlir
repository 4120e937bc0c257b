// RUN: %python %S/Inputs/make-samples.py %t.npz
// RUN: octet-opt %s --octet-use-samples="files=%t.npz threads=2" --octet-calibrate=save-statistics=%t.stats | FileCheck %s
// RUN: octet-opt %s --octet-calibrate="load-statistics=%t.stats" | FileCheck %s
// RUN: not octet-opt %s --octet-use-samples=files=%t.missing --octet-calibrate 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not octet-opt %s --octet-calibrate 2>&1 | FileCheck %s --check-prefix=NOTHING

// MISSING: error: '{{.*}}.missing': no such file or folder
// NOTHING: error: octet-calibrate has neither samples (octet-use-samples) nor statistics (load-statistics)

// The range of the input is [-1, 2]; what a constant's observer sees is known without samples.
// CHECK: octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[-1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: octet.observer @w #octet.min_max<dtype = si8>{{$}}
// CHECK: octet.observer @negative #octet.min_max<dtype = ui8> statistics dense<[-2.000000e+00, 1.000000e+00]> : tensor<2xf32>
octet.observer @x #octet.min_max<dtype = ui8>
octet.observer @w #octet.min_max<dtype = si8>
octet.observer @negative #octet.min_max<dtype = ui8>
octet.observer @sigmoid #octet.fixed_qparams<ui8, scale = 3.90625e-3 : f32, zero_point = 0>
// CHECK: func.func @main
// CHECK: octet.observe %{{.*}} by @x
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<3.0> : tensor<1x2x1x1xf32>
  %wo = octet.observe %w by @w : tensor<1x2x1x1xf32>
  %xo = octet.observe %x by @x : tensor<1x2x4x4xf32>
  %n = nn.neg %xo : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %no = octet.observe %n by @negative : tensor<1x2x4x4xf32>
  %s = nn.sigmoid %no : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %so = octet.observe %s by @sigmoid : tensor<1x2x4x4xf32>
  %r = nn.mul %so, %wo : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %r : tensor<1x2x4x4xf32>
}

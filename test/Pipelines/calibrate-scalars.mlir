// A sample of a scalar is a number without axes; several are an array of numbers.
// RUN: %python -c "import numpy; numpy.savez('%t.npz', x=numpy.float32(3))"
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-calibrate | FileCheck %s --check-prefix=ONE
// RUN: %python -c "import numpy; numpy.savez('%t.npz', x=numpy.array([1, 3], 'f'))"
// RUN: octet-opt %s --octet-use-samples=files=%t.npz --octet-calibrate | FileCheck %s --check-prefix=TWO

// ONE: octet.observer @x #octet.min_max<dtype = ui8> statistics dense<3.000000e+00> : tensor<2xf32>
// TWO: octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>
octet.observer @x #octet.min_max<dtype = ui8>
func.func @main(%x: tensor<f32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "y"}) {
  %observed = octet.observe %x by @x : tensor<f32>
  %y = nn.relu %observed : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Errors of the samples come before compiling the network, which would end with another error here.
// RUN: %python -c "import numpy; numpy.savez('%t.npz', x=numpy.zeros((3, 1, 5), 'f'))"
// RUN: not octet-opt %s --allow-unregistered-dialect --octet-use-samples=files=%t.npz --octet-calibrate 2>&1 | FileCheck %s
// RUN: %python -c "import numpy; numpy.savez('%t.npz', x=numpy.zeros((3, 1, 4), 'f'))"
// RUN: not octet-opt %s --allow-unregistered-dialect --octet-use-samples=files=%t.npz --octet-calibrate 2>&1 | FileCheck %s --check-prefix=OPERATOR

// CHECK: error: '{{.*}}.npz': array 'x': expected shape [1, 4], with or without a leading axis of samples, but got [3, 1, 5]
// CHECK-NOT: test.unknown
// OPERATOR: 'test.unknown' op
octet.observer @x #octet.min_max<dtype = ui8>
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<1x4xf32> {
  %observed = octet.observe %x by @x : tensor<1x4xf32>
  %y = "test.unknown"(%observed) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

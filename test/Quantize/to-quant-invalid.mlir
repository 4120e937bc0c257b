// RUN: octet-opt %s --verify-diagnostics --pass-pipeline='builtin.module(octet-to-quant)'

octet.observer @x #octet.min_max<dtype = ui8>
func.func @observed(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{is an observer, which upstream does not have; run octet-convert before}}
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

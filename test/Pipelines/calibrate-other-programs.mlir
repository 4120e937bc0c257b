// Octet's own code runs networks of nn in a function main; the message names the way for other programs.
// RUN: split-file %s %t
// RUN: not octet-opt %t/name.mlir --octet-use-samples=files=%t --octet-calibrate 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not octet-opt %t/sizes.mlir --octet-use-samples=files=%t --octet-calibrate 2>&1 | FileCheck %s --check-prefix=SIZES
// NAME: error: octet-calibrate expects a function 'main', and there is none; rename the network, or let another compiler run it, with octet-lower-observers
// SIZES: error: octet-calibrate expects inputs of known sizes, but got tensor<?x4xf32>; let another compiler run it, with octet-lower-observers

//--- name.mlir
octet.observer @x #octet.min_max<dtype = ui8>
func.func @net(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = octet.observe %x by @x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
//--- sizes.mlir
octet.observer @x #octet.min_max<dtype = ui8>
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = octet.observe %x by @x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

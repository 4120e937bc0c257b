// RUN: octet-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(octet-lower-observers)'

octet.observer @x #octet.moving_average_min_max<dtype = ui8>
func.func @runs_of_unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{observes 'tensor<?xf32>', which #octet.moving_average_min_max<dtype = ui8> cannot see in parts; give the operator an observer whose statistics merge, or infer the shapes}}
  %0 = octet.observe %x by @x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

octet.observer @x #octet.recording<runs = 1>
func.func @recording_of_unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{cannot see in parts}}
  %0 = octet.observe %x by @x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

octet.observer @x #octet.per_channel_min_max<dtype = ui8, axis = 1>
func.func @channels_of_unknown_number(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // expected-error @+1 {{cannot see in parts}}
  %0 = octet.observe %x by @x : tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// -----

// expected-error @+1 {{has the name "octet_print_statistics", which octet-lower-observers gives to what it makes; rename it}}
func.func private @octet_print_statistics()

// -----

octet.observer @x #octet.min_max<dtype = ui8>
// expected-error @+1 {{has the name "octet_state_x", which octet-lower-observers gives to what it makes; rename it}}
func.func @octet_state_x(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = octet.observe %x by @x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @integers(%x: tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x!quant.uniform<u8:f32, 0.5>> {
  // expected-error @+1 {{has quantized types, which imply arithmetic; run this pass in front of octet-lower}}
  %0 = octet.group(%a = %x) : (tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x!quant.uniform<u8:f32, 0.5>> {
    octet.yield %a : tensor<2x!quant.uniform<u8:f32, 0.5>>
  }
  return %0 : tensor<2x!quant.uniform<u8:f32, 0.5>>
}

// -----

module {
module {
  octet.observer @x #octet.min_max<dtype = ui8>
  func.func @inside(%x: tensor<2xf32>) -> tensor<2xf32> {
    // expected-error @+1 {{stands in a module inside of this one; run octet-lower-observers on the inner module}}
    %0 = octet.observe %x by @x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
}

// -----

func.func @quantized(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has no counterpart upstream; lower it before, or leave with another pass}}
  %0 = octet.quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  %1 = octet.dequantize %0 : (tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Observers become updates of globals; nothing of Octet is left.
// RUN: octet-opt %s --allow-unregistered-dialect --split-input-file --pass-pipeline='builtin.module(octet-lower-observers)' \
// RUN:   | FileCheck %s --implicit-check-not='{{octet\.(observe |group|origin|quantized)}}'

// Two values share an observer; constants and observers without a state are not observed.
// CHECK: memref.global "private" @octet_state_x : memref<8xi8> = dense<[0, 0, -128, 127, 0, 0, -128, -1]> {alignment = 64 : i64}
// CHECK-LABEL: func @observed(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {my.kept},
// CHECK-SAME: %[[Y:.*]]: tensor<4xf32>)
// CHECK: %[[B:.*]] = bufferization.to_buffer %[[X]] read_only : tensor<4xf32> to memref<4xf32>
// CHECK: %[[S:.*]] = memref.get_global @octet_state_x
// CHECK: vector.load
// CHECK: memref.store
// CHECK: bufferization.to_buffer %[[Y]] read_only
// CHECK: memref.get_global @octet_state_x
// CHECK-NOT: bufferization.to_buffer
// CHECK: %[[R:.*]] = "my.dense"(%[[X]], %{{.*}})
// CHECK: "my.sum"(%[[R]], %[[Y]])
// CHECK-LABEL: func @octet_print_statistics()
// CHECK: vector.print str "octet.observer @x #octet.min_max<dtype = ui8> statistics dense<["
// CHECK: scf.for
// CHECK: vector.print %{{.*}} : i8 punctuation <comma>
// CHECK: vector.print %{{.*}} : i8 punctuation <no_punctuation>
// CHECK: vector.print str "]> : tensor<8xi8>\0A"
octet.observer @x #octet.min_max<dtype = ui8>
octet.observer @fixed #octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 128>
octet.observer @w #octet.min_max<dtype = si8>
func.func @observed(%x: tensor<4xf32> {my.kept, octet.quantized}, %y: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense<1.0> : tensor<4xf32>
  %0 = octet.observe %x by @x : tensor<4xf32>
  %1 = octet.observe %y by @x : tensor<4xf32>
  %2 = octet.observe %w by @w : tensor<4xf32>
  %3 = octet.group(%a = %0, %b = %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %r = "my.dense"(%a, %b) {octet.origin = #octet.origin<"dense">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    octet.yield %r : tensor<4xf32>
  }
  %4 = octet.observe %3 by @fixed : tensor<4xf32>
  %5 = "my.sum"(%4, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// -----

// Parts of known size of what has a size that is known at run time only.
// CHECK-LABEL: func @sizes_at_run_time(
// CHECK-SAME: %[[X:.*]]: tensor<?x4x?xf32>)
// CHECK: %[[B:.*]] = bufferization.to_buffer %[[X]] read_only
// CHECK: %[[P:.*]] = memref.alloc() : memref<1x4x1xf32>
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[V:.*]] = memref.subview %[[B]][%[[I]], 0, %[[J]]] [1, 4, 1] [1, 1, 1]
// CHECK: memref.copy %[[V]], %[[P]]
// CHECK: memref.dealloc %[[P]]
octet.observer @x #octet.min_max<dtype = ui8>
func.func @sizes_at_run_time(%x: tensor<?x4x?xf32>) -> tensor<?x4x?xf32> {
  %0 = octet.observe %x by @x : tensor<?x4x?xf32>
  return %0 : tensor<?x4x?xf32>
}

// -----

// A tensor without elements shows an observer nothing.
// CHECK-LABEL: func @no_elements(
// CHECK-NEXT: return
octet.observer @x #octet.min_max<dtype = ui8>
func.func @no_elements(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %0 = octet.observe %x by @x : tensor<0x4xf32>
  return %0 : tensor<0x4xf32>
}

// Slices whose elements lie side by side from a multiple of 64 bytes on are no copies: kernels read them where they are.
// RUN: octet-opt %s --octet-emit-program=levels=avx2 | FileCheck %s

// CHECK-LABEL: kernel.program
// CHECK: kernel.step @[[DOUBLE:.*]] [#kernel.arg<input 0>, #kernel.arg<arena [[X:[0-9]+]]>]
// A row's slice, a slice of it, a reshape of that.
// CHECK-NEXT: kernel.step @{{.*}} [#kernel.arg<arena 128>, #kernel.arg<output 0>]
// CHECK-NEXT: kernel.step @{{.*}} [#kernel.arg<arena 192>, #kernel.arg<output 1>]
// What leaves the network, begins elsewhere or does not lie side by side is copied.
// CHECK-NEXT: kernel.step @copy{{.*}} [#kernel.arg<arena [[X]]>, #kernel.arg<output 2>]
// CHECK-NEXT: kernel.step @copy{{.*}} [#kernel.arg<arena [[X]]>, #kernel.arg<arena [[C:[0-9]+]]>]
// CHECK-NEXT: kernel.step @{{.*}} [#kernel.arg<arena [[C]]>, #kernel.arg<output 3>]
// CHECK-NEXT: kernel.step @copy{{.*}} [#kernel.arg<arena [[X]]>, #kernel.arg<arena [[D:[0-9]+]]>]
// CHECK-NEXT: kernel.step @{{.*}} [#kernel.arg<arena [[D]]>, #kernel.arg<output 4>]
// So is what is cut from the caller's memory.
// CHECK-NEXT: kernel.step @copy{{.*}} [#kernel.arg<input 0>, #kernel.arg<arena [[E:[0-9]+]]>]
// CHECK-NEXT: kernel.step @{{.*}} [#kernel.arg<arena [[E]]>, #kernel.arg<output 5>]
// CHECK-NOT: kernel.step
func.func @main(%in: tensor<2x32xf32>) -> (tensor<1x32xf32>, tensor<16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<2x16xf32>, tensor<1x16xf32>) {
  %x = nn.add %in, %in : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
  %row = nn.slice %x starts [1, 0] sizes [1, 32] steps [1, 1] : (tensor<2x32xf32>) -> tensor<1x32xf32>
  %a = nn.relu %row : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %half = nn.slice %row starts [0, 16] sizes [1, 16] steps [1, 1] : (tensor<1x32xf32>) -> tensor<1x16xf32>
  %flat = nn.reshape %half : (tensor<1x16xf32>) -> tensor<16xf32>
  %b = nn.sqrt %flat : (tensor<16xf32>) -> tensor<16xf32>
  %out = nn.slice %x starts [0, 16] sizes [1, 16] steps [1, 1] : (tensor<2x32xf32>) -> tensor<1x16xf32>
  %odd = nn.slice %x starts [0, 4] sizes [1, 16] steps [1, 1] : (tensor<2x32xf32>) -> tensor<1x16xf32>
  %c = nn.relu %odd : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %column = nn.slice %x starts [0, 0] sizes [2, 16] steps [1, 1] : (tensor<2x32xf32>) -> tensor<2x16xf32>
  %d = nn.relu %column : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %given = nn.slice %in starts [1, 16] sizes [1, 16] steps [1, 1] : (tensor<2x32xf32>) -> tensor<1x16xf32>
  %e = nn.relu %given : (tensor<1x16xf32>) -> tensor<1x16xf32>
  return %a, %b, %out, %c, %d, %e : tensor<1x32xf32>, tensor<16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<2x16xf32>, tensor<1x16xf32>
}

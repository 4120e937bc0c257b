// A layer between residual sums reads 16 bits, if the QConfig says so; what computes them stays float.
// RUN: split-file %s %t
// RUN: octet-opt %t/network.mlir --octet-attach-policy --octet-prepare | FileCheck %t/network.mlir
// RUN: octet-opt %t/network.mlir --octet-attach-policy --octet-explain -o /dev/null | FileCheck %t/network.mlir --check-prefix=EXPLAIN
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/without.mlir --octet-prepare | FileCheck %t/network.mlir --check-prefix=NONE
// In buckets there are none, nor where such layers are more than a fifth of the network: of five layers one, not of four.
// RUN: sed 's/^func.func/module attributes {octet.bucket = 0.0} {&/; $s/$/}/' %t/network.mlir | octet-opt --octet-attach-policy --octet-prepare | FileCheck %t/network.mlir --check-prefix=NONE
// RUN: sed 's/nn.linear %b, %w2/nn.relu %b/; /"down"/s/(!t, !w)/(!t)/; s/nn.linear %d, %w5/nn.relu %d/; /"next_down"/s/(!t, !w)/(!t)/' %t/network.mlir | octet-opt --octet-attach-policy --octet-prepare | FileCheck %t/network.mlir --check-prefix=NONE
// RUN: sed 's/nn.linear %d, %w5/nn.relu %d/; /"next_down"/s/(!t, !w)/(!t)/' %t/network.mlir | octet-opt --octet-attach-policy --octet-prepare | FileCheck %t/network.mlir --check-prefix=FIFTH
// By name, other layers have them, too: what is between 8 and 16 bits, or 16 and 8, is float then.
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/named.mlir --octet-explain --octet-prepare | FileCheck %t/network.mlir --check-prefix=NAMED

//--- without.mlir
octet.qconfig_mapping @without {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>>
}

//--- named.mlir
#weights = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>
octet.qconfig_mapping @named {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #weights>
  octet.module_name "down" #octet.qconfig<activation = #octet.min_max<dtype = ui16>, weight = #weights>
  octet.module_name "next_up" #octet.qconfig<activation = #octet.min_max<dtype = ui16>, weight = #weights>
}

//--- network.mlir
// CHECK: octet.observer @div #octet.min_max<dtype = ui16
// CHECK-NOT: ui16
// CHECK: %[[N:.*]] = nn.div
// CHECK-NEXT: %[[O:.*]] = octet.observe %[[N]] by @div
// CHECK: nn.linear %[[O]], {{.*}} {octet.decision = #octet.decision<number = {{[0-9]+}}, verdict = int8_to_float, pattern = @cpu::@linear, reason = <"OCT102"{{.*}} note = <"OCT126", {{.*}}octet.origin = #octet.origin<"merge">}

// EXPLAIN: merge {{.*}} int8 to float OCT102
// EXPLAIN-NEXT: note: OCT126 it stands between residual sums, so that it has the trunk_activation
// EXPLAIN-NOT: OCT126

// FIFTH: octet.observer {{.*}}<dtype = ui16

// NONE-NOT: ui16
// NONE: return

// NAMED: up nn.linear int8 to float OCT125 a layer reads the result in other bits
// NAMED: next_up nn.linear int8 to float OCT125 a layer reads the result in other bits
// NAMED: octet.observer @up #octet.min_max<dtype = ui16>
// NAMED: nn.linear {{.*}}octet.origin<"up">
// NAMED-NEXT: octet.observe {{.*}} by @up
// NAMED: nn.linear {{.*}}octet.origin<"down">
!t = tensor<8x64xf32>
!w = tensor<64x64xf32>
func.func @main(%x: !t) -> !t {
  %w0 = nn.constant dense<0.1> : !w
  %w1 = nn.constant dense<0.2> : !w
  %w2 = nn.constant dense<0.3> : !w
  %w3 = nn.constant dense<0.4> : !w
  %w4 = nn.constant dense<0.5> : !w
  %w5 = nn.constant dense<0.6> : !w
  %a = nn.linear %x, %w0 {octet.origin = #octet.origin<"first">} : (!t, !w) -> !t
  %b = nn.linear %a, %w1 {octet.origin = #octet.origin<"up">} : (!t, !w) -> !t
  %c = nn.linear %b, %w2 {octet.origin = #octet.origin<"down">} : (!t, !w) -> !t
  %s = nn.add %c, %a {octet.origin = #octet.origin<"sum">} : (!t, !t) -> !t
  %n0 = nn.mul %s, %s : (!t, !t) -> !t
  %n1 = nn.reduce_mean %n0 axes [1] keep_dims : (!t) -> tensor<8x1xf32>
  %n2 = nn.sqrt %n1 : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %n = nn.div %s, %n2 : (!t, tensor<8x1xf32>) -> !t
  %t = nn.linear %n, %w3 {octet.origin = #octet.origin<"merge">} : (!t, !w) -> !t
  %o0 = nn.mul %t, %t : (!t, !t) -> !t
  %o1 = nn.reduce_mean %o0 axes [1] keep_dims : (!t) -> tensor<8x1xf32>
  %o2 = nn.sqrt %o1 : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %o = nn.div %t, %o2 : (!t, tensor<8x1xf32>) -> !t
  %d = nn.linear %o, %w4 {octet.origin = #octet.origin<"next_up">} : (!t, !w) -> !t
  %e = nn.linear %d, %w5 {octet.origin = #octet.origin<"next_down">} : (!t, !w) -> !t
  %z = nn.add %e, %t {octet.origin = #octet.origin<"next_sum">} : (!t, !t) -> !t
  return %z : !t
}

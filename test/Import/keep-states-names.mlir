// The names by which --octet-keep-states=states=auto knows a state.
// RUN: octet-opt %s --octet-keep-states="states=auto" | FileCheck %s

// CHECK: nn.name = "past", nn.state = "past"
// CHECK-SAME: nn.name = "h_in", nn.state = "h_in"
// CHECK-SAME: nn.name = "c0", nn.state = "c0"
// CHECK-SAME: nn.name = "conv.cache0", nn.state = "conv.cache0"
// CHECK-SAME: nn.name = "prevGain", nn.state = "prevGain"
// CHECK-SAME: nn.name = "input0"}
// CHECK-SAME: nn.name = "in_image"}
// CHECK-SAME: nn.name = "hidden_2"}
// CHECK-SAME: {nn.name = "nextGain", nn.state = "prevGain"}
// CHECK-SAME: {nn.name = "output0"}
// CHECK-SAME: {nn.name = "out_image"}
// CHECK-SAME: {nn.name = "cn", nn.state = "c0"}
// CHECK-SAME: {nn.name = "h_out", nn.state = "h_in"}
// CHECK-SAME: {nn.name = "present", nn.state = "past"}
// CHECK-SAME: {nn.name = "hidden_2"}
// CHECK-SAME: {nn.name = "new_conv_cache0", nn.state = "conv.cache0"}
!t = tensor<1x2xf32>
func.func @main(%0: !t {nn.name = "past"}, %1: !t {nn.name = "h_in"}, %2: !t {nn.name = "c0"}, %3: !t {nn.name = "conv.cache0"},
                %4: !t {nn.name = "prevGain"}, %5: !t {nn.name = "input0"}, %6: !t {nn.name = "in_image"}, %7: tensor<2xf32> {nn.name = "hidden_2"})
    -> (!t {nn.name = "nextGain"}, !t {nn.name = "output0"}, !t {nn.name = "out_image"}, !t {nn.name = "cn"}, !t {nn.name = "h_out"},
        !t {nn.name = "present"}, !t {nn.name = "hidden_2"}, !t {nn.name = "new_conv_cache0"}) {
  return %0, %1, %2, %3, %4, %5, %6, %0 : !t, !t, !t, !t, !t, !t, !t, !t
}

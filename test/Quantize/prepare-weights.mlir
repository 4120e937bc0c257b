// A weight that several operators read has one observer for each that their QConfigs name.
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-prepare | FileCheck %s

// CHECK-COUNT-2: octet.observer @w{{.*}} #octet.per_channel_min_max
// CHECK-NOT:     octet.observer @w
// CHECK-LABEL: func @main
// CHECK-DAG:     %[[EVEN:.*]] = octet.observe %{{.*}} by @w {
// CHECK-DAG:     %[[ODD:.*]] = octet.observe %{{.*}} by @w_0 {
// CHECK:         nn.linear %{{.*}}, %[[EVEN]] {
// CHECK:         nn.linear %{{.*}}, %[[ODD]] {
// CHECK:         nn.linear %{{.*}}, %[[EVEN]] {
func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}) -> tensor<1x2xf32> {
  %w = nn.constant dense_resource<w> : tensor<2x2xf32>
  %0 = nn.linear %x, %w {octet.origin = #octet.origin<"a.even">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = nn.linear %0, %w {octet.origin = #octet.origin<"b.odd">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %2 = nn.linear %1, %w {octet.origin = #octet.origin<"c.even">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}
octet.qconfig_mapping @mine {
  octet.module_name_regex ".*even" #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>>
  octet.module_name_regex ".*odd" #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-63, 63]>>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F0000803F0000803F0000803F" } } #-}

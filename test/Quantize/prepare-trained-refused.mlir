// Trained ranges that the backend does not take keep their units float, with the reason.
// RUN: octet-opt %s --octet-attach-policy --octet-explain --split-input-file -o /dev/null | FileCheck %s
// RUN: not octet-opt %s --octet-attach-policy --octet-prepare=strict=true --split-input-file 2>&1 | FileCheck %s --check-prefix=STRICT

!t = tensor<1x2xf32>
!w = tensor<2x2xf32>
// CHECK: fc nn.linear float OCT204 its weights were trained as !quant.uniform<u8:f32, 1.250000e-01:128>, but the backend takes si8 with zero points of 0
// STRICT: error: stays float [OCT204]: its weights were trained as
func.func @unsigned_weights(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : !w
  %wf = octet.fake_quantize %w as !quant.uniform<u8:f32, 0.125:128> : !w
  %y = nn.linear %x, %wf {octet.origin = #octet.origin<"fc">} : (!t, !w) -> !t
  return %y : !t
}

// -----

!t = tensor<1x2xf32>
!w = tensor<2x2xf32>
// CHECK: fc nn.linear float OCT208 its weights were trained with one scale per element of axis 1, but the result's channels lie on axis 0
func.func @other_axis(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : !w
  %wf = octet.fake_quantize %w as !quant.uniform<i8:f32:1, {0.125, 0.25}> : !w
  %y = nn.linear %x, %wf {octet.origin = #octet.origin<"fc">} : (!t, !w) -> !t
  return %y : !t
}

// -----

!t = tensor<1x2xf32>
!w = tensor<2x2xf32>
// CHECK: fc nn.linear float OCT204 the input's observer yields ui12, but the backend takes ui8
func.func @wide_input(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : !w
  %xf = octet.fake_quantize %x as !quant.uniform<u12:f32, 0.125> : !t
  %y = nn.linear %xf, %w {octet.origin = #octet.origin<"fc">} : (!t, !w) -> !t
  return %y : !t
}

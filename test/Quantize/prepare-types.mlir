// Units whose values have data types that the backend or the kernels do not take stay float, and say so.
// RUN: octet-opt %s --octet-attach-policy=backend=%S/Inputs/two-types.mlir --octet-explain -o /dev/null | FileCheck %s

// CHECK: conv {{.*}} int8
// CHECK: reuses {{.*}} float {{.*}}OCT204 the input's observer yields ui8, but the backend takes si8
// CHECK: linear {{.*}} int8
// CHECK-NEXT: note: OCT214 it reads si8 where the value is ui8 already
// CHECK: wide {{.*}} float {{.*}}OCT211 the activation observer yields ui32, and there are integers of at most 16 bits only
// CHECK-NEXT: -> give the activation observer the dtype ui8 or si8
// CHECK: sum {{.*}} float {{.*}}OCT204 the activation observer measures only and yields no quantized type
// CHECK: grouped {{.*}} float {{.*}}OCT208 the pattern says that the weight's channels lie on axis 4, but the weight has 4 dimensions
!t = tensor<1x2x4x4xf32>
func.func @main(%x: !t) -> !t {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %m = nn.constant dense<1.0> : tensor<4x4xf32>
  %0 = nn.conv %x, %w {octet.origin = #octet.origin<"conv">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %r = nn.linear %0, %m {octet.origin = #octet.origin<"reuses">} : (!t, tensor<4x4xf32>) -> !t
  %1 = nn.linear %0, %m {octet.origin = #octet.origin<"linear">} : (!t, tensor<4x4xf32>) -> !t
  %2 = nn.conv %1, %w {octet.origin = #octet.origin<"wide">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %3 = nn.conv %2, %w {octet.origin = #octet.origin<"sum">} : (!t, tensor<2x2x1x1xf32>) -> !t
  %4 = nn.conv %3, %d groups 2 {octet.origin = #octet.origin<"grouped">} : (!t, tensor<2x1x1x1xf32>) -> !t
  return %4 : !t
}

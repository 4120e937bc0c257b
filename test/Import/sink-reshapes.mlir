// RUN: octet-opt %s --octet-sink-reshapes | FileCheck %s

!line = tensor<1x4x9xf32>
!image = tensor<1x4x1x9xf32>

// Operators between two convolutions over one dimension.
// CHECK-LABEL: func.func @between_convolutions
// CHECK-SAME: (%[[X:.*]]: tensor<1x4x1x9xf32>
func.func @between_convolutions(%x: !image) -> !image {
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[X]] {{.*}} -> tensor<1x4x1x9xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = nn.reshape %x : (!image) -> !line
  %1 = nn.relu %0 : (!line) -> !line
  %2 = nn.reshape %1 : (!line) -> !image
  return %2 : !image
}

// CHECK-LABEL: func.func @residual_and_constant
func.func @residual_and_constant(%x: !image, %z: !image) -> !line {
  // CHECK: %[[C:.*]] = nn.constant
  // CHECK: %[[S:.*]] = nn.add %arg0, %arg1 {{.*}} -> tensor<1x4x1x9xf32>
  // CHECK: %[[M:.*]] = nn.mul %[[S]], %[[C]] : (tensor<1x4x1x9xf32>, tensor<1xf32>) -> tensor<1x4x1x9xf32>
  // CHECK: %[[R:.*]] = nn.reshape %[[M]] : (tensor<1x4x1x9xf32>) -> tensor<1x4x9xf32>
  // CHECK: return %[[R]]
  %c = nn.constant dense<2.0> : tensor<1xf32>
  %0 = nn.reshape %x : (!image) -> !line
  %1 = nn.reshape %z : (!image) -> !line
  %2 = nn.add %0, %1 : (!line, !line) -> !line
  %3 = nn.mul %2, %c : (!line, tensor<1xf32>) -> !line
  return %3 : !line
}

// A constant per channel would stand on another axis, another shape has other elements side by side, and a reshape that joins
// dimensions stays.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: !image, %z: !line, %p: tensor<1x4x3x3xf32>) -> (!line, !line, !line) {
  // CHECK: nn.reshape
  // CHECK: nn.mul {{.*}} -> tensor<1x4x9xf32>
  // CHECK: nn.add {{.*}} -> tensor<1x4x9xf32>
  // CHECK: nn.reshape
  // CHECK: nn.relu {{.*}} -> tensor<1x4x9xf32>
  %c = nn.constant dense<2.0> : tensor<4x1xf32>
  %0 = nn.reshape %x : (!image) -> !line
  %1 = nn.mul %0, %c : (!line, tensor<4x1xf32>) -> !line
  %2 = nn.add %0, %z : (!line, !line) -> !line
  %3 = nn.reshape %p : (tensor<1x4x3x3xf32>) -> !line
  %4 = nn.relu %3 : (!line) -> !line
  return %1, %2, %4 : !line, !line, !line
}

// The outputs of a detector: boxes of images of several sizes, channels last.
!big = tensor<1x5x4x4xf32>
!small = tensor<1x5x2x2xf32>
// CHECK-LABEL: func.func @channels_last
func.func @channels_last(%x: !big, %z: !small) -> tensor<1x20x5xf32> {
  // CHECK-DAG: %[[X:.*]] = nn.reshape %arg0
  // CHECK-DAG: %[[Z:.*]] = nn.reshape %arg1
  // CHECK-DAG: %[[XT:.*]] = nn.transpose %[[X]] permutation [0, 2, 1] : (tensor<1x5x16xf32>) -> tensor<1x16x5xf32>
  // CHECK-DAG: %[[ZT:.*]] = nn.transpose %[[Z]] permutation [0, 2, 1] : (tensor<1x5x4xf32>) -> tensor<1x4x5xf32>
  // CHECK: %[[R:.*]] = nn.concat %[[XT]], %[[ZT]] axis 1
  // CHECK-NEXT: return %[[R]]
  %0 = nn.reshape %x : (!big) -> tensor<1x5x16xf32>
  %1 = nn.reshape %z : (!small) -> tensor<1x5x4xf32>
  %2 = nn.concat %0, %1 axis 2 : (tensor<1x5x16xf32>, tensor<1x5x4xf32>) -> tensor<1x5x20xf32>
  %3 = nn.transpose %2 permutation [0, 2, 1] : (tensor<1x5x20xf32>) -> tensor<1x20x5xf32>
  return %3 : tensor<1x20x5xf32>
}

// CHECK-LABEL: func.func @read_twice
func.func @read_twice(%x: !big, %z: !small) -> (tensor<1x20x5xf32>, tensor<1x5x20xf32>) {
  // CHECK: nn.concat {{.*}} axis 2
  // CHECK-NEXT: nn.transpose
  %0 = nn.reshape %x : (!big) -> tensor<1x5x16xf32>
  %1 = nn.reshape %z : (!small) -> tensor<1x5x4xf32>
  %2 = nn.concat %0, %1 axis 2 : (tensor<1x5x16xf32>, tensor<1x5x4xf32>) -> tensor<1x5x20xf32>
  %3 = nn.transpose %2 permutation [0, 2, 1] : (tensor<1x5x20xf32>) -> tensor<1x20x5xf32>
  return %3, %2 : tensor<1x20x5xf32>, tensor<1x5x20xf32>
}

// Convolutions over three dimensions: slices are images, one behind the other.
!volume = tensor<2x4x3x5x5xf32>
!slices = tensor<6x4x5x5xf32>
// CHECK-LABEL: func.func @volumes
// CHECK-SAME: (%[[X:.*]]: tensor<6x4x5x5xf32>, %[[Z:[^:]*]]:
func.func @volumes(%x: !slices, %z: !slices) -> !volume {
  // CHECK: %[[S:.*]] = nn.add %[[X]], %[[Z]]
  // CHECK: %[[N:.*]] = nn.batch_norm %[[S]]
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[N]] {{.*}} -> tensor<6x4x5x5xf32>
  // CHECK-NEXT: %[[I:.*]] = nn.reshape %[[R]] : {{.*}} -> tensor<2x3x4x25xf32>
  // CHECK-NEXT: %[[T:.*]] = nn.transpose %[[I]] permutation [0, 2, 1, 3]
  // CHECK-NEXT: %[[V:.*]] = nn.reshape %[[T]] : {{.*}} -> tensor<2x4x3x5x5xf32>
  // CHECK-NEXT: return %[[V]]
  %p = nn.constant dense<1.0> : tensor<4xf32>
  %0 = nn.reshape %x : (!slices) -> tensor<2x3x4x25xf32>
  %1 = nn.transpose %0 permutation [0, 2, 1, 3] : (tensor<2x3x4x25xf32>) -> tensor<2x4x3x25xf32>
  %2 = nn.reshape %1 : (tensor<2x4x3x25xf32>) -> !volume
  %3 = nn.reshape %z : (!slices) -> tensor<2x3x4x25xf32>
  %4 = nn.transpose %3 permutation [0, 2, 1, 3] : (tensor<2x3x4x25xf32>) -> tensor<2x4x3x25xf32>
  %5 = nn.reshape %4 : (tensor<2x4x3x25xf32>) -> !volume
  %6 = nn.add %2, %5 : (!volume, !volume) -> !volume
  %7 = nn.batch_norm %6, %p, %p, %p, %p : (!volume, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> !volume
  %8 = nn.relu %7 : (!volume) -> !volume
  return %8 : !volume
}

// Columns of a volume; a relation has results of another type.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x3x25xf32>)
func.func @columns(%x: tensor<2x4x3x25xf32>) -> tensor<2x4x3x5x5xi1> {
  // CHECK: %[[C:.*]] = nn.compare less %[[X]], {{.*}} -> tensor<2x4x3x25xi1>
  // CHECK-NEXT: nn.reshape %[[C]] : (tensor<2x4x3x25xi1>) -> tensor<2x4x3x5x5xi1>
  %c = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.reshape %x : (tensor<2x4x3x25xf32>) -> !volume
  %1 = nn.compare less %0, %c : (!volume, tensor<f32>) -> tensor<2x4x3x5x5xi1>
  return %1 : tensor<2x4x3x5x5xi1>
}

// Volumes that are broadcast: every element of a row with every other.
// CHECK-LABEL: func.func @pairs
func.func @pairs(%x: tensor<2x4x3x5xf32>) -> !volume {
  // CHECK: nn.sub {{.*}} (tensor<2x4x3x5x1xf32>, tensor<2x4x3x1x5xf32>) -> tensor<2x4x3x5x5xf32>
  %0 = nn.reshape %x : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5x1xf32>
  %1 = nn.reshape %x : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x1x5xf32>
  %2 = nn.sub %0, %1 : (tensor<2x4x3x5x1xf32>, tensor<2x4x3x1x5xf32>) -> !volume
  return %2 : !volume
}

// What something else reads stays where it is, and so do channels that are no image's.
// CHECK-LABEL: func.func @volumes_read_twice
func.func @volumes_read_twice(%x: tensor<2x4x3x25xf32>, %z: tensor<8x3x5x5xf32>) -> (!volume, !volume, !volume) {
  // CHECK: nn.relu {{.*}} -> tensor<2x4x3x5x5xf32>
  // CHECK: nn.tanh {{.*}} -> tensor<2x4x3x5x5xf32>
  %0 = nn.reshape %x : (tensor<2x4x3x25xf32>) -> !volume
  %1 = nn.relu %0 : (!volume) -> !volume
  %2 = nn.reshape %z : (tensor<8x3x5x5xf32>) -> !volume
  %3 = nn.tanh %2 : (!volume) -> !volume
  return %0, %1, %3 : !volume, !volume, !volume
}

// Two convolutions, one behind the other: slices are padded where they lie, and stay there.
// CHECK-LABEL: func.func @slices_stay
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4x25xf32>)
func.func @slices_stay(%x: tensor<2x3x4x25xf32>) -> tensor<2x6x2x2x25xf32> {
  // CHECK-NEXT: %[[P:.*]] = nn.pad %[[X]] low [0, 1, 0, 0] high [0, 2, 0, 0] value 3.000000e+00 : {{.*}} -> tensor<2x6x4x25xf32>
  // CHECK-NEXT: %[[R:.*]] = nn.reshape %[[P]] : {{.*}} -> tensor<2x6x2x2x25xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = nn.transpose %x permutation [0, 2, 1, 3] : (tensor<2x3x4x25xf32>) -> tensor<2x4x3x25xf32>
  %1 = nn.reshape %0 : (tensor<2x4x3x25xf32>) -> !volume
  %2 = nn.pad %1 low [0, 0, 1, 0, 0] high [0, 0, 2, 0, 0] value 3.0 : (!volume) -> tensor<2x4x6x5x5xf32>
  %3 = nn.reshape %2 : (tensor<2x4x6x5x5xf32>) -> tensor<2x2x2x6x25xf32>
  %4 = nn.transpose %3 permutation [0, 3, 1, 2, 4] : (tensor<2x2x2x6x25xf32>) -> tensor<2x6x2x2x25xf32>
  return %4 : tensor<2x6x2x2x25xf32>
}

// Rows are not slices, and neither are the elements of other dimensions.
// CHECK-LABEL: func.func @no_slices
func.func @no_slices(%x: tensor<2x3x4x25xf32>) -> (tensor<2x4x3x6x5xf32>, tensor<2x5x2x2x15xf32>) {
  // CHECK: nn.pad {{.*}} : (tensor<2x4x3x5x5xf32>)
  // CHECK: nn.transpose {{.*}} permutation [0, 3, 1, 2, 4]
  %0 = nn.transpose %x permutation [0, 2, 1, 3] : (tensor<2x3x4x25xf32>) -> tensor<2x4x3x25xf32>
  %1 = nn.reshape %0 : (tensor<2x4x3x25xf32>) -> !volume
  %2 = nn.pad %1 low [0, 0, 0, 1, 0] high [0, 0, 0, 0, 0] : (!volume) -> tensor<2x4x3x6x5xf32>
  %3 = nn.reshape %1 : (!volume) -> tensor<2x2x2x5x15xf32>
  %4 = nn.transpose %3 permutation [0, 3, 1, 2, 4] : (tensor<2x2x2x5x15xf32>) -> tensor<2x5x2x2x15xf32>
  return %2, %4 : tensor<2x4x3x6x5xf32>, tensor<2x5x2x2x15xf32>
}

// A sequence becomes an image: the transpose behind the reshape is of pixels. Other splits stay as they are.
// CHECK-LABEL: func.func @sequence_to_image
func.func @sequence_to_image(%x: tensor<2x15x8xf32>) -> (tensor<2x8x3x5xf32>, tensor<2x4x2x15xf32>) {
  // CHECK: %[[R:.*]] = nn.reshape %arg0 : (tensor<2x15x8xf32>) -> tensor<2x3x5x8xf32>
  // CHECK: %[[I:.*]] = nn.transpose %[[R]] permutation [0, 3, 1, 2] : (tensor<2x3x5x8xf32>) -> tensor<2x8x3x5xf32>
  // CHECK: %[[T:.*]] = nn.transpose %arg0 permutation [0, 2, 1]
  // CHECK: %[[H:.*]] = nn.reshape %[[T]] {{.*}} -> tensor<2x4x2x15xf32>
  // CHECK: return %[[I]], %[[H]]
  %a = nn.transpose %x permutation [0, 2, 1] : (tensor<2x15x8xf32>) -> tensor<2x8x15xf32>
  %i = nn.reshape %a : (tensor<2x8x15xf32>) -> tensor<2x8x3x5xf32>
  %b = nn.transpose %x permutation [0, 2, 1] : (tensor<2x15x8xf32>) -> tensor<2x8x15xf32>
  %h = nn.reshape %b : (tensor<2x8x15xf32>) -> tensor<2x4x2x15xf32>
  return %i, %h : tensor<2x8x3x5xf32>, tensor<2x4x2x15xf32>
}

// An activation moves in front of what moves a product's result; not where something else reads that.
// CHECK-LABEL: func.func @activation_behind_moves
func.func @activation_behind_moves(%x: tensor<2x15x8xf32>) -> (tensor<2x4x15xf32>, tensor<2x4x15xf32>, tensor<2x4x15xf32>) {
  // CHECK: %[[L:.*]] = nn.linear
  // CHECK: %[[G:.*]] = nn.gelu %[[L]] none : (tensor<2x15x4xf32>) -> tensor<2x15x4xf32>
  // CHECK: %[[M:.*]] = nn.mul %[[G]], %{{.*}} : (tensor<2x15x4xf32>, tensor<1xf32>) -> tensor<2x15x4xf32>
  // CHECK: %[[T:.*]] = nn.transpose %[[M]] permutation [0, 2, 1]
  // CHECK: %[[K:.*]] = nn.linear
  // CHECK: %[[U:.*]] = nn.transpose %[[K]]
  // CHECK: %[[R:.*]] = nn.relu %[[U]]
  // CHECK: return %[[T]], %[[U]], %[[R]]
  %w = nn.constant dense<0.5> : tensor<4x8xf32>
  %two = nn.constant dense<2.0> : tensor<1xf32>
  %l = nn.linear %x, %w : (tensor<2x15x8xf32>, tensor<4x8xf32>) -> tensor<2x15x4xf32>
  %t = nn.transpose %l permutation [0, 2, 1] : (tensor<2x15x4xf32>) -> tensor<2x4x15xf32>
  %g = nn.gelu %t none : (tensor<2x4x15xf32>) -> tensor<2x4x15xf32>
  %m = nn.mul %g, %two : (tensor<2x4x15xf32>, tensor<1xf32>) -> tensor<2x4x15xf32>
  %k = nn.linear %x, %w : (tensor<2x15x8xf32>, tensor<4x8xf32>) -> tensor<2x15x4xf32>
  %u = nn.transpose %k permutation [0, 2, 1] : (tensor<2x15x4xf32>) -> tensor<2x4x15xf32>
  %r = nn.relu %u : (tensor<2x4x15xf32>) -> tensor<2x4x15xf32>
  return %m, %u, %r : tensor<2x4x15xf32>, tensor<2x4x15xf32>, tensor<2x4x15xf32>
}

// A batch norm of rows, which are reshaped behind a linear layer: the layer reads them reshaped. Not where something else reads its result,
// nor where its columns are divided.
// CHECK-LABEL: func.func @batch_norm_of_rows
func.func @batch_norm_of_rows(%x: tensor<2x15x8xf32>) -> (tensor<30x4xf32>, tensor<60x2xf32>, tensor<2x15x4xf32>, tensor<30x4xf32>) {
  // CHECK: %[[R:.*]] = nn.reshape %arg0 : (tensor<2x15x8xf32>) -> tensor<30x8xf32>
  // CHECK: %[[L:.*]] = nn.linear %[[R]], %{{.*}} : (tensor<30x8xf32>, tensor<4x8xf32>) -> tensor<30x4xf32>
  // CHECK: %[[N:.*]] = nn.batch_norm %[[L]]
  // CHECK: %[[K:.*]] = nn.linear %arg0
  // CHECK: %[[P:.*]] = nn.reshape %[[K]] : (tensor<2x15x4xf32>) -> tensor<60x2xf32>
  // CHECK: %[[O:.*]] = nn.batch_norm %[[P]]
  // CHECK: %[[M:.*]] = nn.linear %arg0
  // CHECK: %[[Q:.*]] = nn.reshape %[[M]]
  // CHECK: %[[S:.*]] = nn.batch_norm %[[Q]]
  // CHECK: return %[[N]], %[[O]], %[[M]], %[[S]]
  %w = nn.constant dense<0.5> : tensor<4x8xf32>
  %c = nn.constant dense<2.0> : tensor<4xf32>
  %d = nn.constant dense<2.0> : tensor<2xf32>
  %l = nn.linear %x, %w : (tensor<2x15x8xf32>, tensor<4x8xf32>) -> tensor<2x15x4xf32>
  %r = nn.reshape %l : (tensor<2x15x4xf32>) -> tensor<30x4xf32>
  %n = nn.batch_norm %r, %c, %c, %c, %c epsilon 0.001 : (tensor<30x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<30x4xf32>
  %k = nn.linear %x, %w : (tensor<2x15x8xf32>, tensor<4x8xf32>) -> tensor<2x15x4xf32>
  %p = nn.reshape %k : (tensor<2x15x4xf32>) -> tensor<60x2xf32>
  %o = nn.batch_norm %p, %d, %d, %d, %d epsilon 0.001 : (tensor<60x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<60x2xf32>
  %m = nn.linear %x, %w : (tensor<2x15x8xf32>, tensor<4x8xf32>) -> tensor<2x15x4xf32>
  %q = nn.reshape %m : (tensor<2x15x4xf32>) -> tensor<30x4xf32>
  %s = nn.batch_norm %q, %c, %c, %c, %c epsilon 0.001 : (tensor<30x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<30x4xf32>
  return %n, %o, %m, %s : tensor<30x4xf32>, tensor<60x2xf32>, tensor<2x15x4xf32>, tensor<30x4xf32>
}

// Reasons why an operator stays float although a pattern matches it; in strict mode they are errors.
// RUN: octet-opt %s --split-input-file -o /dev/null \
// RUN:   --octet-explain='backend=%S/Inputs/strict.mlir qconfig-mapping=%S/Inputs/constants.mlir' | FileCheck %s
// RUN: octet-opt %s --split-input-file --verify-diagnostics -o /dev/null \
// RUN:   --octet-prepare='backend=%S/Inputs/strict.mlir qconfig-mapping=%S/Inputs/constants.mlir strict=true'

// CHECK: OCT203 the backend fixes the result to scale 0.00390625, zero point 0, but the QConfig does not
// CHECK: -> observe the result with #octet.fixed_qparams of scale 0.00390625, zero point 0

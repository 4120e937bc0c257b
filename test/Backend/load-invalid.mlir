// Files that cannot be used: what, where, and what would cure it.
// RUN: rm -rf %t && mkdir -p %t
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: echo 'octet.backend @b { octet.dtypes }' > %t/syntax.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/syntax.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: echo '' > %t/empty.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/empty.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: echo 'octet.backend @b { octet.recipe before_prepare "a" octet.recipe after_calibrate "b" }' > %t/contradiction.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/contradiction.mlir 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// RUN: echo 'octet.backend @mine {}' > %t/mine.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/mine.mlir --octet-prepare 2>&1 | FileCheck %s --check-prefix=UNMAPPED
// RUN: not octet-opt %s --octet-attach-policy='backend=cpu qconfig-mapping=%t/empty.mlir' 2>&1 | FileCheck %s --check-prefix=NO-MAPPING
// RUN: not octet-opt %s --octet-fuse 2>&1 | FileCheck %s --check-prefix=UNATTACHED
// RUN: not octet-opt %s --octet-prepare 2>&1 | FileCheck %s --check-prefix=UNATTACHED
// RUN: not octet-opt %s --octet-explain 2>&1 | FileCheck %s --check-prefix=UNATTACHED
// RUN: not octet-opt %s --octet-convert 2>&1 | FileCheck %s --check-prefix=UNATTACHED
// RUN: cat %t/mine.mlir %S/../Quantize/Inputs/constants.mlir > %t/both.mlir
// RUN: octet-opt %s --octet-attach-policy=backend=%t/both.mlir --octet-prepare | FileCheck %s --check-prefix=BOTH
// One message for a mistake, with what would be right.
// RUN: echo 'octet.qconfig_mapping @m { octet.global #octet.qconfig<activation = #octet.maxmin<dtype = ui8>> }' > %t/observer.mlir
// RUN: sed 's/maxmin/histogrm/' %t/observer.mlir > %t/misspelt.mlir
// RUN: not octet-opt %s --octet-attach-policy='backend=cpu qconfig-mapping=%t/misspelt.mlir' 2>&1 | FileCheck %s --check-prefix=MISSPELT
// RUN: not octet-opt %s --octet-attach-policy='backend=cpu qconfig-mapping=%t/observer.mlir' 2>&1 | FileCheck %s --check-prefix=OBSERVER
// RUN: echo 'octet.qconfig_mapping @m { octet.globl none }' > %t/entry.mlir
// RUN: not octet-opt %s --octet-attach-policy='backend=cpu qconfig-mapping=%t/entry.mlir' 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: echo 'octet.backend @b { octet.dtypes @d input = <u8> }' > %t/type.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/type.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: echo 'octet.backend @b { octet.pattern @p dtypes = [] { %%y = octet.match "nn.relu"() octet.yield %%y : none } }' > %t/list.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/list.mlir 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: echo 'octet.backend @b { octet.pattern @p dtypes = [] observation = sometimes { } }' > %t/kind.mlir
// RUN: not octet-opt %s --octet-attach-policy=backend=%t/kind.mlir 2>&1 | FileCheck %s --check-prefix=KIND

// OBSERVER: observer.mlir:1:{{[0-9]+}}: error: unknown attribute `maxmin` in dialect `octet`; observers are min_max, {{.*}}histogram
// MISSPELT: misspelt.mlir:1:{{[0-9]+}}: error: unknown attribute `histogrm` in dialect `octet`; the nearest names are "histogram"
// OBSERVER-NOT: error:
// ENTRY: entry.mlir:1:{{[0-9]+}}: error: custom op 'octet.globl' is unknown; the nearest names are "octet.global"
// ENTRY-NOT: error:
// TYPE: type.mlir:1:{{[0-9]+}}: error: expected non-function type; types are written ui8, si8, si32, f16 or f32
// TYPE-NOT: error:
// LIST: list.mlir:1:{{[0-9]+}}: error: {{.*}}invalid kind of attribute specified; write names as a list: ["nn.relu"]
// LIST-NOT: error:
// KIND: kind.mlir:1:{{[0-9]+}}: error: {{.*}}one of the following enum values for attribute 'observation' [different, shared, none]
// KIND-NOT: error:

// MISSING: error: cannot read backend '{{.*}}missing.mlir': No such file or directory
// MISSING: note: expected a file, or a built-in name: cpu, cpu_default_mapping
// SYNTAX: syntax.mlir:1:{{[0-9]+}}: error: custom op 'octet.dtypes' expected valid '@'-identifier for symbol name
// EMPTY: error: expected one 'octet.backend' in a backend file, but got 0
// CONTRADICTION: contradiction.mlir:1:1: error: 'octet.backend' op expected at most one 'octet.recipe'
// UNATTACHED: error: expected one 'octet.backend' in the module, but got 0; octet-attach-policy puts it there
// UNMAPPED: error: expected one 'octet.qconfig_mapping' in the module, but got 0; octet-attach-policy with a qconfig-mapping puts it there
// NO-MAPPING: error: expected one 'octet.qconfig_mapping' in the file, but got 0
// BOTH: func @f
func.func @f() {
  return
}

// Names from a policy's file stand in messages on one line, quoted and shortened.
// RUN: split-file %s %t
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/includes.mlir 2>&1 | FileCheck %s --check-prefix=INCLUDES
// INCLUDES: error: cannot read QConfig mapping '{{.*}}no\x1B[2J\x0Afile': No such file or directory
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/operator.mlir 2>&1 | FileCheck %s --check-prefix=OPERATOR
// OPERATOR: error: names the operator "nn.no\x0A\"", which its dialect does not have
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/entry.mlir --octet-prepare -o %t/attached.mlir 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: warning: the QConfig mapping's entry for "\x0A{{x+}}...(26 more)...{{x+}}" applies to no operator
// RUN: not octet-opt %t/attached.mlir --octet-attach-policy=qconfig-mapping=cpu_default_mapping 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: the network was begun with octet.qconfig_mapping @m\x0A and cannot go on with @cpu_default from
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/symbol.mlir 2>&1 | FileCheck %s --check-prefix=SYMBOL
// SYMBOL: error: the policy @b\x0A cannot be put into the module, which has a symbol of this name
// RUN: not octet-opt %t/network.mlir --octet-attach-policy=backend=%t/recipe.mlir --octet-run-recipe 2>&1 | FileCheck %s --check-prefix=RECIPE
// RECIPE: error: 'octet.recipe' op expected passes that are built in or loaded as a plugin in 'before_prepare', but 'no\x1B[2J' does not refer to a registered pass

//--- network.mlir
func.func private @"b\0A"()

//--- includes.mlir
octet.qconfig_mapping @m includes "no\1B[2J\0Afile" { octet.global none }

//--- operator.mlir
octet.qconfig_mapping @m { octet.object_type "nn.no\0A\22" none }

//--- entry.mlir
octet.qconfig_mapping @"m\0A" { octet.module_name "\0Axxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" none }

//--- symbol.mlir
octet.backend @"b\0A" {}
octet.qconfig_mapping @m { octet.global none }

//--- recipe.mlir
octet.backend @b { octet.recipe before_prepare "no\1B[2J" }

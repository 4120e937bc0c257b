//===- CollectTest.cpp - from codegen's modules to what is emitted ----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "octet/Dialect/Octet/Octet.h"

using namespace llvm;
using namespace octet;
using namespace octet::test;

namespace {

TEST(Collect, TranslatesLLVMDialect) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::LLVM::LLVMDialect>();
  registerEmitTranslations(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
llvm.func @f(%y: !llvm.ptr, %begin: i64, %end: i64) attributes {target_features = #llvm.target_features<["+avx2"]>} {
  %value = llvm.mlir.constant(42.0 : f32) : f32
  llvm.store %value, %y : f32, !llvm.ptr
  llvm.return
})",
                                                        &context);
  ASSERT_TRUE(module);
  auto code = translateLevel(*module);
  ASSERT_TRUE(bool(code)) << toString(code.takeError());
  ProgramInfo info;
  info.name = "answer";
  info.outputs = {{"y", OCTET_F32, {1}, 0, 0}};
  std::vector<LevelCode> levels(1);
  levels[0].level = "reference";
  levels[0].steps = {{"f", 1, "answer", {{OCTET_OUTPUT, 0}}}};
  levels[0].code = std::move(*code);
  auto bytes =
      emitProgram(info, std::move(levels), with(OutputKind::SharedLibrary, getHostTriple()));
  ASSERT_TRUE(bool(bytes)) << toString(bytes.takeError());
  auto library = cantFail(ModelLibrary::loadBytes(*bytes));
  ModelPtr model = cantFail(createModel(*library));
  float y = 0;
  void *outputs[] = {&y};
  const void *inputs[] = {nullptr};
  EXPECT_EQ(library->api().run(model.get(), inputs, outputs), 0);
  EXPECT_EQ(y, 42);
}

/// A context that reads what Codegen leaves.
struct CodegenContext {
  CodegenContext() : context(makeRegistry()) {}
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::LLVM::LLVMDialect, mlir::quant::QuantDialect, OctetDialect,
                    kernel::KernelDialect>();
    registerEmitTranslations(registry);
    return registry;
  }
  Expected<CollectedNetwork> collect(StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return createStringError("does not parse");
    return collectNetwork(*module, "net");
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST(Collect, TakesWhatCodegenLeaves) {
  CodegenContext codegen;
  auto network = codegen.collect(R"(
module @sse2 {
  kernel.program @main level "sse2" arena 64 state 16 prepared 192 inputs [#kernel.tensor<"x", tensor<1x3x!quant.uniform<u8:f32, 0.5:128>>>]
      outputs [#kernel.tensor<"y", tensor<2xf32>>] weights dense<7> : tensor<4xi8> prologue {
    kernel.step @pack [#kernel.arg<weights 0>, #kernel.arg<prepared 64>] bounds [5] range 2
  } {
    kernel.step @dense [#kernel.arg<arena 64>, #kernel.arg<output 0>] bounds [7] range 3 {octet.origin = #octet.origin<"conv1">}
    kernel.step @dense [#kernel.arg<input 0>, #kernel.arg<prepared 128>] bounds [8] range 1
  }
  llvm.func @dense(%x: !llvm.ptr, %y: !llvm.ptr, %a: i64, %begin: i64, %end: i64) { llvm.return }
  llvm.func @pack(%x: !llvm.ptr, %y: !llvm.ptr, %a: i64, %begin: i64, %end: i64) { llvm.return }
}
module @reference {
  kernel.program @main level "reference" arena 64 state 16 prepared 0 inputs [] outputs [] {}
})");
  ASSERT_TRUE(bool(network)) << toString(network.takeError());
  const ProgramInfo &program = network->program;
  EXPECT_EQ(program.arenaBytes, 64);
  EXPECT_EQ(program.stateBytes, 16);
  EXPECT_EQ(program.weights, ArrayRef<char>({7, 7, 7, 7}));
  EXPECT_EQ(program.inputs[0].name, "x");
  EXPECT_EQ(program.inputs[0].dtype, OCTET_U8);
  EXPECT_EQ(program.inputs[0].scale, 0.5f);
  EXPECT_EQ(program.inputs[0].zeroPoint, 128);
  EXPECT_EQ(program.outputs[0].shape, std::vector<int64_t>{2});
  ASSERT_EQ(network->levels.size(), 2u);
  EXPECT_EQ(network->levels[1].level, "reference");
  ASSERT_EQ(network->levels[0].steps.size(), 2u);
  EXPECT_EQ(network->levels[0].steps[0].name, "conv1");
  EXPECT_EQ(network->levels[0].steps[0].range, 3);
  EXPECT_EQ(network->levels[0].steps[0].addresses[0].space, OCTET_ARENA);
  EXPECT_EQ(network->levels[0].steps[0].addresses[0].offset, 64);
  EXPECT_EQ(network->levels[0].steps[0].bounds, std::vector<int64_t>{7});
  EXPECT_EQ(network->levels[0].steps[1].name, "dense");
  EXPECT_EQ(network->levels[0].steps[1].addresses[1].space, OCTET_PREPARED);
  EXPECT_EQ(network->levels[0].preparedBytes, 192);
  StepInfo pack{"pack", 2, "pack", {{OCTET_WEIGHTS, 0}, {OCTET_PREPARED, 64}}, {5}};
  EXPECT_TRUE(network->levels[0].prologue == std::vector<StepInfo>{pack});
  EXPECT_TRUE(network->levels[1].prologue.empty());
  auto object = emitProgram(program, std::move(network->levels), with(OutputKind::Object));
  EXPECT_TRUE(bool(object)) << toString(object.takeError());
}

TEST(Collect, TakesNothingElse) {
  CodegenContext codegen;
  EXPECT_EQ(getError(codegen.collect("module {}")),
            "expected a nested module with a kernel.program for each CPU level, but got none");
  EXPECT_EQ(getError(codegen.collect(R"(module { module {
    kernel.program @main level "sse2" arena 0 state 0 prepared 0 inputs [#kernel.tensor<"x\0A", tensor<1xui64>>] outputs [] {}
  } })")),
            "'x\\x0A': a network cannot take or give a tensor<1xui64>");
  EXPECT_EQ(getError(codegen.collect(R"(module { module {
    kernel.program @main level "sse2" arena 0 state 0 prepared 0 inputs [#kernel.tensor<"x", tensor<1x2x!quant.uniform<u8:f32:1, {0.5, 0.25}>>>] outputs [] {}
  } })")),
            "'x': a network cannot take or give a tensor<1x2x!quant.uniform<u8:f32:1, "
            "{5.000000e-01,2.500000e-01}>>");
}

} // namespace

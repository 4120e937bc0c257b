//===- PreparedWeights.cpp - what a model makes of weights ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparedWeights.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Emit/Emit.h"
#include "octet/Pipelines/Library.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace octet;
using namespace octet::test;
using codegen::KernelArgument;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerOctetDialects(registry);
  registerEmitTranslations(registry);
  return registry;
}

PreparedWeights::PreparedWeights(StringRef levelName) : context(makeRegistry()) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect, memref::MemRefDialect, nn::NNDialect,
                      scf::SCFDialect, kernel::KernelDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto level = ModuleOp::create(builder, loc, "reference");
  builder.setInsertionPointToEnd(level.getBody());
  ArrayAttr none = builder.getArrayAttr({});
  program = kernel::ProgramOp::create(builder, loc, "main", "reference", 0, 0, 0, none, none,
                                      ElementsAttr(), DictionaryAttr());
  program.getBody().emplaceBlock();
  emitter = std::make_unique<codegen::ProgramEmitter>(level, pool, *lookupCpuLevel(levelName),
                                                      codegen::Merging::byRow);
  emitter->beginProgram(program, plan);
}

nn::ConstantOp PreparedWeights::addConstant(ArrayRef<int64_t> shape, ArrayRef<int8_t> values) {
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  return nn::createConstant<int8_t>(builder, builder.getUnknownLoc(), "weights",
                                    RankedTensorType::get(shape, builder.getI8Type()), values);
}

KernelArgument PreparedWeights::addWeights(ArrayRef<int8_t> values) {
  emitter->getWeights<int8_t>("before", [] { return std::vector<int8_t>(4, 99); });
  return emitter->getWeights<int8_t>("weights", [&] { return values.vec(); });
}

void PreparedWeights::makeModel() {
  codegen::emitPrologues(emitter->getPrologue());
  ArrayRef<char> bytes = pool.bytes();
  program.setWeightsAttr(DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get({(int64_t)bytes.size()}, IntegerType::get(&context, 8)), bytes));
  PassManager pm(&context);
  buildLevelPipeline(pm);
  if (failed(pm.run(*module)))
    llvm::report_fatal_error("the prologue cannot be lowered");
  CollectedNetwork network = llvm::cantFail(collectNetwork(*module, "net"));
  EmitOptions options;
  options.triple = getHostTriple();
  library = llvm::cantFail(ModelLibrary::loadBytes(
      llvm::cantFail(emitProgram(network.program, std::move(network.levels), options))));
  model = llvm::cantFail(createModel(*library));
}

StringRef PreparedWeights::read(KernelArgument argument) {
  if (!model)
    makeModel();
  const octet_frame &frame = *library->api().frame(model.get());
  bool isPrepared = argument.address.getSpace() == kernel::Space::prepared;
  auto *memory = static_cast<const char *>(isPrepared ? frame.prepared : frame.weights);
  return {memory + argument.address.getOffset(),
          size_t(argument.type.getNumElements() * argument.type.getElementTypeBitWidth() / 8)};
}

//===- TestNetwork.cpp - a network written in LLVM IR -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace octet;
using namespace octet::test;

std::string octet::test::makeKernel(StringRef name, StringRef parameters, StringRef body,
                                    StringRef attributes) {
  return ("define void @" + name + "(" + parameters + ", i64 %begin, i64 %end) " + attributes +
          " {\n  br label %loop\nloop:\n  %i = phi i64 [ %begin, %0 ], [ %next, %loop ]\n" + body +
          R"(
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
)")
      .str();
}

/// @double: arena[i] = %factor x[i]; @add: y[i] = arena[i] + w[i].
static std::string makeNetworkAssembly() {
  std::string twice = makeKernel("double", "ptr %x, ptr %arena, i64 %factor", R"(
  %times = sitofp i64 %factor to float
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from
  %twice = fmul float %value, %times
  %to = getelementptr float, ptr %arena, i64 %i
  store float %twice, ptr %to)",
                                 "#0");
  std::string add = makeKernel("add", "ptr %arena, ptr %weights, ptr %y", R"(
  %a.at = getelementptr float, ptr %arena, i64 %i
  %a = load float, ptr %a.at
  %w.at = getelementptr float, ptr %weights, i64 %i
  %w = load float, ptr %w.at
  %sum = call float @sum(float %a, float %w)
  %to = getelementptr float, ptr %y, i64 %i
  store float %sum, ptr %to)",
                               "#0");
  return twice + add + R"(
define float @sum(float %a, float %b) #0 {
  %sum = fadd float %a, %b
  ret float %sum
}
)";
}

EmitOptions octet::test::with(OutputKind kind, StringRef triple, unsigned parallelism) {
  EmitOptions options;
  options.kind = kind;
  options.triple = triple.str();
  options.parallelism = parallelism;
  return options;
}

OwnedModule octet::test::parseModule(StringRef assembly) {
  auto context = std::make_unique<LLVMContext>();
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseAssemblyString(assembly, diagnostic, *context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << " in line " << diagnostic.getLineNo();
  return OwnedModule(std::move(context), std::move(module));
}

TestNetwork::TestNetwork(StringRef name, float slope) {
  for (int64_t i = 0; i < size; ++i)
    weights.push_back(i * slope);
  info.name = name.str();
  info.arenaBytes = size * sizeof(float);
  info.stateBytes = 16;
  info.weights = ArrayRef<char>(reinterpret_cast<const char *>(weights.data()),
                                weights.size() * sizeof(float));
  info.inputs = {{"x", OCTET_F32, {1, size}, 0, 0}};
  info.outputs = {{"y", OCTET_F32, {1, size}, 0, 0}};
  info.reportJson = "{}";
}

TestNetwork &TestNetwork::level(StringRef name, StringRef features) {
  std::string attributes = "attributes #0 = { nounwind ";
  if (!features.empty())
    attributes += "\"target-features\"=\"" + features.str() + "\" ";
  return level(name, makeNetworkAssembly() + attributes + "}\n",
               {{"double", size, "double/x", {{OCTET_INPUT, 0}, {OCTET_ARENA, 0}}, {2}},
                {"add", size, "add/y", {{OCTET_ARENA, 0}, {OCTET_WEIGHTS, 0}, {OCTET_OUTPUT, 0}}}});
}

TestNetwork &TestNetwork::level(StringRef name, StringRef assembly, std::vector<StepInfo> steps) {
  LevelCode level;
  level.level = name.str();
  level.steps = std::move(steps);
  level.code = parseModule(assembly);
  levels.push_back(std::move(level));
  return *this;
}

TestNetwork &TestNetwork::prologue(std::vector<StepInfo> steps, int64_t preparedBytes) {
  levels.back().prologue = std::move(steps);
  levels.back().preparedBytes = preparedBytes;
  return *this;
}

TestNetwork &TestNetwork::bucket(int64_t smallerSize) {
  info.smallerBuckets.push_back(
      {{{"x", OCTET_F32, {1, smallerSize}, 0, 0}}, {{"y", OCTET_F32, {1, smallerSize}, 0, 0}}});
  for (LevelCode &level : levels) {
    size_t last = level.countSteps(level.stepsOfBuckets.size());
    std::vector<StepInfo> steps(level.steps.end() - last, level.steps.end());
    for (StepInfo &step : steps)
      step.range = smallerSize;
    level.stepsOfBuckets.push_back(last);
    append_range(level.steps, std::move(steps));
  }
  return *this;
}

Expected<SmallVector<char, 0>> TestNetwork::emit(const EmitOptions &options, int64_t *bucketBytes,
                                                 function_ref<void()> onWeightsStored) {
  return emitProgram(info, std::move(levels), options, bucketBytes, onWeightsStored);
}

SmallVector<char, 0> TestNetwork::emitOrFail(const EmitOptions &options) {
  auto bytes = emit(options);
  if (bytes)
    return std::move(*bytes);
  ADD_FAILURE() << toString(bytes.takeError());
  return {};
}

std::unique_ptr<ModelLibrary> TestNetwork::load() {
  EmitOptions options;
  options.triple = getHostTriple();
  auto library = ModelLibrary::loadBytes(emitOrFail(options));
  if (library)
    return std::move(*library);
  ADD_FAILURE() << toString(library.takeError());
  return nullptr;
}

ModelPtr test::create(const ModelLibrary &library, int threads, StringRef level) {
  auto model = createModel(library, threads, level);
  if (model)
    return std::move(*model);
  ADD_FAILURE() << toString(model.takeError());
  return nullptr;
}

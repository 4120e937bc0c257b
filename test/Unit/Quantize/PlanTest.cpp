//===- PlanTest.cpp - plans are made once ---------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Quantize/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Quantize/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace octet;

namespace {
constexpr char kNetwork[] = R"mlir(
  func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
    %w = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %y = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    return %y : tensor<1x2xf32>
  }
)mlir";

/// Two layers read the input, each with its kind of observer.
constexpr char kTwoReaders[] = R"mlir(
  #weight = #octet.min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>
  octet.qconfig_mapping @m {
    octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #weight>
    octet.module_name "b" #octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #weight>
  }
  func.func @main(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
    %w = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %a = nn.linear %x, %w {octet.origin = #octet.origin<"a">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %b = nn.linear %x, %w {octet.origin = #octet.origin<"b">} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    return %a, %b : tensor<1x2xf32>, tensor<1x2xf32>
  }
)mlir";

/// The plans that a pass at this place finds made already.
struct FindPlans : PassWrapper<FindPlans, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FindPlans)
  explicit FindPlans(const std::vector<Plan> *&found) : found(found) {}
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto analysis = getCachedAnalysis<PlanAnalysis>();
    found = analysis ? analysis->get().getPlans(/*quantizedOutputs=*/false) : nullptr;
  }
  const std::vector<Plan> *&found;
};

class PlanOfModule : public testing::Test {
protected:
  explicit PlanOfModule(llvm::StringRef text = kNetwork) {
    context.loadDialect<func::FuncDialect, quant::QuantDialect, nn::NNDialect, OctetDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(succeeded(attachPolicy(*module, /*backend=*/"", /*qconfigMapping=*/"")));
  }

  static std::unique_ptr<Pass> createExplain() {
    ExplainPassOptions options;
    options.output = "/dev/null";
    return createExplainPass(options);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(PlanOfModule, IsKeptPerChoiceOfOutputs) {
  ModuleAnalysisManager manager(*module, /*passInstrumentor=*/nullptr);
  auto &analysis = AnalysisManager(manager).getAnalysis<PlanAnalysis>();
  const std::vector<Plan> *plans = analysis.getPlans(/*quantizedOutputs=*/false),
                          *others = analysis.getPlans(/*quantizedOutputs=*/true);
  ASSERT_TRUE(plans && others && plans->size() == 1 && others->size() == 1);
  EXPECT_EQ(analysis.getPlans(/*quantizedOutputs=*/false), plans);
  EXPECT_EQ(plans->front().decisions[0].verdict, Verdict::FloatResult);
  EXPECT_EQ(others->front().decisions[0].verdict, Verdict::Quantized);
}

class PlanOfTwoReaders : public PlanOfModule {
protected:
  PlanOfTwoReaders() : PlanOfModule(kTwoReaders) {}
};

TEST_F(PlanOfTwoReaders, HasASecondPointOfTheirInput) {
  ModuleAnalysisManager manager(*module, /*passInstrumentor=*/nullptr);
  const std::vector<Plan> *plans =
      AnalysisManager(manager).getAnalysis<PlanAnalysis>().getPlans(/*quantizedOutputs=*/false);
  ASSERT_TRUE(plans && plans->front().observed.size() == 2);
  const ObservedSet &first = plans->front().observed[0], &second = plans->front().observed[1];
  ASSERT_TRUE(first.points.size() == 1 && second.points.size() == 1);
  EXPECT_FALSE(first.points[0].isSecond);
  EXPECT_TRUE(second.points[0].isSecond);
  EXPECT_EQ(first.points[0].value, second.points[0].value);
  EXPECT_TRUE(isa<HistogramObserverAttr>(second.observer));
  const Decision &reader = plans->front().decisions[1];
  ASSERT_EQ(second.points[0].readers.size(), 1u);
  EXPECT_EQ(second.points[0].readers[0]->getOwner(), reader.op);
}

TEST_F(PlanOfModule, OfExplainIsThereForPrepareAndGoneBehindIt) {
  const std::vector<Plan> *before = nullptr, *between = nullptr, *again = nullptr, *behind = before;
  PassManager pm(&context);
  pm.addPass(std::make_unique<FindPlans>(before));
  pm.addPass(createExplain());
  pm.addPass(std::make_unique<FindPlans>(between));
  pm.addPass(createExplain());
  pm.addPass(std::make_unique<FindPlans>(again));
  pm.addPass(createPreparePass());
  pm.addPass(std::make_unique<FindPlans>(behind));
  ASSERT_TRUE(succeeded(pm.run(*module)));
  EXPECT_EQ(before, nullptr);
  EXPECT_NE(between, nullptr);
  EXPECT_EQ(again, between);
  EXPECT_EQ(behind, nullptr);
}

TEST_F(PlanOfModule, IsGoneBehindAPassThatFuses) {
  const std::vector<Plan> *between = nullptr, *behind = nullptr;
  PassManager pm(&context);
  pm.addPass(createExplain());
  pm.addPass(std::make_unique<FindPlans>(between));
  pm.addPass(createFusePass());
  pm.addPass(std::make_unique<FindPlans>(behind));
  ASSERT_TRUE(succeeded(pm.run(*module)));
  EXPECT_NE(between, nullptr);
  EXPECT_EQ(behind, nullptr);
}
} // namespace

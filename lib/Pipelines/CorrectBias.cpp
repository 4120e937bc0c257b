//===- CorrectBias.cpp - mean errors of quantization go into the biases ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.bias_correction] Two copies of the calibrated network run on the same samples: the float one, and the reference model that
// octet-convert makes of it, in which a correction (a further input) is added behind every weighted operator. Both
// sum the results of those operators per channel, exactly. The reference model runs step by step, all samples abreast: when
// every sample has reached a layer, its error is known, with all layers before it corrected already, and its
// correction is set before any sample goes on.
//
//===----------------------------------------------------------------------===//

#include "Calibrate.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Backend/Backend.h"
#include "octet/Codegen/Codegen.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Names.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/Passes.h"

namespace octet {
#define GEN_PASS_DEF_CORRECTBIASPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

/// Samples in use, all of them in memory at once with everything that is computed from them: calibration with thousands
/// takes no more memory than with fifty.
static constexpr size_t kMaxSamples = 50, kMinSamples = 4;
static constexpr int64_t kMaxBytes = int64_t(256) << 20;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// A convolution or linear layer that runs quantized: the unit that stands in the function, and the operator in it.
struct Layer {
  Unit unit;
  Operation *weighted;
  std::string name; ///< of its own, so that the operator is known again in a converted copy
};

/// A prefix that no operator's name has.
static std::string chooseLayerPrefix(ModuleOp module) {
  std::string prefix = "octet.layer";
  auto isTaken = [&](Operation *op) {
    return getSourceName(op->getLoc()).starts_with(prefix) ? WalkResult::interrupt() : WalkResult::advance();
  };
  while (module.walk(isTaken).wasInterrupted())
    prefix += '_';
  return prefix;
}

static SmallVector<Layer, 0> findLayers(ModuleOp module, const Backend &backend) {
  SmallVector<Layer, 0> layers;
  std::string prefix = chooseLayerPrefix(module);
  for (Operation &op : module.lookupSymbol<func::FuncOp>("main").getBody().front()) {
    std::optional<Unit> unit = backend.matchUnit(&op);
    OpOperand *weight = unit ? unit->getOperand<WeightOp>() : nullptr;
    if (!weight || !weight->get().getDefiningOp<ObserveOp>())
      continue;
    for (auto [leaf, operand] : unit->match.leaves)
      if (isa<WeightOp>(leaf)) {
        layers.push_back({*unit, operand->getOwner(), prefix + std::to_string(layers.size())});
        break;
      }
  }
  return layers;
}

static int64_t getChannelAxis(Operation *weighted) {
  auto type = cast<RankedTensorType>(weighted->getResult(0).getType());
  return isa<nn::LinearOp>(weighted) ? type.getRank() - 1 : 1;
}

static int64_t getNumChannels(Operation *weighted) {
  return cast<RankedTensorType>(weighted->getResult(0).getType()).getDimSize(getChannelAxis(weighted));
}

//===----------------------------------------------------------------------===//
// Instrumentation
//===----------------------------------------------------------------------===//

/// What the step that sums a layer's results is called; no other step has this name.
static std::string getStepName(StringRef layer) { return (layer + ".sum").str(); }

/// Sums the results of `weighted` per channel, under its name.
static ObserveOp observeLayer(ModuleOp module, Operation *weighted) {
  StringRef name = getSourceName(weighted->getLoc());
  auto moduleBuilder = OpBuilder::atBlockBegin(module.getBody());
  auto sums = ChannelSumObserverAttr::get(module.getContext(), getChannelAxis(weighted));
  auto observer = ObserverOp::create(moduleBuilder, weighted->getLoc(), moduleBuilder.getStringAttr(name), sums, nullptr);
  OpBuilder builder(weighted->getContext());
  builder.setInsertionPointAfter(weighted);
  Value result = weighted->getResult(0);
  Location loc = NameLoc::get(builder.getStringAttr(getStepName(name)));
  auto op = ObserveOp::create(builder, loc, result.getType(), result, FlatSymbolRefAttr::get(observer));
  result.replaceAllUsesExcept(op.getResult(), op);
  return op;
}

/// Adds a further input of the network behind the observed result.
static void addCorrection(func::FuncOp function, ObserveOp op, Operation *weighted) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[getChannelAxis(weighted)] = getNumChannels(weighted);
  unsigned index = function.getNumArguments();
  OpBuilder builder(function.getContext());
  auto name = builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(getSourceName(op.getLoc())));
  (void)function.insertArgument(index, type.clone(shape), builder.getDictionaryAttr(name), op.getLoc());
  builder.setInsertionPointAfter(op);
  auto sum = nn::AddOp::create(builder, op.getLoc(), type, op.getResult(), function.getArgument(index));
  op.getResult().replaceAllUsesExcept(sum.getResult(), sum);
}

static void eraseObserves(ModuleOp module) {
  module.walk([](ObserveOp op) {
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

static LogicalResult inlineGroups(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createInlineGroupsPass());
  return pm.run(module);
}

enum class Copy { Float, Reference };

/// Compiles a copy of the calibrated network that measures its layers.
static llvm::Expected<LoadedNetwork> makeInstrument(ModuleOp calibrated, StringRef backend, ArrayRef<Layer> layers, Copy kind) {
  OwningOpRef<ModuleOp> copy(calibrated.clone());
  auto failed = [] { return llvm::createStringError("the biases cannot be corrected"); };
  if (kind == Copy::Float) {
    eraseObserves(*copy);
  } else {
    // What octet-convert warns of it says of the network itself, too.
    ScopedDiagnosticHandler handler(copy->getContext(), [](Diagnostic &diagnostic) {
      return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning);
    });
    PassManager pm(copy->getContext());
    pm.addPass(createConvertPass(ConvertPassOptions{backend.str()}));
    if (mlir::failed(pm.run(*copy)))
      return failed();
  }
  if (mlir::failed(inlineGroups(*copy)))
    return failed();
  llvm::StringMap<Operation *> weighted;
  for (const Layer &layer : layers)
    weighted[layer.name] = nullptr;
  auto function = copy->lookupSymbol<func::FuncOp>("main");
  function.walk([&](Operation *op) {
    auto it = weighted.find(getSourceName(op->getLoc()));
    if (it != weighted.end() && !it->second && op->getNumResults() == 1 && op->getDialect()->getNamespace() == "nn")
      it->second = op;
  });
  for (const Layer &layer : layers) {
    ObserveOp op = observeLayer(*copy, weighted.lookup(layer.name));
    if (kind == Copy::Reference)
      addCorrection(function, op, weighted.lookup(layer.name));
  }
  return loadFloatNetwork(*copy);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {
/// One sample on its way through a network, in a model of its own.
struct Run {
  ModelPtr model;
  std::vector<std::vector<char>> outputs;
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;

  Run(ModelPtr model, const octet_descriptor &descriptor, const SampleCopy &inputs, ArrayRef<std::vector<float>> corrections)
      : model(std::move(model)) {
    for (const std::vector<char> &input : inputs)
      inputPointers.push_back(input.data());
    for (const std::vector<float> &correction : corrections)
      inputPointers.push_back(correction.data());
    for (int32_t i = 0; i < descriptor.num_outputs; ++i)
      outputPointers.push_back(outputs.emplace_back(descriptor.outputs[i].bytes).data());
  }
};

/// Runs a network on all samples at once, layer by layer.
class Abreast {
public:
  /// `samples` and `corrections` are read by each run.
  static llvm::Expected<Abreast> create(const LoadedNetwork &network, ArrayRef<SampleCopy> samples,
                                        ArrayRef<std::vector<float>> corrections) {
    Abreast abreast(network);
    for (const SampleCopy &inputs : samples) {
      llvm::Expected<ModelPtr> model = createModel(*network.library);
      if (!model)
        return model.takeError();
      abreast.runs.emplace_back(std::move(*model), network.library->descriptor(), inputs, corrections);
    }
    return abreast;
  }

  /// Goes on until every sample has passed a layer; then the sums of its channels, in units of 2^-24. The layers must be
  /// asked for in the order of the program.
  llvm::Expected<std::vector<int64_t>> runTo(StringRef layer, int64_t numChannels) {
    const octet_program &program = *api().program(runs.front().model.get());
    int64_t end = next;
    while (end < program.count && program.steps[end].name != getStepName(layer))
      ++end;
    if (end == program.count)
      return llvm::createStringError("the biases cannot be corrected: the compiled network lacks step '" + getStepName(layer) + "'");
    std::vector<int64_t> sums(numChannels);
    for (Run &run : runs) {
      api().run_steps(run.model.get(), run.inputPointers.data(), run.outputPointers.data(), next, end + 1);
      auto *state = static_cast<const char *>(api().frame(run.model.get())->state);
      auto *own = reinterpret_cast<const int64_t *>(state + network->observers.lookup(layer));
      for (auto [sum, value] : llvm::zip_equal(sums, ArrayRef<int64_t>(own, numChannels)))
        sum += value;
    }
    next = end + 1;
    return sums;
  }

private:
  explicit Abreast(const LoadedNetwork &network) : network(&network) {}
  const octet_model_api &api() const { return network->library->api(); }

  const LoadedNetwork *network;
  std::vector<Run> runs;
  int64_t next = 0;
};
} // namespace

/// How many samples' runs of both networks fit into memory.
static size_t getNumSamples(const octet_descriptor &a, const octet_descriptor &b) {
  int64_t bytes = std::max(a.arena_bytes, b.arena_bytes);
  for (int32_t i = 0; i < a.num_inputs; ++i)
    bytes += a.inputs[i].bytes;
  for (int32_t i = 0; i < a.num_outputs; ++i)
    bytes += a.outputs[i].bytes;
  return std::clamp<size_t>(kMaxBytes / std::max<int64_t>(bytes, 1), kMinSamples, kMaxSamples);
}

//===----------------------------------------------------------------------===//
// The correction
//===----------------------------------------------------------------------===//

/// [N.bias_correction] Mean error per channel from the sums of both networks.
static std::vector<float> getCorrection(ArrayRef<int64_t> expected, ArrayRef<int64_t> actual, int64_t count) {
  std::vector<float> correction;
  for (auto [a, b] : llvm::zip_equal(expected, actual))
    correction.push_back((float)((double)(a - b) * 0x1p-24 / (double)count));
  return correction;
}

/// The corrections of all layers.
static llvm::Expected<std::vector<std::vector<float>>> measure(ArrayRef<Layer> layers, const LoadedNetwork &floating,
                                                               const LoadedNetwork &reference, ArrayRef<SampleCopy> samples) {
  std::vector<std::vector<float>> corrections;
  for (const Layer &layer : layers)
    corrections.emplace_back(getNumChannels(layer.weighted), 0.0f);
  std::vector<std::vector<int64_t>> expected;
  {
    llvm::Expected<Abreast> runs = Abreast::create(floating, samples, {});
    if (!runs)
      return runs.takeError();
    for (const Layer &layer : layers) {
      llvm::Expected<std::vector<int64_t>> sums = runs->runTo(layer.name, getNumChannels(layer.weighted));
      if (!sums)
        return sums.takeError();
      expected.push_back(std::move(*sums));
    }
  }
  llvm::Expected<Abreast> runs = Abreast::create(reference, samples, corrections);
  if (!runs)
    return runs.takeError();
  for (auto [i, layer] : llvm::enumerate(layers)) {
    llvm::Expected<std::vector<int64_t>> sums = runs->runTo(layer.name, getNumChannels(layer.weighted));
    if (!sums)
      return sums.takeError();
    auto type = cast<RankedTensorType>(layer.weighted->getResult(0).getType());
    int64_t count = type.getNumElements() / getNumChannels(layer.weighted) * samples.size();
    // In place: the runs hold pointers to these buffers.
    llvm::copy(getCorrection(expected[i], *sums, count), corrections[i].begin());
  }
  return corrections;
}

/// Adds `correction` to the layer's bias; gives it one if it has none.
static void correctLayer(const Layer &layer, ArrayRef<float> correction) {
  OpBuilder builder(layer.unit.op);
  OpOperand *operand = layer.unit.getOperand<BiasOp>();
  SmallVector<float, 0> values(correction.size(), 0.0f);
  std::string name = (getSourceName(layer.weighted->getLoc()) + ".bias").str();
  if (operand) {
    auto old = nn::getConstantValues<float>(operand->get());
    if (failed(old))
      return; // Not a constant: nothing to correct.
    values = *old;
    name = (nn::getConstantName(operand->get().getDefiningOp<nn::ConstantOp>()) + ".corrected").str();
  }
  for (auto [value, more] : llvm::zip_equal(values, correction))
    value += more;
  auto type = RankedTensorType::get({(int64_t)values.size()}, builder.getF32Type());
  Value bias = nn::createConstant<float>(builder, layer.weighted->getLoc(), name, type, values);
  if (operand) {
    Operation *old = operand->get().getDefiningOp();
    operand->set(bias);
    if (old->use_empty())
      old->erase();
    return;
  }
  if (auto group = dyn_cast<GroupOp>(layer.unit.op)) {
    group->insertOperands(group->getNumOperands(), bias);
    bias = group.getBody().front().addArgument(bias.getType(), bias.getLoc());
  }
  // The bias is the third operand of convolutions and linear layers.
  layer.weighted->insertOperands(layer.weighted->getNumOperands(), bias);
}

/// Compiles both networks, chooses samples and measures.
static llvm::Expected<std::vector<std::vector<float>>> getCorrections(ModuleOp module, StringRef backend, ArrayRef<Layer> layers,
                                                                      ArrayRef<std::string> calibrationData) {
  llvm::Expected<LoadedNetwork> floating = makeInstrument(module, backend, layers, Copy::Float);
  if (!floating)
    return floating.takeError();
  llvm::Expected<LoadedNetwork> reference = makeInstrument(module, backend, layers, Copy::Reference);
  if (!reference)
    return reference.takeError();
  llvm::Expected<Samples> samples = Samples::open(calibrationData, floating->inputs());
  if (!samples)
    return samples.takeError();
  size_t count = getNumSamples(floating->library->descriptor(), reference->library->descriptor());
  llvm::Expected<std::vector<SampleCopy>> chosen = samples->choose(count);
  if (!chosen)
    return chosen.takeError();
  return measure(layers, *floating, *reference, *chosen);
}

llvm::Expected<int64_t> octet::correctBias(ModuleOp module, StringRef backendName, ArrayRef<std::string> calibrationData) {
  FailureOr<Backend> backend = Backend::load(module.getLoc(), backendName);
  if (failed(backend))
    return llvm::createStringError("the biases cannot be corrected");
  SmallVector<Layer, 0> layers = findLayers(module, *backend);
  if (layers.empty() || calibrationData.empty())
    return 0;
  SmallVector<Location> locations = llvm::map_to_vector(layers, [](const Layer &layer) { return layer.weighted->getLoc(); });
  for (const Layer &layer : layers)
    layer.weighted->setLoc(NameLoc::get(StringAttr::get(module.getContext(), layer.name)));
  auto corrections = getCorrections(module, backendName, layers, calibrationData);
  for (auto [layer, location] : llvm::zip_equal(layers, locations))
    layer.weighted->setLoc(location);
  if (!corrections)
    return corrections.takeError();
  for (auto [layer, correction] : llvm::zip_equal(layers, *corrections))
    correctLayer(layer, correction);
  return (int64_t)layers.size();
}

namespace {
/// See Passes.td.
struct CorrectBias : octet::impl::CorrectBiasPassBase<CorrectBias> {
  using CorrectBiasPassBase::CorrectBiasPassBase;

  void runOnOperation() override {
    std::vector<std::string> data(calibrationData.begin(), calibrationData.end());
    llvm::Expected<int64_t> corrected = correctBias(getOperation(), backend, data);
    if (corrected) {
      numCorrected += *corrected;
      return;
    }
    getOperation().emitError() << llvm::toString(corrected.takeError());
    signalPassFailure();
  }
};
} // namespace

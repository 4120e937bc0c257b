//===- Compile.cpp - from a network's file to machine code ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Compile.h"
#include "Buckets.h"
#include "Diagnostics.h"
#include "LoadIR.h"
#include "Report.h"
#include "Request.h"
#include "RunNetwork.h"
#include "TransferCalibration.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Backend/Backend.h"
#include "octet/Import/Import.h"
#include "octet/Import/Passes.h"
#include "octet/Lower/Passes.h"
#include "octet/Pipelines/Library.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Pipelines/Pipeline.h"
#include "octet/Quantize/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/ConstantMemory.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace mlir;
using namespace octet;

namespace {
/// One compilation.
class Compilation {
public:
  explicit Compilation(const CompileRequest &request)
      : request(request), diagnostics(getContext(), request.model) {}

  llvm::Expected<CompileResult> run() {
    if (llvm::Error error = runAll())
      return diagnostics.takeError(std::move(error));
    result.warnings = std::move(diagnostics.warnings);
    return std::move(result);
  }

private:
  MLIRContext *getContext() {
    DialectRegistry registry;
    registerOctetDialects(registry);
    if (request.registerDialects)
      request.registerDialects(registry);
    context.printOpOnDiagnostic(false); // that may be a whole network
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    return &context;
  }

  llvm::Error runAll() {
    if (llvm::Error error = checkRequest(request))
      return error;
    if (llvm::Error error = load())
      return error;
    size_t first = request.calibration.calibrationData.empty() || buckets.size() == 1
                       ? 0
                       : findBucketOfSamples(buckets, request.calibration.calibrationData);
    nameBucket(buckets[first].shapes);
    if (llvm::Error error = runStages(buckets[first]))
      return error;
    for (Bucket &bucket : buckets) {
      if (&bucket == &buckets[first])
        continue;
      nameBucket(bucket.shapes);
      if (llvm::Error error = quietly([&] { return runStages(bucket); }))
        return error;
    }
    diagnostics.bucket.clear();
    if (llvm::Error error = checkBuckets())
      return error;
    module = joinBuckets(std::move(buckets));
    return finish();
  }

  /// Takes the network of a bucket through all stages to run here.
  llvm::Error runStages(Bucket &bucket) {
    module = std::move(bucket.module);
    reached = imported;
    Stage last = getLastStage(request);
    if (llvm::Error error = attachPolicy(last))
      return error;
    for (const StageInfo &info : getStages()) {
      if (info.stage <= reached || info.stage > last)
        continue;
      StoredConstants before;
      if (buckets.size() == 1) // else others may have them
        before = getStoredConstants(*module);
      if (llvm::Error error = runStage(info.stage))
        return error;
      freeConstants(before, *module);
      reached = info.stage;
    }
    if (buckets.size() > 1)
      constants.share(*module);
    bucket.module = std::move(module);
    return llvm::Error::success();
  }

  /// Errors are about this bucket from now on.
  void nameBucket(const InputShapes &shapes) {
    if (request.buckets.size() > 1)
      diagnostics.bucket = printShapes(shapes);
  }

  /// Does something for one more bucket: what it reports was reported for the first one.
  llvm::Error quietly(llvm::function_ref<llvm::Error()> work) {
    Report first = report;
    Progress progress = std::exchange(request.progress, {});
    isFurther = true;
    llvm::Error error = work();
    isFurther = false;
    request.progress = std::move(progress);
    report = std::move(first);
    return error;
  }

  llvm::Error checkBuckets() {
    for (const Bucket &bucket : llvm::drop_begin(buckets))
      if (llvm::Error error = checkFit(buckets.front(), bucket))
        return error;
    return llvm::Error::success();
  }

  /// Imports the network for every bucket, from one file or from a file for each.
  llvm::Error load() {
    SmallVector<StringRef> files{request.model};
    llvm::append_range(files, request.furtherBuckets);
    if (request.buckets.empty())
      request.buckets.push_back(request.import.inputShapes);
    bool isOnly = files.size() == 1 && request.buckets.size() == 1;
    for (StringRef path : files) {
      FailureOr<NetworkFile> file = openNetwork(&context, path);
      if (failed(file))
        return llvm::createStringError("the network cannot be read");
      for (const InputShapes &shapes : request.buckets)
        if (llvm::Error error = addBucket(*file, shapes, isOnly))
          return error;
    }
    diagnostics.bucket.clear();
    if (files.size() > 1)
      if (llvm::Error error = orderBuckets(buckets, request.buckets))
        return error;
    if (!isOnly)
      markBuckets(buckets);
    llvm::Error error = checkPaddings(buckets.front(), request.paddings);
    return error ? std::move(error) : checkBuckets();
  }

  llvm::Error addBucket(const NetworkFile &file, const InputShapes &shapes, bool isOnly) {
    request.import.inputShapes = shapes;
    auto load = [&] { return loadBucket(file); };
    nameBucket(shapes);
    if (llvm::Error error = buckets.empty() ? load() : quietly(load))
      return error;
    if (!isOnly) {
      if (llvm::Error error = checkUnstarted(file.buffer->getBufferIdentifier(), reached))
        return error;
      constants.share(*module);
    }
    buckets.push_back({shapes, std::move(module)});
    return llvm::Error::success();
  }

  llvm::Error loadBucket(const NetworkFile &file) {
    request.import.evaluate = computeResult;
    module = file.source->read(&context, *file.buffer, request.import);
    if (!module)
      return llvm::createStringError("the network cannot be imported");
    if (llvm::Error error = takeUp(*module, reached, report))
      return error;
    if (!file.source->isIR)
      reached = Stage::Import;
    else if (llvm::Error error = checkRequestForIR(request, reached))
      return error;
    if (llvm::Error error = settlePrecision())
      return error;
    imported = reached;
    if (reached == Stage::Import && !isTidied(*module))
      if (llvm::Error error = tidy())
        return error;
    if (request.policy.hasStaticScales || request.output.artifact == Artifact::ONNX)
      (*module)->setAttr(kStaticScalesAttr, UnitAttr::get(&context));
    return keepStates();
  }

  /// Makes the states that are asked for, and reports all that the network has.
  llvm::Error keepStates() {
    if (failed(octet::keepStates(*module, request.states)))
      return llvm::createStringError("a pass failed");
    llvm::json::Array states = describeStates(module->lookupSymbol<func::FuncOp>("main"));
    if (states.empty())
      return llvm::Error::success();
    tell("states", summarizeStates(states));
    report.set("states", std::move(states));
    return llvm::Error::success();
  }

  /// Whether the network's own quantization is kept, which samples complete; the precision then.
  llvm::Error settlePrecision() {
    Precision &precision = request.policy.precision;
    bool isInt8 =
        isQuantizedNetwork(*module, !beginsToQuantize(request)) || reached >= Stage::Prepare;
    isAdopted = reached < (hasTrainedRanges(*module) ? Stage::Fuse : Stage::Prepare) && isInt8 &&
                (precision == Precision::Float || !request.calibration.hasSource());
    isInt8 |= quantizesWithoutSamples(&context, request.policy);
    if (precision == Precision::AsInFile)
      precision = isInt8 ? Precision::Int8 : Precision::Float;
    return isAdopted ? checkRequestForQuantized(request) : checkRequest(request);
  }

  llvm::Error tidy() {
    PassManager pm(&context);
    buildTidyPipeline(pm, request.policy.keepsOperators);
    if (failed(pm.run(*module)))
      return llvm::createStringError("a pass failed");
    ImportSummary summary = summarize(*module);
    report.set("multiply_adds", summary.multiplyAdds);
    tell("import", llvm::formatv("{0} · {1} operators · {2} · float weights {3}",
                                 escapeText(llvm::sys::path::filename(request.model)),
                                 summary.operators, formatCount(summary.multiplyAdds, "MAC"),
                                 formatBytes(summary.constantBytes)));
    return llvm::Error::success();
  }

  /// Attaches the policy before the first stage that reads it, or compares it with the module's.
  llvm::Error attachPolicy(Stage last) {
    const PolicyOptions &policy = request.policy;
    bool isGiven = !policy.backend.empty() || !policy.qconfigMapping.empty();
    bool isRead = reached < (policy.precision == Precision::Float ? Stage::Fuse : Stage::Convert);
    if (!isRead || (last == Stage::Import && !isGiven))
      return llvm::Error::success();
    PassManager pm(&context);
    pm.addPass(createAttachPolicyPass({policy.backend, policy.qconfigMapping}));
    return succeeded(pm.run(*module)) ? llvm::Error::success()
                                      : llvm::createStringError("a policy cannot be used");
  }

  /// Runs the passes of one stage and reports on it.
  llvm::Error runStage(Stage stage) {
    if (!isPassed(stage, request.policy.precision))
      return llvm::Error::success();
    if (llvm::Error error = prepareStage(stage))
      return error;
    PassManager pm(&context);
    buildPipeline(pm, reached, stage, getPipelineOptions());
    if (failed(pm.run(*module)))
      return llvm::createStringError("a pass failed");
    if (stage == Stage::Prepare)
      reportPlan();
    if (stage == Stage::Calibrate)
      if (llvm::Error error = transferCalibration())
        return error;
    if (stage == Stage::Lower)
      reportFallbacks(*module, report);
    return llvm::Error::success();
  }

  /// Notes what a calibration and its recipe gave for further buckets, or gives it to one of them.
  llvm::Error transferCalibration() {
    reportRecipe(*module, report);
    if (buckets.size() == 1 || isAdopted)
      return llvm::Error::success();
    constants.share(*module);
    if (isFurther)
      return calibration.applyConstants(*module);
    calibration.noteConstants(*module);
    return llvm::Error::success();
  }

  PipelineOptions getPipelineOptions() {
    PipelineOptions options{request.policy, request.calibration, request.progress,
                            getLevels(request.target)};
    options.progress.onFigure = [this](StringRef key, auto value) { report.set(key, value); };
    options.calibration.saveStatistics.clear(); // they are written with the result
    if (!request.calibration.saveStatistics.empty())
      options.progress.onStatistics = [this](std::string text) { result.statistics = text; };
    if (buckets.size() > 1 && !isFurther)
      options.progress.onCalibrated = [this](ModuleOp op) { calibration.noteStatistics(op); };
    options.policy.isIoQuantized |= (*module)->hasAttr(kQuantizedIoAttr);
    options.isAdopted = isAdopted;
    options.isCalibratedElsewhere = isFurther;
    return options;
  }

  llvm::Error prepareStage(Stage stage) {
    if (stage == Stage::Fuse)
      return checkBackend();
    if (stage == Stage::Prepare && buckets.size() > 1)
      calibration.noteFloat(*module, !isFurther);
    if (stage == Stage::Calibrate && isFurther && !isAdopted)
      return calibration.applyStatistics(*module);
    if (stage == Stage::Prepare)
      return checkPlan();
    if (stage == Stage::Calibrate && !isAdopted && lacksSamples())
      return makeRemedyError("the network has observers without statistics",
                             "give --calibration-data");
    return llvm::Error::success();
  }

  bool lacksSamples() { return !request.calibration.hasSource() && needsSamples(*module); }

  /// Checks the recipe before the calibration.
  llvm::Error checkBackend() {
    PolicyAnalysis policy(*module);
    const Backend *backend = policy.getBackend();
    if (!backend || failed(checkRecipe(*backend)))
      return llvm::createStringError("a policy cannot be used");
    return llvm::Error::success();
  }

  llvm::Error checkPlan() {
    if (!isAdopted && getLastStage(request) > Stage::Prepare && lacksSamples())
      return makeRemedyError("int8 code needs samples",
                             "give --calibration-data, or --float for float code");
    if (request.policy.isIoQuantized)
      (*module)->setAttr(kQuantizedIoAttr, UnitAttr::get(&context));
    return llvm::Error::success();
  }

  void reportPlan() {
    llvm::json::Array verdicts = describeDecisions(*module);
    std::string source = isAdopted
                             ? "as in the file"
                             : "backend " + PolicyAnalysis(*module).getBackend()->getName().str();
    tell("quantize", source + " · " + summarizeVerdicts(verdicts));
    report.set("operators", std::move(verdicts));
  }

  llvm::Error finish() {
    if (!report.has("model")) // else of the compilation that this one goes on from
      report.set("model", llvm::sys::path::filename(request.model).str());
    report.set("precision", request.policy.precision == Precision::Float ? "float" : "int8");
    result.reportJson = report.print();
    if (request.output.stopAfter || request.output.artifact == Artifact::MLIR)
      return writeIR(*module, reached, report, result.bytes, result.companion);
    if (request.output.artifact == Artifact::ONNX)
      return writeOnnx(*module, result.bytes);
    return writeCode();
  }

  llvm::Error writeCode() {
    auto start = std::chrono::steady_clock::now();
    LibraryOptions options = getLibraryOptions(request);
    options.reportJson = report.printCompact();
    llvm::Expected<CompiledLibrary> library = compileLibrary(*module, options);
    if (!library)
      return library.takeError();
    result.bytes = std::move(library->bytes);
    if (request.output.artifact == Artifact::Object)
      result.companion = std::move(library->header);
    report.set("arena_bytes", library->arenaBytes);
    report.set("weights_bytes", library->weightsBytes);
    report.set("output_bytes", (int64_t)result.bytes.size());
    std::string bucketText =
        reportBuckets(request.buckets, library->bucketBytes, result.bytes.size(), report);
    result.reportJson = report.print();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    tell("compile", llvm::formatv("{0} · arena {1} · {2}{3:F1} s", llvm::join(options.levels, " "),
                                  formatBytes(library->arenaBytes), bucketText, seconds.count()));
    return llvm::Error::success();
  }

  void tell(StringRef stage, const std::string &text) {
    if (request.progress.onStage)
      request.progress.onStage(stage, text);
  }

  CompileRequest request;
  MLIRContext context;
  DiagnosticCollector diagnostics;
  OwningOpRef<ModuleOp> module;
  std::vector<Bucket> buckets; ///< at least one
  SharedConstants constants;   ///< of all buckets, if there are several
  CalibrationTransfer calibration;
  bool isFurther = false; ///< another bucket than the first one is compiled
  Stage imported = Stage::Import, reached = Stage::Import;
  bool isAdopted = false; ///< the network is quantized already
  Report report;
  CompileResult result;
};
} // namespace

llvm::Expected<CompileResult> octet::compile(const CompileRequest &request) {
  registerOctetPasses(); // Recipes name them.
  return Compilation(request).run();
}

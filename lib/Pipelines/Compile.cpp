//===- Compile.cpp - from a network's file to machine code ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Compile.h"
#include "Diagnostics.h"
#include "LoadIR.h"
#include "Report.h"
#include "Request.h"
#include "Statistics.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Export/OnnxExport.h"
#include "octet/Import/Import.h"
#include "octet/Import/Passes.h"
#include "octet/Lower/Passes.h"
#include "octet/Pipelines/Library.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Pipelines/Pipeline.h"
#include "octet/Quantize/Passes.h"
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
    Stage last = getLastStage();
    if (llvm::Error error = attachPolicy(last))
      return error;
    for (const StageInfo &info : getStages()) {
      if (info.stage <= reached || info.stage > last)
        continue;
      if (llvm::Error error = runStage(info.stage))
        return error;
      reached = info.stage;
    }
    return finish();
  }

  /// The last stage to run here; compileLibrary does the rest.
  Stage getLastStage() const {
    if (request.output.artifact == Artifact::ONNX)
      return Stage::Convert;
    return request.output.stopAfter.value_or(Stage::Lower);
  }

  llvm::Error load() {
    FailureOr<NetworkFile> file = openNetwork(&context, request.model);
    if (failed(file))
      return llvm::createStringError("the network cannot be read");
    module = file->source->read(&context, *file->buffer, request.import);
    if (!module)
      return llvm::createStringError("the network cannot be imported");
    if (llvm::Error error = takeUp(*module, reached, report))
      return error;
    if (!file->source->isIR)
      reached = Stage::Import;
    else if (llvm::Error error = checkRequestForIR(request, reached))
      return error;
    if (llvm::Error error = settlePrecision())
      return error;
    if (reached == Stage::Import && !isTidied(*module))
      if (llvm::Error error = tidy())
        return error;
    return keepStates();
  }

  /// Makes the states that are asked for, and reports all that the network has.
  llvm::Error keepStates() {
    if (!request.states.empty()) {
      PassManager pm(&context);
      pm.addPass(createKeepStatesPass({llvm::to_vector<0>(request.states)}));
      if (failed(pm.run(*module)))
        return llvm::createStringError("a pass failed");
    }
    llvm::json::Array states = describeStates(module->lookupSymbol<func::FuncOp>("main"));
    if (states.empty())
      return llvm::Error::success();
    tell("states", summarizeStates(states));
    report.set("states", std::move(states));
    return llvm::Error::success();
  }

  /// Whether the network's own quantization is kept, and the precision that follows from it.
  llvm::Error settlePrecision() {
    isAdopted = reached < Stage::Prepare && isQuantizedNetwork(*module);
    bool isInt8 = isAdopted || reached >= Stage::Prepare;
    Precision &precision = request.policy.precision;
    if (precision != Precision::AsInFile)
      return isAdopted ? checkRequestForQuantized(request) : llvm::Error::success();
    precision = isInt8 ? Precision::Int8 : Precision::Float;
    if (isAdopted)
      return checkRequestForQuantized(request);
    return isInt8 ? llvm::Error::success() : checkRequest(request);
  }

  llvm::Error tidy() {
    PassManager pm(&context);
    buildTidyPipeline(pm);
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

  /// Attaches the policy to the module before the first stage that reads it; the policy of a module
  /// that has one is compared with the request's.
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
    if (stage == Stage::Calibrate && !request.calibration.saveStatistics.empty())
      result.statistics = printStatistics(*module);
    if (stage == Stage::Lower)
      reportFallbacks();
    return llvm::Error::success();
  }

  PipelineOptions getPipelineOptions() {
    PipelineOptions options{request.policy, request.calibration, request.progress,
                            getLevels(request.target)};
    options.progress.onFigure = [this](StringRef key, int64_t value) { report.set(key, value); };
    options.calibration.saveStatistics.clear(); // they are written with the result
    options.policy.isIoQuantized |= (*module)->hasAttr(kQuantizedIoAttr);
    options.isAdopted = isAdopted;
    return options;
  }

  llvm::Error prepareStage(Stage stage) {
    if (stage == Stage::Fuse)
      return checkBackend();
    if (stage == Stage::Prepare)
      return checkPlan();
    if (stage == Stage::Calibrate && !isAdopted && !request.calibration.hasSource())
      return makeRemedyError("the network has observers without statistics",
                             "give --calibration-data");
    return llvm::Error::success();
  }

  /// Checks the recipe before the calibration.
  llvm::Error checkBackend() {
    PolicyAnalysis policy(*module);
    const Backend *backend = policy.getBackend();
    if (!backend || failed(checkRecipe(*backend)))
      return llvm::createStringError("a policy cannot be used");
    return llvm::Error::success();
  }

  llvm::Error checkPlan() {
    const PolicyOptions &policy = request.policy;
    if (!isAdopted && !request.calibration.hasSource() && getLastStage() > Stage::Prepare)
      return makeRemedyError("int8 code needs samples",
                             "give --calibration-data, or --float for float code");
    if (policy.isIoQuantized)
      (*module)->setAttr(kQuantizedIoAttr, UnitAttr::get(&context));
    return llvm::Error::success();
  }

  /// The decisions of octet-prepare.
  void reportPlan() {
    llvm::json::Array verdicts = describeDecisions(*module);
    std::string source = isAdopted
                             ? "as in the file"
                             : "backend " + PolicyAnalysis(*module).getBackend()->getName().str();
    tell("quantize", source + " · " + summarizeVerdicts(verdicts));
    report.set("operators", std::move(verdicts));
  }

  /// Warns of operators that stay float against the policy; operators that octet-lower moved into
  /// an epilogue run in int8.
  void reportFallbacks() {
    module->walk([&](Operation *op) {
      DecisionAttr decision = getDecision(op);
      if (decision && decision.getVerdict() == Verdict::Quantized && decision.getNumber())
        report.setQuantized(*decision.getNumber());
      bool isFallback =
          decision && decision.getVerdict() == Verdict::Float && decision.getRefused();
      if (!isFallback || !report.setFloat(decision.getNumber(), describeDecision(op)))
        return;
      ReasonAttr reason = decision.getReason();
      emitWarning(op->getLoc()) << "stays float " << Code{reason.getCode().getValue()} << ": "
                                << reason.getText().getValue()
                                << Remedy(reason.getRemedy().getValue());
    });
  }

  llvm::Error finish() {
    if (!report.has("model")) // else of the compilation that this one goes on from
      report.set("model", llvm::sys::path::filename(request.model).str());
    report.set("precision", request.policy.precision == Precision::Float ? "float" : "int8");
    result.reportJson = report.print();
    if (request.output.stopAfter || request.output.artifact == Artifact::MLIR)
      return writeIR();
    if (request.output.artifact == Artifact::ONNX)
      return writeOnnx();
    return writeCode();
  }

  /// Writes bytecode with all weights and the report, and as its companion text without weights.
  llvm::Error writeIR() {
    markStage(*module, reached);
    llvm::raw_string_ostream text(result.companion);
    module->print(text, OpPrintingFlags()
                            .elideLargeElementsAttrs(16)
                            .elideLargeResourceString(64)
                            .enableDebugInfo());
    markReport(*module, report);
    llvm::raw_svector_ostream os(result.bytes);
    if (failed(writeBytecodeToFile(*module, os)))
      return llvm::createStringError("the IR cannot be written as bytecode");
    return llvm::Error::success();
  }

  llvm::Error writeOnnx() {
    llvm::raw_svector_ostream os(result.bytes);
    if (failed(exportOnnx(*module, os)))
      return llvm::createStringError("the network cannot be written as ONNX");
    return llvm::Error::success();
  }

  llvm::Error writeCode() {
    auto start = std::chrono::steady_clock::now();
    LibraryOptions options;
    options.name = request.output.name;
    if (options.name.empty())
      options.name = llvm::json::fixUTF8(llvm::sys::path::stem(request.model));
    options.levels = getLevels(request.target);
    options.emit.triple = getTriple(request.target);
    options.emit.kind = getOutputKind(request.output.artifact);
    options.emit.hasUnwindTables = request.output.hasUnwindTables;
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
    result.reportJson = report.print();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    tell("compile", llvm::formatv("{0} · arena {1} · {2:F1} s", llvm::join(options.levels, " "),
                                  formatBytes(library->arenaBytes), seconds.count()));
    return llvm::Error::success();
  }

  static OutputKind getOutputKind(Artifact artifact) {
    switch (artifact) {
    case Artifact::Object:
      return OutputKind::Object;
    case Artifact::LLVMIR:
      return OutputKind::LLVMIR;
    case Artifact::Assembly:
      return OutputKind::Assembly;
    default:
      return OutputKind::SharedLibrary;
    }
  }

  void tell(StringRef stage, const std::string &text) {
    if (request.progress.onStage)
      request.progress.onStage(stage, text);
  }

  CompileRequest request;
  MLIRContext context;
  DiagnosticCollector diagnostics;
  OwningOpRef<ModuleOp> module;
  Stage reached = Stage::Import;
  bool isAdopted = false; ///< the network is quantized already
  Report report;
  CompileResult result;
};
} // namespace

StringRef octet::getCompanionExtension(const OutputOptions &options) {
  if (options.stopAfter || options.artifact == Artifact::MLIR)
    return ".mlir";
  return options.artifact == Artifact::Object ? ".h" : "";
}

llvm::Expected<CompileResult> octet::compile(const CompileRequest &request) {
  registerOctetPasses(); // Recipes name them.
  return Compilation(request).run();
}

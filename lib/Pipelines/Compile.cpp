//===- Compile.cpp - from a network's file to machine code ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Compile.h"
#include "Calibrate.h"
#include "Diagnostics.h"
#include "LoadIR.h"
#include "Report.h"
#include "Request.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Backend/Backend.h"
#include "octet/Codegen/Codegen.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Export/OnnxExport.h"
#include "octet/Import/Import.h"
#include "octet/Lower/Passes.h"
#include "octet/Pipelines/Library.h"
#include "octet/Quantize/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace mlir;
using namespace octet;

ArrayRef<StageInfo> octet::getStages() {
  static const StageInfo stages[] = {
#define OCTET_STAGE(enumerator, name, summary) {Stage::enumerator, name, summary},
#include "octet/Pipelines/Stages.def"
  };
  return stages;
}

StringRef octet::getName(Stage stage) { return getStages()[(size_t)stage].name; }

/// The only recovery pass that a backend's recipe may name so far.
static constexpr llvm::StringLiteral kCorrectBias = "octet-correct-bias";

/// On modules that were prepared for quantized inputs and outputs.
static constexpr llvm::StringLiteral kQuantizedIoAttr = "octet.quantized_io";

namespace {
/// One compilation.
class Compilation {
public:
  explicit Compilation(const CompileRequest &request)
      : request(request), diagnostics(getContext(), request.model) {}

  llvm::Expected<CompileResult> run() {
    if (llvm::Error error = runAll())
      return diagnostics.takeError(std::move(error));
    result.warnings = diagnostics.warnings;
    return std::move(result);
  }

private:
  MLIRContext *getContext() {
    DialectRegistry registry;
    registerOctetDialects(registry);
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
    for (const StageInfo &info : getStages()) {
      if (info.stage <= reached || info.stage > last)
        continue;
      if (llvm::Error error = runStage(info.stage))
        return error;
      reached = info.stage;
    }
    return finish();
  }

  /// The last stage that is run here; the way from there to machine code is compileLibrary's.
  Stage getLastStage() const {
    if (request.artifact == Artifact::ONNX)
      return Stage::Convert;
    return request.stopAfter.value_or(Stage::Lower);
  }

  llvm::Error load() {
    StringRef extension = llvm::sys::path::extension(request.model);
    if (extension == ".mlir" || extension == ".mlirbc") {
      llvm::Expected<OwningOpRef<ModuleOp>> loaded = loadIR(request.model, context, reached, report);
      if (!loaded)
        return loaded.takeError();
      module = std::move(*loaded);
      return checkRequestForIR(request, reached);
    }
    ImportOptions options;
    for (auto &entry : request.inputShapes)
      options.inputShapes[entry.first()] = entry.second;
    module = importOnnx(&context, request.model, options);
    if (!module)
      return llvm::createStringError("the network cannot be imported");
    ImportSummary summary = summarize(*module);
    report.set("multiply_adds", summary.multiplyAdds);
    tell("import", llvm::formatv("{0} · {1} operators · {2} · float weights {3}", llvm::sys::path::filename(request.model),
                                 summary.operators, formatCount(summary.multiplyAdds, "MAC"), formatBytes(summary.constantBytes)));
    return llvm::Error::success();
  }

  llvm::Error runStage(Stage stage) {
    if (request.precision == Precision::Float && stage > Stage::Fuse && stage <= Stage::Lower)
      return llvm::Error::success();
    switch (stage) {
    case Stage::Import:
      return llvm::Error::success();
    case Stage::Fuse:
      return runPasses([&](PassManager &pm) { pm.addPass(createFusePass({request.backend})); });
    case Stage::Prepare:
      return prepare();
    case Stage::Calibrate:
      return calibrateAndCorrect();
    case Stage::Convert:
      return runPasses([&](PassManager &pm) { pm.addPass(createConvertPass({request.backend})); });
    case Stage::Lower:
      return lower();
    case Stage::Layout:
      return runPasses([&](PassManager &pm) {
        pm.addPass(createInlineGroupsPass());
        pm.addNestedPass<func::FuncOp>(createAssignLayoutPass());
      });
    case Stage::Program:
      return runPasses([&](PassManager &pm) {
        EmitProgramPassOptions options;
        std::vector<std::string> levels = getLevels(request);
        options.levels.assign(levels.begin(), levels.end());
        pm.addPass(createEmitProgramPass(options));
      });
    case Stage::LLVM:
      return runPasses([&](PassManager &pm) { buildLevelPipeline(pm); });
    }
    llvm_unreachable("all stages are listed");
  }

  llvm::Error runPasses(llvm::function_ref<void(PassManager &)> add) {
    PassManager pm(&context);
    add(pm);
    if (failed(pm.run(*module)))
      return llvm::createStringError("a pass failed");
    return llvm::Error::success();
  }

  llvm::Error prepare() {
    if (request.calibrationData.empty() && request.loadStatistics.empty() && getLastStage() > Stage::Prepare)
      return llvm::createStringError("int8 code needs samples: give --calibration-data, or --float for float code");
    if (llvm::Expected<bool> recipe = readRecipe(); !recipe) // before the work of calibrating
      return recipe.takeError();
    FailureOr<llvm::json::Array> verdicts = explain(*module, request.backend, request.qconfigMapping, request.isIoQuantized);
    if (failed(verdicts))
      return llvm::createStringError("a policy cannot be used");
    tell("quantize", "backend " + llvm::sys::path::stem(request.backend).str() + " · " + summarizeVerdicts(*verdicts));
    report.set("operators", std::move(*verdicts));
    if (request.isIoQuantized)
      (*module)->setAttr(kQuantizedIoAttr, UnitAttr::get(&context));
    return runPasses([&](PassManager &pm) {
      PreparePassOptions options;
      options.backend = request.backend;
      options.qconfigMapping = request.qconfigMapping;
      options.strict = request.isStrict;
      options.quantizedOutputs = request.isIoQuantized;
      pm.addPass(createPreparePass(options));
    });
  }

  /// Whether the backend's recipe has the biases corrected.
  llvm::Expected<bool> readRecipe() {
    FailureOr<Backend> backend = Backend::load(module->getLoc(), request.backend);
    if (failed(backend))
      return llvm::createStringError("a policy cannot be used");
    SmallVector<StringRef> recipe = backend->getRecipe();
    for (StringRef recovery : recipe)
      if (recovery != kCorrectBias)
        return llvm::createStringError("the backend's recipe names an unknown pass '" + recovery + "'; there is " + kCorrectBias);
    return !recipe.empty();
  }

  llvm::Error calibrateAndCorrect() {
    if (request.calibrationData.empty() && request.loadStatistics.empty())
      return llvm::createStringError("the network has observers without statistics: give --calibration-data");
    if (llvm::Error error = calibrate(*module, request))
      return error;
    llvm::Expected<bool> correctsBiases = readRecipe();
    if (!correctsBiases)
      return correctsBiases.takeError();
    return *correctsBiases ? correctBiases() : llvm::Error::success();
  }

  llvm::Error lower() {
    LowerOptions options;
    options.strict = request.isStrict;
    llvm::Error error = runPasses([&](PassManager &pm) {
      pm.addNestedPass<func::FuncOp>(createLower(options));
      if ((*module)->hasAttr(kQuantizedIoAttr))
        pm.addNestedPass<func::FuncOp>(createQuantizeSignature());
    });
    if (error)
      return error;
    module->walk([&](Operation *op) {
      auto code = op->getAttrOfType<StringAttr>(kStaysFloatAttr);
      const FloatReason *reason = code ? llvm::find_if(getFloatReasons(), [&](auto &reason) { return reason.code == code; }) : nullptr;
      if (!reason)
        return;
      std::string location;
      llvm::raw_string_ostream(location) << op->getLoc();
      emitWarning(op->getLoc()) << "stays float [" << reason->code << "]: " << reason->why << "; " << reason->remedy;
      report.setFloat(location, reason->code, reason->why, reason->remedy);
    });
    return llvm::Error::success();
  }

  llvm::Error correctBiases() {
    if (request.calibrationData.empty()) {
      module->emitWarning("the biases are not corrected: octet-correct-bias needs samples, not only statistics of them; "
                          "give some with --calibration-data, too");
      return llvm::Error::success();
    }
    llvm::Expected<int64_t> corrected = correctBias(*module, request.backend, request.calibrationData);
    if (!corrected)
      return corrected.takeError();
    report.set("corrected_biases", *corrected);
    return llvm::Error::success();
  }

  llvm::Error finish() {
    if (!report.has("model")) // else of the compilation that this one goes on from
      report.set("model", llvm::sys::path::filename(request.model).str());
    report.set("precision", request.precision == Precision::Float ? "float" : "int8");
    result.reportJson = report.print();
    if (request.stopAfter || request.artifact == Artifact::MLIR)
      return writeIR();
    if (request.artifact == Artifact::ONNX)
      return writeOnnx();
    return writeCode();
  }

  /// Bytecode with all weights and the report, and beside it text without them, with locations.
  llvm::Error writeIR() {
    markStage(*module, reached);
    llvm::raw_string_ostream text(result.companion);
    module->print(text, OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(64).enableDebugInfo());
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
    if (llvm::Error error = runPasses([](PassManager &pm) { pm.addPass(createInlineGroupsPass()); }))
      return error;
    LibraryOptions options;
    options.name = request.name.empty() ? llvm::sys::path::stem(request.model).str() : request.name;
    options.levels = getLevels(request);
    options.emit.triple = getTriple(request);
    options.emit.kind = getOutputKind(request.artifact);
    options.reportJson = report.printCompact();
    llvm::Expected<CompiledLibrary> library = compileLibrary(*module, options);
    if (!library)
      return library.takeError();
    result.bytes = std::move(library->bytes);
    if (request.artifact == Artifact::Object)
      result.companion = std::move(library->header);
    report.set("arena_bytes", library->arenaBytes);
    report.set("weights_bytes", library->weightsBytes);
    report.set("output_bytes", (int64_t)result.bytes.size());
    result.reportJson = report.print();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    tell("compile", llvm::formatv("{0} · arena {1} · {2:F1} s", llvm::join(options.levels, " "), formatBytes(library->arenaBytes), seconds.count()));
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

  const CompileRequest &request;
  MLIRContext context;
  DiagnosticText diagnostics;
  OwningOpRef<ModuleOp> module;
  Stage reached = Stage::Import;
  Report report;
  CompileResult result;
};
} // namespace

StringRef octet::getCompanionExtension(const CompileRequest &request) {
  if (request.stopAfter || request.artifact == Artifact::MLIR)
    return ".mlir";
  return request.artifact == Artifact::Object ? ".h" : "";
}

llvm::Expected<CompileResult> octet::compile(const CompileRequest &request) { return Compilation(request).run(); }

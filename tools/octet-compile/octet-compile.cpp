//===- octet-compile.cpp - from a network's file to machine code ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Terminal.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "octet/Codegen/Levels.h"
#include "octet/Emit/Emit.h"
#include "octet/Import/Onnx.h"
#include "octet/Pipelines/Compile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

using namespace llvm;
using namespace octet;

namespace {
/// A member of this type in front of the options unregisters options of LLVM's libraries, which
/// include a --threads and a --stop-after.
struct FreeNames {
  FreeNames() {
    SmallVector<cl::Option *> foreign;
    for (auto &entry : cl::getRegisteredOptions())
      if (!entry.first.starts_with("help") && entry.first != "version")
        foreign.push_back(entry.second);
    for (cl::Option *option : foreign)
      option->removeArgument();
  }
};

enum class DiagnosticsFormat { Text, Json };

struct Options {
  FreeNames freeNames;
  cl::OptionCategory network{"Network"}, calibration{"Calibration"}, policy{"Policy"},
      output{"Output"};

  cl::opt<std::string> model{cl::Positional, cl::Required, cl::desc("<network>"), cl::cat(network)};
  cl::list<std::string> inputShapes{
      "input-shape", cl::value_desc("name=1x3x224x224,..."), cl::cat(network),
      cl::desc(
          "Shape of an input that the file does not fix, or size of a dimension that it names, as\n"
          "in batch=1; may be repeated; lists of sizes, as in ids=1x{16,32},mask=1x{16,32} or\n"
          "sequence={16,32}, make one library for several shapes (buckets)")};
  cl::list<std::string> inputValues{
      "input-value", cl::value_desc("name=16000"), cl::cat(network),
      cl::desc("Make an input a constant, every element of which is this number; may be repeated")};
  cl::list<std::string> furtherBuckets{
      "bucket", cl::value_desc("file"), cl::cat(network),
      cl::desc("The same network for other shapes, as a further bucket of the library; may be\n"
               "repeated; for networks of MLIR, which have one shape each")};
  cl::list<std::string> paddings{
      "pad", cl::value_desc("name=0"), cl::cat(network),
      cl::desc("Number with which an input that is smaller than a bucket is filled up behind its\n"
               "ends; may be repeated; without it the caller does that")};
  cl::list<std::string> states{
      "state", cl::CommaSeparated, cl::value_desc("h=hn,..."), cl::cat(network),
      cl::desc("Keep an output in the library and give it to the next run as this input; may be\n"
               "repeated; 'auto' finds such pairs by their names and prints them")};
  cl::opt<bool> listOperators{
      "list-operators", cl::ValueDisallowed, cl::cat(network),
      cl::desc("Print the ONNX operators that can be imported, with their attributes, and exit"),
      cl::callback([](const bool &) {
        listOnnxOperators(outs());
        exit(0);
      })};

  cl::list<std::string> dialectPlugins{
      "load-dialect-plugin", cl::value_desc("file.so"), cl::cat(network),
      cl::desc("Load dialects from a plugin, which runs its code; may be repeated")};
  cl::list<std::string> passPlugins{
      "load-pass-plugin", cl::value_desc("file.so"), cl::cat(network),
      cl::desc("Load passes from a plugin, which runs its code; may be repeated")};

  cl::list<std::string> calibrationData{
      "calibration-data", cl::value_desc("file or folder"), cl::cat(calibration),
      cl::desc("Samples: .npz or .npy, or a folder of them; may be repeated")};
  cl::list<std::string> loadStatistics{
      "load-statistics", cl::value_desc("file"), cl::cat(calibration),
      cl::desc("Statistics of an earlier calibration; may be repeated to merge several;\n"
               "biases are corrected only if there are samples, too")};
  cl::opt<std::string> saveStatistics{"save-statistics", cl::value_desc("file"),
                                      cl::cat(calibration),
                                      cl::desc("File to write the statistics to")};
  cl::opt<unsigned> threads{"threads", cl::init(0), cl::cat(calibration),
                            cl::desc("Threads of the calibration (default: one for each core);\n"
                                     "they change neither statistics nor the library")};

  cl::opt<bool> compareLayers{
      "compare-layers", cl::cat(calibration),
      cl::desc("Measure the error of every quantized operator on samples, for --report")};

  cl::opt<Precision> precision{
      cl::desc("Precision:"), cl::init(Precision::Int8), cl::cat(policy),
      cl::values(clEnumValN(Precision::Float, "float", "Float code instead of int8"),
                 clEnumValN(Precision::AsInFile, "as-in-file",
                            "Int8 code for networks that are quantized in their file or whose\n"
                            "--backend needs no samples, float code for others; --float makes\n"
                            "float code of all"))};
  cl::opt<std::string> backend{
      "backend", cl::value_desc("name or file"), cl::cat(policy),
      cl::desc("Operators and types that can be quantized (default: cpu)")};
  cl::opt<std::string> mapping{
      "qconfig-mapping", cl::value_desc("name or file"), cl::cat(policy),
      cl::desc("Observers of each operator, or none (default: the backend's own mapping)")};
  cl::opt<bool> quantizedIo{
      "quantized-io", cl::cat(policy),
      cl::desc("Inputs and outputs are integers where the network quantizes them (default: f32)")};
  cl::opt<bool> strict{
      "strict", cl::cat(policy),
      cl::desc("Make it an error if an operator with a QConfig cannot be quantized;\n"
               "operators that the backend keeps float on purpose (octet.float) are no error")};
  cl::opt<bool> staticScales{
      "static-scales", cl::cat(policy),
      cl::desc("No scales that are chosen in each run (implied by --emit=onnx)")};
  cl::opt<bool> keepOperators{
      "keep-operators", cl::cat(policy),
      cl::desc("Observe every operator that the network was written with: idioms stay in\n"
               "small operators, reshapes and pads where they are")};

  cl::opt<std::string> path{"o", cl::Required, cl::value_desc("file"), cl::desc("Output file"),
                            cl::cat(output)};
  cl::opt<Artifact> artifact{
      "emit", cl::desc("Kind of output:"), cl::init(Artifact::Library), cl::cat(output),
      cl::values(
          clEnumValN(Artifact::Library, "lib", "shared library (default)"),
          clEnumValN(Artifact::Object, "obj", "object file, and a C header beside it"),
          clEnumValN(Artifact::LLVMIR, "llvm", "LLVM IR"),
          clEnumValN(Artifact::Assembly, "asm", "assembly"),
          clEnumValN(Artifact::MLIR, "mlir",
                     "MLIR bytecode of the integer program, and text beside it"),
          clEnumValN(Artifact::ONNX, "onnx",
                     "the reference model as ONNX with QuantizeLinear and DequantizeLinear"))};
  cl::opt<Stage> stopAfter{
      "stop-after", cl::desc("Stop after a stage and write MLIR bytecode, and text beside it:"),
      cl::cat(output)};
  cl::list<std::string> levels{
      "cpu-level", cl::CommaSeparated, cl::value_desc("level,..."), cl::cat(output),
      cl::desc("CPU levels to compile for (default: those of the target that\n"
               "--list-cpu-levels marks as default)")};
  cl::opt<bool> listLevels{"list-cpu-levels", cl::cat(output),
                           cl::desc("List the CPU levels and which of them this machine runs"),
                           cl::callback([](const bool &) {
                             outs() << listCpuLevels();
                             std::exit(0);
                           })};
  cl::opt<std::string> target{
      "target", cl::value_desc("triple"), cl::cat(output),
      cl::desc("x86_64-linux-gnu or aarch64-linux-gnu (default: this machine)")};
  cl::opt<std::string> name{
      "name", cl::value_desc("identifier"), cl::cat(output),
      cl::desc("Prefix of exported symbols (default: the network's file name)")};
  cl::opt<bool> unwindTables{
      "unwind-tables", cl::cat(output),
      cl::desc("Add unwind tables (.eh_frame) for debuggers, profilers and exceptions")};
  cl::opt<std::string> report{
      "report", cl::value_desc("file.json"), cl::cat(output),
      cl::desc("File to write the report to: every operator's verdict and reason")};

  cl::opt<DiagnosticsFormat> diagnostics{
      "diagnostics", cl::desc("Format of errors and warnings:"), cl::init(DiagnosticsFormat::Text),
      cl::cat(output),
      cl::values(clEnumValN(DiagnosticsFormat::Text, "text", "readable text (default)"),
                 clEnumValN(DiagnosticsFormat::Json, "json", "a JSON object per line"))};
  cl::opt<int> parent{"parent", cl::init(0), cl::Hidden,
                      cl::desc("End when this process, the parent, ends")};

  Options() {
    for (const StageInfo &info : getStages())
      stopAfter.getParser().addLiteralOption(info.name, info.stage, info.summary);
  }
};
} // namespace

static const char overview[] =
    "Octet: compiles a network to machine code\n\n"
    "Examples:\n"
    "  octet-compile net.onnx --calibration-data samples.npz -o net.so     int8 library for this "
    "machine\n"
    "  octet-compile net.onnx --float -o net.so                            float library\n"
    "  octet-compile net.onnx --calibration-data samples/ -o net.o --emit=obj "
    "--target=aarch64-linux-gnu\n"
    "  octet-compile net.onnx --calibration-data samples.npz --stop-after=convert -o net.mlirbc\n"
    "  octet-compile net.mlirbc -o net.so                                  continue from that "
    "stage\n";

/// Loads plugins as mlir-opt does: registers their passes, and their dialects in the compilation's
/// context.
static Error loadPlugins(const Options &options, CompileRequest &request) {
  for (const std::string &path : options.passPlugins) {
    Expected<mlir::PassPlugin> plugin = mlir::PassPlugin::load(path);
    if (!plugin)
      return plugin.takeError();
    plugin->registerPassRegistryCallbacks();
  }
  std::vector<mlir::DialectPlugin> plugins;
  for (const std::string &path : options.dialectPlugins) {
    Expected<mlir::DialectPlugin> plugin = mlir::DialectPlugin::load(path);
    if (!plugin)
      return plugin.takeError();
    plugins.push_back(*plugin);
  }
  request.registerDialects = [plugins](mlir::DialectRegistry &registry) {
    for (const mlir::DialectPlugin &plugin : plugins)
      plugin.registerDialectRegistryCallbacks(registry);
  };
  return Error::success();
}

static Error readInputOptions(const Options &options, CompileRequest &request) {
  InputShapeLists lists;
  for (const std::string &text : options.inputShapes)
    if (Error error = parseInputShapes(text, lists))
      return error;
  if (Error error = listBuckets(lists).moveInto(request.buckets))
    return error;
  request.import.inputShapes = request.buckets.front();
  for (const std::string &text : options.inputValues)
    if (Error error = parseInputNumber("--input-value", text, request.import.inputValues))
      return error;
  for (const std::string &text : options.paddings)
    if (Error error = parseInputNumber("--pad", text, request.paddings))
      return error;
  return Error::success();
}

static Expected<CompileRequest> makeRequest(const Options &options) {
  CompileRequest request;
  auto list = [](const cl::list<std::string> &values) {
    return std::vector<std::string>(values.begin(), values.end());
  };
  request.model = options.model;
  if (Error error = readInputOptions(options, request))
    return std::move(error);
  if (Error error = loadPlugins(options, request))
    return std::move(error);
  request.furtherBuckets = list(options.furtherBuckets);
  request.states.assign(options.states.begin(), options.states.end());
  request.policy = {options.precision,    options.backend, options.mapping,
                    options.quantizedIo,  options.strict,  options.staticScales,
                    options.keepOperators};
  request.calibration = {list(options.calibrationData), list(options.loadStatistics),
                         options.saveStatistics, options.threads, options.compareLayers};
  request.target = {options.target, list(options.levels)};
  request.output.name = options.name;
  request.output.artifact = options.artifact;
  request.output.hasUnwindTables = options.unwindTables;
  if (options.stopAfter.getNumOccurrences() > 0)
    request.output.stopAfter = options.stopAfter;
  if (options.threads.getNumOccurrences() > 0 && (options.threads < 1 || options.threads > 256))
    return createStringError("--threads: expected 1 to 256");
  return request;
}

/// Checks before compiling that the result can be written.
static Error checkWritable(StringRef path) {
  StringRef folder = sys::path::parent_path(path);
  if (std::error_code error =
          sys::fs::access(folder.empty() ? "." : folder, sys::fs::AccessMode::Write))
    return createStringError("cannot write '" + path + "': " + error.message());
  StringRef kind = path == "-" ? "no file" : sys::fs::is_directory(path) ? "a folder" : "";
  return kind.empty() ? Error::success()
                      : createStringError("cannot write '" + path + "': it is " + kind);
}

namespace {
/// The output files of a compilation; empty if not requested.
struct OutputFiles {
  OutputFiles(const CompileRequest &request, StringRef path, StringRef report)
      : main(path), report(report), statistics(request.calibration.saveStatistics) {
    StringRef extension = getCompanionExtension(request.output);
    if (extension.empty())
      return;
    beside = path;
    sys::path::replace_extension(beside, extension);
    // If -o is the path of the companion, the main output gets another extension.
    if (beside == main)
      sys::path::replace_extension(main, extension == ".h" ? ".o" : extension + "bc");
  }

  /// Checks that no two are the same file and that none is an input.
  Error checkDistinct(const CompileRequest &request) const;
  Error write(const CompileResult &result) const;

  SmallString<128> main, beside, report, statistics;
};
} // namespace

Error OutputFiles::checkDistinct(const CompileRequest &request) const {
  SmallVector<std::pair<StringRef, StringRef>> files{
      {request.model, "the network"},
      {request.policy.backend, "the backend"},
      {request.policy.qconfigMapping, "the QConfig mapping"}};
  for (const std::string &file : request.furtherBuckets)
    files.push_back({file, "--bucket"});
  for (const std::string &file : request.calibration.calibrationData)
    files.push_back({file, "--calibration-data"});
  for (const std::string &file : request.calibration.loadStatistics)
    files.push_back({file, "--load-statistics"});
  for (auto [file, role] : {std::pair(&main, "-o"),
                            {&beside, "the second output beside -o"},
                            {&report, "--report"},
                            {&statistics, "--save-statistics"}}) {
    if (file->empty())
      continue;
    for (auto [other, otherRole] : files)
      if (*file == other ||
          (!other.empty() && sys::fs::equivalent(*file, other) && sys::fs::is_regular_file(*file)))
        return makeRemedyError("'" + *file + "' is both " + otherRole + " and " + role,
                               "give it another name");
    files.push_back({*file, role});
  }
  return Error::success();
}

Error OutputFiles::write(const CompileResult &result) const {
  SmallVector<FileContents> files;
  files.push_back({main, result.bytes});
  for (auto [path, text] : {std::pair(&beside, &result.companion),
                            {&report, &result.reportJson},
                            {&statistics, &result.statistics}})
    if (!path->empty())
      files.push_back({*path, *text});
  return writeFiles(files);
}

static void print(ArrayRef<Message> messages, DiagnosticsFormat format) {
  for (const Message &message : messages)
    if (format == DiagnosticsFormat::Json)
      errs() << printJson(message);
    else
      errs() << (message.file.empty() ? "octet-compile: " : "") << printText(message);
}

static Error compileNetwork(CompileRequest request, const std::string &path,
                            const std::string &report, DiagnosticsFormat format) {
  OutputFiles files(request, path, report);
  for (StringRef file :
       {files.main.str(), files.beside.str(), files.report.str(), files.statistics.str()})
    if (!file.empty())
      if (Error error = checkWritable(file))
        return error;
  if (Error error = files.checkDistinct(request))
    return error;
  Terminal terminal;
  request.progress = terminal.getProgress();
  Expected<CompileResult> result = compile(request);
  terminal.endLine();
  if (!result)
    return result.takeError();
  print(result->warnings, format);
  if (Error error = files.write(*result))
    return error;
  terminal.sayWritten(files.main, result->bytes.size(), request);
  for (StringRef other : {files.beside.str(), files.report.str(), files.statistics.str()})
    if (!other.empty())
      terminal.say("wrote", other);
  return Error::success();
}

/// Ends this process with `parent`, which started the compiler and may be killed while it waits.
/// Has no effect if a shell is between the two.
static void endWith(pid_t parent) {
  if (getppid() != parent)
    return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) // it ended just now
    raise(SIGTERM);
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  Options options;
  cl::HideUnrelatedOptions(
      {&options.network, &options.calibration, &options.policy, &options.output});
  cl::SetVersionPrinter(
      [](raw_ostream &os) { os << "Octet " OCTET_VERSION ", LLVM " LLVM_VERSION_STRING "\n"; });
  cl::ParseCommandLineOptions(argc, argv, overview + ("\nNetworks: " + listSources()) + "\n");
  endWith(options.parent);
  // The linker resets every command-line option of the process: all are read before.
  std::string path = options.path, report = options.report;
  DiagnosticsFormat format = options.diagnostics;
  Expected<CompileRequest> request = makeRequest(options);
  Error error =
      request ? compileNetwork(std::move(*request), path, report, format) : request.takeError();
  if (!error)
    return 0;
  print(takeMessages(std::move(error), ""), format);
  return 1;
}

//===- OnnxExport.cpp - the reference model as an ONNX file ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Export/OnnxExport.h"
#include "GraphWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet;
using namespace octet::exporter;

static LogicalResult writeBlock(GraphWriter &writer, Block &block);

/// A group is its ops; its result is the tensor that the body yields.
static LogicalResult writeGroup(GraphWriter &writer, GroupOp group) {
  for (auto [argument, input] : llvm::zip(group.getBody().getArguments(), group.getInputs()))
    writer.setName(argument, writer.nameOf(input));
  writer.passReservation(group.getResult(), group.getYielded());
  if (failed(writeBlock(writer, group.getBody().front())))
    return failure();
  writer.setName(group.getResult(), writer.nameOf(group.getYielded()));
  return success();
}

static LogicalResult writeOp(GraphWriter &writer, Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](nn::ConstantOp constant) { return writeConstant(writer, constant), success(); })
      .Case([&](QuantizeOp quantize) { return writeQuantize(writer, quantize); })
      .Case([&](DequantizeOp dequantize) { return writeDequantize(writer, dequantize); })
      .Case([&](DequantizeWeightsOp weights) { return writeDequantizeWeights(writer, weights); })
      .Case<ChooseQParamsOp, QuantizeDynamicOp, DequantizeDynamicOp>(
          [](auto dynamic) -> LogicalResult {
            return dynamic.emitOpError("has no ONNX operator: its scale is chosen in each run")
                   << Remedy("give the QConfig observers that are not dynamic, or quantize with "
                             "--static-scales where the recipe chose so");
          })
      .Case([&](GroupOp group) { return writeGroup(writer, group); })
      .Case([&](ObserveOp observe) {
        return writer.setName(observe.getResult(), writer.nameOf(observe.getInput())), success();
      })
      .Default([&](Operation *other) { return writeOperator(writer, other); });
}

/// Reports all ops without a counterpart in ONNX, not only the first.
static LogicalResult writeBlock(GraphWriter &writer, Block &block) {
  bool failedAny = false;
  for (Operation &op : block.without_terminator())
    failedAny |= failed(writeOp(writer, &op));
  return failure(failedAny);
}

static std::string getInterfaceName(DictionaryAttr attributes, const Twine &otherwise) {
  auto name = attributes ? attributes.getAs<StringAttr>(nn::kNameAttr) : StringAttr();
  return name ? name.str() : otherwise.str();
}

static void addInputs(GraphWriter &writer, func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    std::string name =
        writer.makeUnique(getInterfaceName(function.getArgAttrDict(i), "input" + Twine(i)));
    writer.addInterface(*writer.graph.add_input(), name, argument.getType());
    writer.setName(argument, name);
  }
}

/// Outputs have the names of the function's results: the op that computes one gets that name; a
/// value with another name (an input, a constant, a value returned twice) is copied.
static void addOutputs(GraphWriter &writer, func::FuncOp function, ArrayRef<std::string> names) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [name, value] : llvm::zip(names, terminator->getOperands())) {
    if (writer.nameOf(value) != name)
      writer.addNode("Identity", writer.nameOf(value), name);
    writer.addInterface(*writer.graph.add_output(), name, value.getType());
  }
}

static LogicalResult writeFunction(onnx::GraphProto &graph, func::FuncOp function) {
  GraphWriter writer(graph);
  addInputs(writer, function);
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<std::string> outputs;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    outputs.push_back(
        writer.makeUnique(getInterfaceName(function.getResultAttrDict(i), "output" + Twine(i))));
    writer.reserve(operand.get(), outputs.back());
  }
  if (failed(writeBlock(writer, function.getBody().front())))
    return failure();
  addOutputs(writer, function, outputs);
  return success();
}

LogicalResult octet::exportOnnx(ModuleOp module, llvm::raw_ostream &os) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || function.isDeclaration() || !llvm::hasSingleElement(function.getBody()))
    return module.emitError("expected a function 'main' with one block");
  onnx::ModelProto model;
  model.set_ir_version(9);
  model.set_producer_name("octet");
  model.mutable_graph()->set_name("main");
  if (failed(writeFunction(*model.mutable_graph(), function)))
    return failure();
  model.add_opset_import()->set_version(20);
  if (llvm::any_of(model.graph().node(),
                   [](const onnx::NodeProto &node) { return node.domain() == kMicrosoft; })) {
    onnx::OperatorSetIdProto *import = model.add_opset_import();
    import->set_domain(kMicrosoft.str());
    import->set_version(1);
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    return module.emitError("does not fit into one ONNX file (2 GB)");
  os << bytes;
  return success();
}

void octet::registerOnnxExport() {
  static TranslateFromMLIRRegistration registration(
      "export-onnx", "write the float network or the reference model (QDQ) as an ONNX file",
      [](ModuleOp module, llvm::raw_ostream &os) { return exportOnnx(module, os); },
      [](DialectRegistry &registry) {
        registry.insert<func::FuncDialect, quant::QuantDialect, nn::NNDialect, OctetDialect>();
      });
}

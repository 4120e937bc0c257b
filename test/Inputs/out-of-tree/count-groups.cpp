// A tool outside Octet's tree: fuses a network with a given backend and says how many groups there
// are.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Quantize/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantDialect, octet::nn::NNDialect,
                  octet::OctetDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  octet::AttachPolicyPassOptions options;
  options.backend = argv[2];
  mlir::PassManager manager(&context);
  manager.addPass(octet::createAttachPolicyPass(options));
  manager.addPass(octet::createFusePass());
  if (!module || failed(manager.run(*module)))
    return 1;
  int64_t numGroups = 0;
  module->walk([&](octet::GroupOp) { ++numGroups; });
  llvm::outs() << numGroups << " groups\n";
  return 0;
}

//===- LowerProgram.cpp - steps to functions over the frame ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Codegen/Codegen.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace octet {
#define GEN_PASS_DEF_LOWERPROGRAMPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {

/// Fields of octet_frame (octet/Runtime/octet.h): pointers, in the order of kernel::Space.
constexpr int64_t kPointerBytes = 8;

/// See Passes.td.
struct LowerProgram : octet::impl::LowerProgramPassBase<LowerProgram> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<kernel::ProgramOp>()) {
      int64_t number = 0;
      for (auto step : llvm::make_early_inc_range(program.getBody().getOps<kernel::StepOp>()))
        lowerStep(step, number++);
    }
  }

private:
  void lowerStep(kernel::StepOp step, int64_t number);
  Value getAddress(ImplicitLocOpBuilder &b, Value frame, kernel::ArgAttr argument);
};

} // namespace

static Value offsetBy(ImplicitLocOpBuilder &b, Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  // As an operand: the op's own constants have 29 bits, and a large network's weights more bytes.
  Value offset = LLVM::ConstantOp::create(b, b.getI64Type(), bytes);
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, LLVM::GEPArg(offset));
}

Value LowerProgram::getAddress(ImplicitLocOpBuilder &b, Value frame, kernel::ArgAttr argument) {
  auto type = LLVM::LLVMPointerType::get(b.getContext());
  bool isTable = argument.getSpace() == kernel::Space::input || argument.getSpace() == kernel::Space::output;
  Value base = LLVM::LoadOp::create(b, type, offsetBy(b, frame, (int64_t)argument.getSpace() * kPointerBytes));
  if (!isTable)
    return offsetBy(b, base, argument.getOffset());
  return LLVM::LoadOp::create(b, type, offsetBy(b, base, argument.getOffset() * kPointerBytes));
}

void LowerProgram::lowerStep(kernel::StepOp step, int64_t number) {
  ImplicitLocOpBuilder b(UnknownLoc::get(&getContext()), &getContext());
  b.setInsertionPointToEnd(getOperation().getBody());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, b.getI64Type(), b.getI64Type()});
  auto level = step->getParentOfType<kernel::ProgramOp>().getLevel();
  auto func = LLVM::LLVMFuncOp::create(b, (level + "_step" + llvm::Twine(number)).str(), type);
  func->setAttr("passthrough", b.getStrArrayAttr({"minsize", "optsize"}));
  Block *block = func.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments;
  for (auto argument : step.getArgs().getAsRange<kernel::ArgAttr>())
    arguments.push_back(getAddress(b, block->getArgument(0), argument));
  for (int64_t bound : step.getBounds())
    arguments.push_back(LLVM::ConstantOp::create(b, b.getI64Type(), bound));
  arguments.push_back(block->getArgument(1));
  arguments.push_back(block->getArgument(2));
  LLVM::CallOp::create(b, TypeRange{}, step.getKernelAttr(), arguments);
  LLVM::ReturnOp::create(b, ValueRange{});
  step.setKernel(func.getSymName());
  step.setArgsAttr(b.getArrayAttr({}));
  step.setBounds({});
}

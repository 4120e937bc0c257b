//===- Outline.cpp - kernel functions told apart by their code ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outline.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// An index that a step can give as an argument, where it has 32 bits.
static bool isBound(arith::ConstantOp constant) {
  return constant.getType().isIndex() &&
         llvm::isInt<32>(cast<IntegerAttr>(constant.getValue()).getInt());
}

namespace {
/// Writes the outline of a function.
class OutlineWriter {
public:
  explicit OutlineWriter(Outline &outline) : outline(outline) {}

  void write(func::FuncOp func) {
    for (NamedAttribute attribute : func->getDiscardableAttrs()) {
      add(attribute.getName().getAsOpaquePointer());
      add(attribute.getValue().getAsOpaquePointer());
    }
    add(nullptr);
    add(func.getArgAttrsAttr().getAsOpaquePointer());
    write(func.getBody());
  }

private:
  void add(const void *item) { outline.structure.push_back(item); }
  void add(size_t number) { add(reinterpret_cast<const void *>(number)); }

  void write(Region &region) {
    add(region.getBlocks().size());
    for (Block &block : region)
      blocks[&block] = blocks.size() + 1;
    for (Block &block : region) {
      add(block.getNumArguments());
      for (BlockArgument argument : block.getArguments())
        define(argument, withoutExtent(argument.getType()));
      for (Operation &op : block)
        write(op);
      add(nullptr);
    }
  }

  void write(Operation &op) {
    add(op.getName().getAsOpaquePointer());
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (constant && isBound(constant))
      outline.bounds.push_back(constant);
    else
      add(op.getAttrDictionary().getAsOpaquePointer());
    add(op.getNumOperands());
    for (Value operand : op.getOperands())
      add(numbers.lookup(operand));
    add(op.getNumResults());
    for (Value result : op.getResults())
      define(result, result.getType());
    add(op.getNumSuccessors());
    for (Block *successor : op.getSuccessors())
      add(blocks.lookup(successor));
    add(op.getNumRegions());
    for (Region &region : op.getRegions())
      write(region);
  }

  /// An argument's extent is that of the largest function; memory that a function allocates is of
  /// its own size.
  static Type withoutExtent(Type type) {
    auto memory = dyn_cast<MemRefType>(type);
    return memory && memory.getRank() == 1
               ? MemRefType::get({ShapedType::kDynamic}, memory.getElementType())
               : type;
  }

  void define(Value value, Type type) {
    add(type.getAsOpaquePointer());
    numbers[value] = numbers.size() + 1;
  }

  Outline &outline;
  llvm::DenseMap<Value, size_t> numbers;
  llvm::DenseMap<Block *, size_t> blocks;
};
} // namespace

Outline::Outline(func::FuncOp func) { OutlineWriter(*this).write(func); }

std::vector<const void *> codegen::getCodeKey(func::FuncOp func) {
  Outline outline(func);
  std::vector<const void *> key = std::move(outline.structure);
  for (arith::ConstantOp bound : outline.bounds)
    key.push_back(bound.getValue().getAsOpaquePointer());
  key.push_back(func.getFunctionType().getAsOpaquePointer());
  return key;
}

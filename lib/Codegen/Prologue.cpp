//===- Prologue.cpp - what a model prepares when it is made ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prologue.h"
#include "octet/Runtime/records.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// The step that writes this byte of prepared memory, or null for an address in the weights.
const Prologue::Step *Prologue::findStep(kernel::ArgAttr address) const {
  if (address.getSpace() != kernel::Space::prepared)
    return nullptr;
  return llvm::partition_point(steps,
                               [&](const Step &step) { return step.end <= address.getOffset(); });
}

kernel::ArgAttr Prologue::add(const Preparation &preparation) {
  SmallVector<kernel::ArgAttr> sources{preparation.source.address};
  if (preparation.order)
    sources.push_back(preparation.order->address);
  std::string key;
  llvm::raw_string_ostream os(key);
  os << preparation.function << '(';
  for (kernel::ArgAttr source : sources) {
    if (const Step *step = findStep(source))
      os << step->key << " at " << source.getOffset() - step->offset << ' ';
    else
      os << source.getOffset() << ' ';
  }
  for (int64_t bound : preparation.bounds)
    os << ' ' << bound;
  os << ')' << preparation.range;
  auto [it, isNew] = numbers.try_emplace(key, steps.size());
  MLIRContext *context = sources[0].getContext();
  if (isNew) {
    int64_t bytes = preparation.target.getNumElements() *
                    preparation.target.getElementTypeBitWidth() / 8,
            offset = steps.empty() ? 0 : steps.back().end;
    steps.push_back({key, FlatSymbolRefAttr::get(context, preparation.function), sources,
                     preparation.bounds, preparation.range, offset,
                     offset + (int64_t)llvm::alignTo(bytes, OCTET_MEMORY_UNIT)});
  }
  return kernel::ArgAttr::get(context, kernel::Space::prepared, steps[it->second].offset);
}

/// Lays out the prepared memory in this order of the steps, which become those of the first
/// program.
void Prologue::emit(ArrayRef<size_t> order) {
  SmallVector<int64_t> offsets(steps.size());
  int64_t bytes = 0;
  for (size_t number : order) {
    offsets[number] = bytes;
    bytes += steps[number].end - steps[number].offset;
  }
  auto place = [&](kernel::ArgAttr address) {
    const Step *step = findStep(address);
    return step ? kernel::ArgAttr::get(address.getContext(), kernel::Space::prepared,
                                       offsets[step - steps.begin()] + address.getOffset() -
                                           step->offset)
                : address;
  };
  for (kernel::ProgramOp program : programs) {
    Builder attributes(program.getContext());
    for (auto step : program.getBody().getOps<kernel::StepOp>())
      step.setArgsAttr(attributes.getArrayAttr(llvm::map_to_vector(
          step.getArgs().getAsRange<kernel::ArgAttr>(),
          [&](kernel::ArgAttr address) -> Attribute { return place(address); })));
    program.setPreparedBytes(bytes);
  }
  if (steps.empty())
    return;
  kernel::ProgramOp program = programs.front();
  auto builder = OpBuilder::atBlockBegin(&program.getPrologue().emplaceBlock());
  for (size_t number : order) {
    const Step &step = steps[number];
    SmallVector<Attribute> arguments;
    for (kernel::ArgAttr source : step.sources)
      arguments.push_back(place(source));
    arguments.push_back(
        kernel::ArgAttr::get(builder.getContext(), kernel::Space::prepared, offsets[number]));
    kernel::StepOp::create(builder, program.getLoc(), step.function,
                           builder.getArrayAttr(arguments),
                           builder.getDenseI64ArrayAttr(step.bounds),
                           builder.getI64IntegerAttr(step.range), /*shared_level=*/StringAttr());
  }
}

void codegen::emitPrologues(ArrayRef<Prologue> prologues) {
  struct Use {
    size_t rank;        ///< in the order of first uses: a step follows the one it reads from
    uint64_t users = 0; ///< a bit for each level
  };
  llvm::StringMap<Use> uses;
  for (auto [level, prologue] : llvm::enumerate(prologues))
    for (const Prologue::Step &step : prologue.steps)
      uses.try_emplace(step.key, Use{uses.size()}).first->second.users |= uint64_t(1) << level;
  for (Prologue prologue : prologues) {
    auto order = llvm::to_vector(llvm::seq(prologue.steps.size()));
    llvm::sort(order, [&](size_t a, size_t b) {
      Use left = uses.lookup(prologue.steps[a].key), right = uses.lookup(prologue.steps[b].key);
      return std::make_tuple(llvm::popcount(right.users), right.users, left.rank) <
             std::make_tuple(llvm::popcount(left.users), left.users, right.rank);
    });
    prologue.emit(order);
  }
}

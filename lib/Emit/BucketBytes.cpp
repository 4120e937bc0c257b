//===- BucketBytes.cpp - what smaller buckets add to a library ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace octet;

static ArrayRef<StepInfo> getLargest(const LevelCode &level) {
  return ArrayRef(level.steps).take_front(level.countSteps(0));
}

static ArrayRef<StepInfo> getSmaller(const LevelCode &level) {
  return ArrayRef(level.steps).drop_front(level.countSteps(0));
}

/// Records and arguments of the steps of the largest bucket, or of all.
static int64_t countTableBytes(ArrayRef<LevelCode> levels, bool isAll) {
  ArgumentLists lists;
  int64_t records = 0;
  for (const LevelCode &level : levels)
    for (const StepInfo &step : isAll ? ArrayRef(level.steps) : getLargest(level)) {
      lists.add(step.addresses);
      lists.add(step.bounds);
      records += sizeof(octet_step_record);
    }
  return records + lists.getValues().size() * sizeof(int32_t);
}

/// The weights from each address that a step has up to the next, if only smaller buckets have it.
static int64_t countWeightsBytes(const ProgramInfo &program, ArrayRef<LevelCode> levels) {
  std::map<int64_t, bool> isLargests; // by offset
  auto note = [&](ArrayRef<StepInfo> steps, bool isLargest) {
    for (const StepInfo &step : steps)
      for (StepAddress address : step.addresses)
        if (address.space == OCTET_WEIGHTS)
          isLargests[address.offset] |= isLargest;
  };
  for (const LevelCode &level : levels) {
    note(level.prologue, true);
    note(getLargest(level), true);
    note(getSmaller(level), false);
  }
  int64_t bytes = 0;
  for (auto it = isLargests.begin(); it != isLargests.end(); ++it)
    if (!it->second)
      bytes += (std::next(it) == isLargests.end() ? (int64_t)program.weights.size()
                                                  : std::next(it)->first) -
               it->first;
  return bytes;
}

/// The code of kernels that only smaller buckets call.
static int64_t countCodeBytes(StringRef prefix, ArrayRef<LevelCode> levels,
                              ArrayRef<Bytes> objects) {
  StringSet<> largest, smaller;
  for (const LevelCode &level : levels) {
    for (const StepInfo &step : getLargest(level))
      largest.insert(getStepSymbol(prefix, level.level, step));
    for (const StepInfo &step : getSmaller(level))
      smaller.insert(getStepSymbol(prefix, level.level, step));
  }
  int64_t bytes = 0;
  for (const Bytes &object : objects) {
    auto file = object::ObjectFile::createObjectFile(
        MemoryBufferRef(StringRef(object.data(), object.size()), "part"));
    if (!file) {
      consumeError(file.takeError());
      continue;
    }
    for (object::ELFSymbolRef symbol : (*file)->symbols()) {
      Expected<StringRef> name = symbol.getName();
      if (!name)
        consumeError(name.takeError());
      else if (smaller.contains(*name) && !largest.contains(*name))
        bytes += symbol.getSize();
    }
  }
  return bytes;
}

int64_t octet::countBucketBytes(const ProgramInfo &program, ArrayRef<LevelCode> levels,
                                ArrayRef<Bytes> objects) {
  if (program.smallerBuckets.empty())
    return 0;
  return countTableBytes(levels, true) - countTableBytes(levels, false) +
         countWeightsBytes(program, levels) +
         countCodeBytes(getSymbolPrefix(program.name), levels, objects);
}

//===- Link.cpp - liblld in process -----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace octet;

namespace {
/// A folder for the linker, which reads and writes nothing but files; removed with what is in it.
class TemporaryFolder {
public:
  static Expected<std::unique_ptr<TemporaryFolder>> create() {
    auto folder = std::make_unique<TemporaryFolder>();
    if (std::error_code code = sys::fs::createUniqueDirectory("octet-link", folder->path))
      return createStringError(code, "cannot make a temporary folder '" + folder->path.str() + "': " + code.message());
    return folder;
  }
  ~TemporaryFolder() { sys::fs::remove_directories(path); }

  std::string file(const Twine &name) const {
    SmallString<128> result(path);
    sys::path::append(result, name);
    return std::string(result);
  }

private:
  SmallString<128> path;
};
} // namespace

static std::vector<std::string> getArguments(OutputKind kind, StringRef output) {
  std::vector<std::string> arguments = {"ld.lld", "-o", output.str(), "--threads=1", "--build-id=none"};
  if (kind == OutputKind::Object)
    arguments.push_back("-r");
  else
    arguments.insert(arguments.end(), {"-shared", "-Bsymbolic", "-O2", "--hash-style=gnu", "--gc-sections", "-z", "relro", "-z", "now",
                                       "-z", "noexecstack"});
  return arguments;
}

/// liblld has global state: one link at a time.
static Error runLinker(ArrayRef<std::string> arguments) {
  static std::mutex mutex;
  static bool canRunAgain = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!canRunAgain)
    return createStringError("the linker failed earlier in this process and cannot run again");
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  canRunAgain = result.canRunAgain;
  if (result.retCode)
    return createStringError("linking failed: " + StringRef(messages).rtrim());
  return Error::success();
}

Expected<Bytes> octet::linkObjects(ArrayRef<Bytes> objects, OutputKind kind) {
  auto folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  std::string output = (*folder)->file("output");
  std::vector<std::string> arguments = getArguments(kind, output);
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back((*folder)->file(Twine(i) + ".o"));
    if (Error error = writeFileAtomically(arguments.back(), objects[i]))
      return error;
  }
  if (Error error = runLinker(arguments))
    return error;
  auto buffer = MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read '" + output + "': " + buffer.getError().message());
  return Bytes((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
}

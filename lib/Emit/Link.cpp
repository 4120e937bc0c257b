//===- Link.cpp - liblld in process -----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "lld/Common/Driver.h"
#include <fcntl.h>
#include <mutex>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace octet;

static std::vector<std::string> getArguments(const EmitOptions &options, StringRef output) {
  std::vector<std::string> arguments = {"ld.lld", "-o", output.str(), "--threads=1",
                                        "--build-id=none"};
  if (options.kind == OutputKind::Object)
    arguments.push_back("-r");
  else
    arguments.insert(arguments.end(),
                     {"-shared", "-Bsymbolic", "-O2", "--hash-style=gnu", "--gc-sections", "-z",
                      "relro", "-z", "now", "-z", "noexecstack"});
  if (options.hasUnwindTables)
    arguments.push_back("--eh-frame-hdr"); // by which unwinders find them
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

namespace {
/// A path whose writers' output becomes bytes in memory. It is a pipe: a regular file the linker
/// would write beside its place first, and a file in memory has no folder.
class OutputPipe {
public:
  static Expected<std::unique_ptr<OutputPipe>> create() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
      return createStringError(Twine("cannot make a pipe: ") + std::strerror(errno));
    return std::make_unique<OutputPipe>(ends[0], ends[1]);
  }
  OutputPipe(int readEnd, int writeEnd)
      : readEnd(readEnd), writeEnd(writeEnd), reader([this] { readAll(); }) {}
  ~OutputPipe() { finish(); }

  std::string getPath() const { return "/proc/self/fd/" + std::to_string(writeEnd); }

  /// The bytes that were written before all writers closed the path.
  Bytes finish() {
    if (reader.joinable()) {
      close(writeEnd);
      reader.join();
      close(readEnd);
    }
    return std::move(bytes);
  }

private:
  void readAll() {
    char buffer[1 << 16];
    for (ssize_t count; (count = read(readEnd, buffer, sizeof(buffer))) != 0;)
      if (count > 0)
        bytes.append(buffer, buffer + count);
      else if (errno != EINTR)
        return;
  }

  int readEnd, writeEnd;
  Bytes bytes;
  std::thread reader; // last: it uses the others
};
} // namespace

/// The linker reads and writes only files. These are in memory, so that there is no folder that
/// others could write to or that a signal would leave behind.
Expected<Bytes> octet::linkObjects(ArrayRef<Bytes> objects, const MemoryFile &weights,
                                   const EmitOptions &options) {
  Expected<std::unique_ptr<OutputPipe>> output = OutputPipe::create();
  if (!output)
    return output.takeError();
  std::vector<std::string> arguments = getArguments(options, (*output)->getPath());
  std::vector<MemoryFile> inputs;
  for (const Bytes &object : objects) {
    Expected<MemoryFile> input = MemoryFile::create(ArrayRef<char>(object));
    if (!input)
      return input.takeError();
    arguments.push_back(input->getPath());
    inputs.push_back(std::move(*input));
  }
  arguments.push_back(weights.getPath());
  if (Error error = runLinker(arguments))
    return std::move(error);
  return (*output)->finish();
}

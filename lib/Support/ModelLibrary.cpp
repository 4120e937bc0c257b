//===- ModelLibrary.cpp - loads a compiled network --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/ModelLibrary.h"
#include "octet/Support/Quote.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace octet;

static Error cannotLoad(StringRef path, const Twine &reason) {
  return createStringError("cannot load '" + path + "': " + reason);
}

/// The exported symbol that ends in OCTET_ENTRY_SUFFIX.
static Expected<std::string> findEntry(StringRef path, StringRef bytes) {
  auto file = object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, path));
  if (!file)
    return cannotLoad(path, toString(file.takeError()));
  auto *elf = dyn_cast<object::ELFObjectFileBase>(file->get());
  if (!elf || elf->getEType() != ELF::ET_DYN)
    return cannotLoad(path, "not a shared library");
  Triple host(sys::getProcessTriple());
  if (elf->getArch() != host.getArch())
    return cannotLoad(path, "made for " + Triple::getArchTypeName(elf->getArch()) +
                                ", but this machine is " + host.getArchName());
  for (const object::ELFSymbolRef &symbol : elf->getDynamicSymbolIterators()) {
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return cannotLoad(path, toString(name.takeError()));
    if (name->ends_with(OCTET_ENTRY_SUFFIX) && symbol.getELFType() == ELF::STT_FUNC)
      return name->str();
  }
  return cannotLoad(
      path,
      "not a network compiled by Octet (it exports no symbol that ends in " OCTET_ENTRY_SUFFIX ")");
}

namespace {
struct FileDescriptor {
  int number;
  ~FileDescriptor() {
    if (number >= 0)
      close(number);
  }
};
} // namespace

/// Loads the library behind an open file. By its descriptor and not by its path: the loader would
/// hand out an older library again that it once loaded from the same path. The number must stay
/// taken as long as the library is loaded.
static Expected<std::pair<void *, const octet_model_api *>> open(StringRef path, StringRef bytes,
                                                                 int descriptor) {
  Expected<std::string> entry = findEntry(path, bytes);
  if (!entry)
    return entry.takeError();
  void *handle =
      dlopen(("/proc/self/fd/" + Twine(descriptor)).str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return cannotLoad(path, dlerror());
  auto function = reinterpret_cast<octet_entry_fn>(dlsym(handle, entry->c_str()));
  const octet_model_api *api = function ? function() : nullptr;
  if (!api || api->abi != OCTET_ABI) {
    int32_t abi = api ? api->abi : 0;
    dlclose(handle);
    return cannotLoad(path, "made for version " + Twine(abi) + " of the interface, expected " +
                                Twine(OCTET_ABI));
  }
  return std::make_pair(handle, api);
}

Expected<std::unique_ptr<ModelLibrary>> ModelLibrary::load(StringRef path) {
  // Without waiting for the other end of a pipe.
  FileDescriptor file{::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.number < 0 || fstat(file.number, &status))
    return cannotLoad(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return cannotLoad(path, "not a regular file");
  auto buffer = MemoryBuffer::getOpenFile(file.number, path, /*FileSize=*/-1,
                                          /*RequiresNullTerminator=*/false);
  if (!buffer)
    return cannotLoad(path, buffer.getError().message());
  auto opened = open(path, (*buffer)->getBuffer(), file.number);
  if (!opened)
    return opened.takeError();
  return std::unique_ptr<ModelLibrary>(
      new ModelLibrary(opened->first, opened->second, std::exchange(file.number, -1)));
}

Expected<std::unique_ptr<ModelLibrary>> ModelLibrary::loadBytes(ArrayRef<char> bytes,
                                                                const MemoryFile *weights) {
  StringRef path = "library in memory", view(bytes.data(), bytes.size());
  FileDescriptor file{memfd_create("octet-model", MFD_CLOEXEC)};
  if (file.number < 0)
    return cannotLoad(path, std::strerror(errno));
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = write(file.number, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR)
      return cannotLoad(path, std::strerror(errno));
    done += count > 0 ? count : 0;
  }
  auto opened = open(path, view, file.number);
  if (!opened)
    return opened.takeError();
  std::unique_ptr<ModelLibrary> library(
      new ModelLibrary(opened->first, opened->second, std::exchange(file.number, -1)));
  const octet_descriptor &descriptor = library->descriptor();
  if (weights)
    if (Error error = weights->mapTo(descriptor.weights, descriptor.weights_bytes))
      return std::move(error);
  return std::move(library);
}

ModelLibrary::~ModelLibrary() {
  dlclose(handle);
  close(descriptorNumber);
}

Expected<ModelPtr> octet::createModel(const ModelLibrary &library, int threads, StringRef level) {
  char error[512];
  std::string name = level.str();
  octet_model *model =
      library.api().create(threads, level.empty() ? nullptr : name.c_str(), error, sizeof(error));
  if (!model)
    return createStringError(Twine(error));
  return ModelPtr(model, ModelDeleter{&library.api()});
}

Error octet::checkRun(int32_t code, const octet_program &program) {
  if (code == 0)
    return Error::success();
  if (code >= 2)
    return createStringError("the operator '" + escapeText(program.steps[code - 2].name) +
                             "' met an index outside of the tensor that it points into (code " +
                             Twine(code) + ")");
  return createStringError("the network did not run (code " + Twine(code) +
                           "): an input's or output's memory, or a step, is not there");
}

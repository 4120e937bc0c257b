//===- Library.cpp - a compiled network in this process ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

using namespace octet::python;

namespace {
#if defined(__x86_64__)
constexpr Elf64_Half hostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half hostMachine = EM_AARCH64;
#else
#error "Octet compiles for x86-64 and AArch64"
#endif

/// The parts of an ELF file that say what it exports. Everything is checked against the size before
/// it is touched.
class ElfFile {
public:
  ElfFile(std::string_view bytes, const std::string &name) : bytes(bytes), name(name) {}

  /// The name of the exported function that ends in OCTET_ENTRY_SUFFIX.
  std::string findEntry() const;

  [[noreturn]] void fail(const std::string &reason) const {
    throw std::runtime_error("cannot load '" + name + "': " + reason);
  }

private:
  /// A copy of the T at an offset (the bytes need not be aligned).
  template <typename T> T read(uint64_t offset) const {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
      fail("the file is cut off");
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }

  std::string_view readString(const Elf64_Shdr &table, uint64_t offset) const;
  Elf64_Ehdr readHeader() const;

  std::string_view bytes;
  const std::string &name;
};
} // namespace

Elf64_Ehdr ElfFile::readHeader() const {
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    fail("not a shared library");
  auto header = read<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_type != ET_DYN)
    fail("not a shared library");
  if (header.e_machine != hostMachine)
    fail("made for another architecture than this machine's");
  return header;
}

std::string_view ElfFile::readString(const Elf64_Shdr &table, uint64_t offset) const {
  if (table.sh_offset > bytes.size() || table.sh_size > bytes.size() - table.sh_offset ||
      offset >= table.sh_size)
    fail("the file is cut off");
  std::string_view rest = bytes.substr(table.sh_offset + offset, table.sh_size - offset);
  return rest.substr(0, rest.find('\0'));
}

std::string ElfFile::findEntry() const {
  Elf64_Ehdr header = readHeader();
  for (uint64_t section = 0; section < header.e_shnum; ++section) {
    auto symbols = read<Elf64_Shdr>(header.e_shoff + section * sizeof(Elf64_Shdr));
    if (symbols.sh_type != SHT_DYNSYM)
      continue;
    auto strings = read<Elf64_Shdr>(header.e_shoff + symbols.sh_link * sizeof(Elf64_Shdr));
    for (uint64_t offset = 0; offset < symbols.sh_size; offset += sizeof(Elf64_Sym)) {
      auto symbol = read<Elf64_Sym>(symbols.sh_offset + offset);
      std::string_view text = readString(strings, symbol.st_name), suffix = OCTET_ENTRY_SUFFIX;
      bool isFunction = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
      if (isFunction && text.size() >= suffix.size() &&
          text.substr(text.size() - suffix.size()) == suffix)
        return std::string(text);
    }
  }
  fail("not a network compiled by Octet (it exports no symbol that ends in " OCTET_ENTRY_SUFFIX
       ")");
}

/// A file in memory with the given content. Each is new to the loader, which would hand out an
/// older library again that it once loaded from the same path; and nobody can change it while its
/// code runs.
static int writeMemoryFile(std::string_view bytes, const ElfFile &file) {
  int descriptor = memfd_create("octet-model", MFD_CLOEXEC);
  if (descriptor < 0)
    file.fail(std::strerror(errno));
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR) {
      int reason = errno;
      close(descriptor);
      file.fail(std::strerror(reason));
    }
    done += count > 0 ? count : 0;
  }
  return descriptor;
}

std::shared_ptr<Library> Library::load(std::string_view bytes, const std::string &name) {
  ElfFile file(bytes, name);
  std::string entry = file.findEntry();
  std::shared_ptr<Library> library(new Library);
  library->descriptor = writeMemoryFile(bytes, file);
  std::string path = "/proc/self/fd/" + std::to_string(library->descriptor);
  library->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle)
    file.fail(dlerror());
  auto function = reinterpret_cast<octet_entry_fn>(dlsym(library->handle, entry.c_str()));
  library->table = function ? function() : nullptr;
  if (!library->table || library->table->abi != OCTET_ABI)
    file.fail("made for version " + std::to_string(library->table ? library->table->abi : 0) +
              " of the interface, expected " + std::to_string(OCTET_ABI));
  return library;
}

Library::~Library() {
  if (handle)
    dlclose(handle);
  if (descriptor >= 0)
    close(descriptor);
}

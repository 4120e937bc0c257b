//===- Weights.cpp - the weights as an object file ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights in LLVM IR would be copied three times on their way through its code generator: as a
// constant, as a fragment of a section and as a part of the object. An object that is written
// around them has them once.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/BinaryFormat/ELF.h"

using namespace llvm;
using namespace octet;

namespace {
/// Whole pages of every machine, so that a file can be mapped there.
constexpr uint64_t kLargestPage = 1 << 16;

/// The sections, in the order of their headers.
enum Section { none, data, stack, symbols, symbolNames, sectionNames, numSections };

/// Names, each with a zero behind it.
class StringTable {
public:
  uint32_t add(StringRef name) {
    uint32_t place = bytes.size();
    bytes += name;
    bytes.push_back('\0');
    return place;
  }
  StringRef get() const { return bytes; }

private:
  std::string bytes = std::string(1, '\0');
};

/// What follows the weights in the file, and the headers of its sections.
class Trailer {
public:
  explicit Trailer(uint64_t begin) : begin(begin) {}

  void add(Section section, uint32_t type, StringRef name, StringRef contents) {
    pad();
    describe(section, type, name, getEnd(), contents.size());
    append_range(bytes, contents);
  }
  void describe(Section section, uint32_t type, StringRef name, uint64_t offset, uint64_t size) {
    ELF::Elf64_Shdr &header = headers[section];
    header.sh_type = type;
    header.sh_name = names.add(name);
    header.sh_offset = offset;
    header.sh_size = size;
    header.sh_addralign = 1;
  }
  ELF::Elf64_Shdr &operator[](Section section) { return headers[section]; }

  /// Adds the names and the headers; returns the place of these in the file.
  uint64_t finish() {
    uint32_t name = names.add(".shstrtab");
    add(sectionNames, ELF::SHT_STRTAB, "", names.get());
    headers[sectionNames].sh_name = name;
    pad();
    uint64_t place = getEnd();
    append_range(bytes, ArrayRef(reinterpret_cast<const char *>(headers), sizeof(headers)));
    return place;
  }
  ArrayRef<char> get() const { return bytes; }

private:
  uint64_t getEnd() const { return begin + bytes.size(); }
  void pad() { bytes.resize(alignTo(getEnd(), 8) - begin); }

  uint64_t begin;
  Bytes bytes;
  StringTable names;
  ELF::Elf64_Shdr headers[numSections] = {};
};
} // namespace

template <typename T> static StringRef getBytes(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

static ELF::Elf64_Ehdr makeHeader(Triple::ArchType arch, uint64_t sections) {
  ELF::Elf64_Ehdr header = {};
  llvm::copy(StringRef(ELF::ElfMagic, 4), header.e_ident);
  header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = ELF::ET_REL;
  header.e_machine = arch == Triple::aarch64 ? ELF::EM_AARCH64 : ELF::EM_X86_64;
  header.e_version = ELF::EV_CURRENT;
  header.e_shoff = sections;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(ELF::Elf64_Shdr);
  header.e_shnum = numSections;
  header.e_shstrndx = sectionNames;
  return header;
}

/// The symbols: the null one and the weights.
static std::array<ELF::Elf64_Sym, 2> makeSymbols(uint32_t name, uint64_t size) {
  ELF::Elf64_Sym weights = {};
  weights.st_name = name;
  weights.setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  weights.st_other = ELF::STV_HIDDEN;
  weights.st_shndx = data;
  weights.st_size = size;
  return {ELF::Elf64_Sym(), weights};
}

std::string octet::getWeightsSymbol(StringRef prefix) { return (prefix + "_weights").str(); }

Expected<MemoryFile> octet::storeWeights(StringRef prefix, ArrayRef<char> weights,
                                         Triple::ArchType arch, bool leavesOut) {
  static_assert(sizeof(ELF::Elf64_Ehdr) == kWeightsAlignment, "the weights follow the header");
  ArrayRef<char> stored = leavesOut ? ArrayRef<char>() : weights;
  Trailer trailer(kWeightsAlignment + stored.size());
  if (leavesOut) {
    trailer.describe(data, ELF::SHT_NOBITS, ".bss", kWeightsAlignment,
                     alignTo(weights.size(), kLargestPage));
    trailer[data].sh_flags = ELF::SHF_ALLOC | ELF::SHF_WRITE;
    trailer[data].sh_addralign = kLargestPage;
  } else {
    trailer.describe(data, ELF::SHT_PROGBITS, ".rodata", kWeightsAlignment, weights.size());
    trailer[data].sh_flags = ELF::SHF_ALLOC;
    trailer[data].sh_addralign = kWeightsAlignment;
  }
  trailer.add(stack, ELF::SHT_PROGBITS, ".note.GNU-stack", ""); // code does not need it executable
  StringTable names;
  std::array<ELF::Elf64_Sym, 2> table =
      makeSymbols(names.add(getWeightsSymbol(prefix)), weights.size());
  trailer.add(symbols, ELF::SHT_SYMTAB, ".symtab", getBytes(table));
  trailer[symbols].sh_link = symbolNames;
  trailer[symbols].sh_info = 1; // the first global one
  trailer[symbols].sh_entsize = sizeof(ELF::Elf64_Sym);
  trailer[symbols].sh_addralign = alignof(ELF::Elf64_Sym);
  trailer.add(symbolNames, ELF::SHT_STRTAB, ".strtab", names.get());
  ELF::Elf64_Ehdr header = makeHeader(arch, trailer.finish());
  StringRef begin = getBytes(header);
  return MemoryFile::create({ArrayRef(begin.data(), begin.size()), stored, trailer.get()});
}

# cmake -DOUTPUT=x.cpp -DX86_64=a.bc -DAARCH64=b.bc -DHEADER=octet.h -P Embed.cmake
# Writes the runtime's bitcode and header into a C++ file.
function(define_bytes name file)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  file(APPEND ${OUTPUT}.new "static const unsigned char ${name}[] = {\n${hex}};\n\n")
endfunction()

file(WRITE ${OUTPUT}.new "// Generated from lib/Runtime.\n#include \"Internal.h\"\n\n")
define_bytes(x86Bitcode ${X86_64})
define_bytes(aarch64Bitcode ${AARCH64})
define_bytes(header ${HEADER})
file(APPEND ${OUTPUT}.new "
template <size_t size>
static llvm::StringRef view(const unsigned char (&bytes)[size]) {
  return llvm::StringRef(reinterpret_cast<const char *>(bytes), size);
}

llvm::StringRef octet::getRuntimeBitcode(llvm::Triple::ArchType arch) {
  return arch == llvm::Triple::x86_64 ? view(x86Bitcode) : view(aarch64Bitcode);
}

llvm::StringRef octet::getRuntimeHeader() { return view(header); }
")
file(RENAME ${OUTPUT}.new ${OUTPUT})

//===- GoldenRecords.h - PyTorch's recorded results -------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TEST_UNIT_OBSERVERS_GOLDENRECORDS_H
#define OCTET_TEST_UNIT_OBSERVERS_GOLDENRECORDS_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <string>

/// A file of $OCTET_SHARED/spec/<folder>; empty if it is absent.
inline llvm::json::Object readGoldenRecords(llvm::StringRef folder, llvm::StringRef name) {
  const char *shared = getenv("OCTET_SHARED");
  std::string path = std::string(shared ? shared : "../shared") + "/spec/";
  auto file = llvm::MemoryBuffer::getFile(path + folder.str() + "/" + name.str() + ".json");
  return file ? std::move(*llvm::cantFail(llvm::json::parse((*file)->getBuffer())).getAsObject())
              : llvm::json::Object();
}

#endif // OCTET_TEST_UNIT_OBSERVERS_GOLDENRECORDS_H

//===- Npz.h - NumPy's array files ------------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes .npy (one array) and .npz (a zip archive of arrays, stored or deflated). Arrays
// are little-endian and row-major; others are refused. Errors name the file and the array.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_NPZ_H
#define OCTET_SUPPORT_NPZ_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace octet {

/// Element types; `getDTypeName` gives NumPy's name ("float32").
enum class NpyDType { F32, F64, F16, U8, I8, U16, I16, U32, I32, U64, I64, Bool };

llvm::StringRef getDTypeName(NpyDType dtype);
int64_t getDTypeBytes(NpyDType dtype);
/// NumPy's type for an octet_dtype.
NpyDType getNpyDType(int32_t dtype);

/// One array. `name` is empty for a .npy file.
struct NpyArray {
  std::string name;
  NpyDType dtype = NpyDType::F32;
  std::vector<int64_t> shape;
  std::vector<char> data;

  int64_t numElements() const;
};

/// The names of arrays for a message, or the first of many.
std::string listNames(llvm::ArrayRef<NpyArray> arrays);

/// Opens a .npz or .npy (told apart by content) without holding its data: `read` fetches one
/// array's rows [begin, end) of the leading axis at a time, so that memory does not grow with the
/// number of samples. Sequential reading is fast, also of deflated members; going back in a
/// deflated member starts it again.
class NpzReader {
public:
  static llvm::Expected<std::unique_ptr<NpzReader>> open(llvm::StringRef path);
  ~NpzReader();

  /// Names, types and shapes; `data` is empty.
  const std::vector<NpyArray> &headers() const;

  /// The rows [begin, end) of array `index` into `out`, which holds at least that many bytes.
  llvm::Error read(size_t index, int64_t begin, int64_t end, char *out);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
  explicit NpzReader(std::unique_ptr<Impl> impl);
};

/// The bytes of a .npz with all arrays stored; the same arrays give the same bytes. Archives above
/// 4 GiB are an error.
llvm::Expected<std::string> writeNpz(const std::vector<NpyArray> &arrays);

} // namespace octet

#endif // OCTET_SUPPORT_NPZ_H

//===- TensorReader.h - tensors of an ONNX file ------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_TENSORREADER_H
#define OCTET_LIB_IMPORT_ONNX_TENSORREADER_H

#include "HostTensor.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace octet::onnx_import {

/// Decodes TensorProtos, whose values may lie in the message or in files beside the network.
class TensorReader {
public:
  explicit TensorReader(llvm::StringRef folder) : folder(folder) {}

  /// Checks type, dimensions and number of bytes without copying a value.
  llvm::Error check(const onnx::TensorProto &tensor) { return getBytes(tensor).takeError(); }
  llvm::Expected<HostTensorRef> read(const onnx::TensorProto &tensor);

private:
  llvm::Expected<llvm::StringRef> getBytes(const onnx::TensorProto &tensor);
  llvm::Expected<llvm::StringRef> getExternalBytes(const onnx::TensorProto &tensor);
  llvm::Expected<llvm::MemoryBuffer *> openExternal(llvm::StringRef location);

  std::string folder;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
};

/// TensorProto::DataTypes of integers of a few bits, which older versions of ONNX lack. Constants
/// may have them.
inline constexpr int32_t kUInt4 = 21, kInt4 = 22, kUInt2 = 25, kInt2 = 26;
/// The same of floats of 8 and 4 bits, whose values are held as f32.
inline constexpr int32_t kFloat8E4M3FN = 17, kFloat8E4M3FNUZ = 18, kFloat8E5M2 = 19,
                         kFloat8E5M2FNUZ = 20, kFloat4E2M1 = 23, kFloat8E8M0 = 24;

/// Whether tensors of this TensorProto::DataType can be read.
bool isElementTypeSupported(int32_t type);
/// Whether the type is one of floats of 8 or 4 bits.
bool isSmallFloat(int32_t type);
/// "FLOAT", "FLOAT8E5M2", "number 77"
std::string printElementType(int32_t type);

/// An error whose text is the concatenation of the arguments.
llvm::Error makeError(const llvm::Twine &message);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_TENSORREADER_H

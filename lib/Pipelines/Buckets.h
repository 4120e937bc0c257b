//===- Buckets.h - one network for several input shapes ---------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bucket is a module of its own up to the integer program; then all of them become functions of
// one module, from which code generation makes one library. Source: docs/rationale/buckets.md.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_BUCKETS_H
#define OCTET_LIB_PIPELINES_BUCKETS_H

#include "Report.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "octet/Import/Import.h"
#include "octet/Pipelines/Stages.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Error.h"
#include <unordered_map>

namespace octet {

/// The input shapes of a network and the network for them.
struct Bucket {
  InputShapes shapes;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Lets constants of equal content in several modules be one.
class SharedConstants {
public:
  /// Replaces the module's constants by those of modules that were given before, and frees them.
  void share(mlir::ModuleOp module);

private:
  std::unordered_multimap<uint64_t, mlir::DenseResourceElementsAttr> known; ///< by a hash
  llvm::DenseSet<mlir::Attribute> members;
};

/// Notes in each module that it is one of several, and by which share of products all decide.
void markBuckets(llvm::MutableArrayRef<Bucket> buckets);

/// An error if the two differ in more of their inputs, outputs and states than sizes.
llvm::Error checkFit(const Bucket &first, const Bucket &other);

/// An error if a bucket's file was taken through stages.
llvm::Error checkUnstarted(llvm::StringRef file, Stage reached);

/// Sorts buckets that were read from files, the largest first, and notes their shapes. An error if
/// two are of the same shapes, or have other inputs or outputs.
llvm::Error orderBuckets(std::vector<Bucket> &buckets, std::vector<InputShapes> &shapes);

/// An error if a padding names no input of the network or is no value of it.
llvm::Error checkPaddings(const Bucket &bucket, const llvm::StringMap<double> &paddings);

/// Reports the input shapes of all buckets and what the smaller ones cost, and gives "3 buckets ·
/// +4 % per bucket · "; nothing for one bucket.
std::string reportBuckets(llvm::ArrayRef<InputShapes> buckets, int64_t bucketBytes,
                          int64_t libraryBytes, Report &report);

/// The number of the bucket whose inputs have the samples' shapes; 0 if none has.
size_t findBucketOfSamples(llvm::ArrayRef<Bucket> buckets, llvm::ArrayRef<std::string> files);

/// Moves the networks of all buckets into the module of the first one.
mlir::OwningOpRef<mlir::ModuleOp> joinBuckets(std::vector<Bucket> buckets);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_BUCKETS_H

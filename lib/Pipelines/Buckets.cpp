//===- Buckets.cpp - one network for several input shapes -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buckets.h"
#include "RunNetwork.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Quantize/Plan.h"
#include "octet/Support/ConstantMemory.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static ArrayRef<char> getBytes(DenseResourceElementsAttr elements) {
  AsmResourceBlob *blob = elements.getRawHandle().getBlob();
  return blob ? blob->getData() : ArrayRef<char>();
}

void SharedConstants::share(ModuleOp module) {
  StoredConstants dropped;
  module.walk([&](nn::ConstantOp constant) {
    auto elements = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
    if (!elements || members.contains(elements))
      return;
    ArrayRef<char> bytes = getBytes(elements);
    uint64_t hash = llvm::xxh3_64bits(StringRef(bytes.data(), bytes.size()));
    auto [begin, end] = known.equal_range(hash);
    auto equal = std::find_if(begin, end, [&](const auto &entry) {
      return entry.second.getType() == elements.getType() && getBytes(entry.second) == bytes;
    });
    if (equal == end) {
      known.emplace(hash, elements);
      members.insert(elements);
      return;
    }
    constant.setValueAttr(equal->second);
    dropped.insert(elements);
  });
  freeConstants(dropped);
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

static func::FuncOp getNetwork(const Bucket &bucket) {
  return bucket.module.get().lookupSymbol<func::FuncOp>("main");
}

void octet::markBuckets(MutableArrayRef<Bucket> buckets) {
  double largest = 0;
  for (const Bucket &bucket : buckets)
    largest = std::max(largest, getShareOfProducts(getNetwork(bucket).front()));
  for (Bucket &bucket : buckets) {
    Builder builder(bucket.module->getContext());
    (*bucket.module)->setAttr(kBucketAttr, builder.getF64FloatAttr(largest));
  }
}

static bool isAlike(Type a, Type b, bool isState) {
  auto first = cast<RankedTensorType>(a), second = cast<RankedTensorType>(b);
  return first.getElementType() == second.getElementType() &&
         (isState ? first == second : first.getRank() == second.getRank());
}

static std::string printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::Error octet::checkFit(const Bucket &first, const Bucket &other) {
  func::FuncOp a = getNetwork(first), b = getNetwork(other);
  auto compare = [&](StringRef role, TypeRange types, TypeRange otherTypes,
                     llvm::function_ref<Attribute(unsigned, StringRef)> get) -> llvm::Error {
    for (auto [i, type, otherType] : llvm::enumerate(types, otherTypes)) {
      bool isState = (bool)get(i, nn::kStateAttr);
      if (isAlike(type, otherType, isState))
        continue;
      auto name = dyn_cast_or_null<StringAttr>(get(i, nn::kNameAttr));
      return makeRemedyError("the " + (isState ? "state " : role + " ") +
                                 quote(name ? name.getValue() : "") + " is a " + printType(type) +
                                 " for " + printShapes(first.shapes) + ", but a " +
                                 printType(otherType) + " for " + printShapes(other.shapes),
                             isState ? "give it the same shape in every bucket"
                                     : "give shapes that differ in sizes only");
    }
    return llvm::Error::success();
  };
  if (llvm::Error error =
          compare("input", a.getArgumentTypes(), b.getArgumentTypes(),
                  [&](unsigned i, StringRef name) { return a.getArgAttr(i, name); }))
    return error;
  return compare("output", a.getResultTypes(), b.getResultTypes(),
                 [&](unsigned i, StringRef name) { return a.getResultAttr(i, name); });
}

static std::string listNames(unsigned count, llvm::function_ref<Attribute(unsigned)> get) {
  std::string names;
  for (unsigned i = 0; i < count; ++i) {
    auto name = dyn_cast_or_null<StringAttr>(get(i));
    names += " " + quote(name ? name.getValue() : "");
  }
  return names;
}

/// The names of the inputs and of the outputs.
static std::array<std::string, 2> listNames(const Bucket &bucket) {
  func::FuncOp network = getNetwork(bucket);
  return {listNames(network.getNumArguments(),
                    [&](unsigned i) { return network.getArgAttr(i, nn::kNameAttr); }),
          listNames(network.getNumResults(),
                    [&](unsigned i) { return network.getResultAttr(i, nn::kNameAttr); })};
}

static llvm::Error checkNames(const Bucket &first, const Bucket &other) {
  std::array<std::string, 2> names = listNames(first), others = listNames(other);
  for (unsigned i : {0, 1})
    if (names[i] != others[i])
      return makeRemedyError("the " + Twine(i == 0 ? "inputs" : "outputs") + " are" + names[i] +
                                 " for " + printShapes(first.shapes) + ", but" + others[i] +
                                 " for " + printShapes(other.shapes),
                             "give one network for several shapes");
  return llvm::Error::success();
}

llvm::Error octet::checkUnstarted(StringRef file, Stage reached) {
  if (reached <= Stage::Import)
    return llvm::Error::success();
  return makeRemedyError("--bucket takes networks that no stage has passed, but '" +
                             escapeText(file) + "' has passed '" + getName(reached) + "'",
                         "give the networks in front of it");
}

/// The inputs' shapes, by their names.
static InputShapes readShapes(const Bucket &bucket) {
  func::FuncOp network = getNetwork(bucket);
  InputShapes shapes;
  for (BlockArgument argument : network.getArguments())
    if (auto name = network.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kNameAttr))
      shapes[name.str()] =
          llvm::to_vector<4>(cast<RankedTensorType>(argument.getType()).getShape());
  return shapes;
}

static int64_t countElements(const Bucket &bucket) {
  int64_t elements = 0;
  for (Type type : getNetwork(bucket).getArgumentTypes())
    elements += cast<RankedTensorType>(type).getNumElements();
  return elements;
}

llvm::Error octet::orderBuckets(std::vector<Bucket> &buckets, std::vector<InputShapes> &shapes) {
  shapes.clear();
  llvm::stable_sort(buckets, [](const Bucket &a, const Bucket &b) {
    return countElements(a) > countElements(b);
  });
  for (Bucket &bucket : buckets) {
    bucket.shapes = readShapes(bucket);
    if (llvm::is_contained(shapes, bucket.shapes))
      return makeRemedyError("--bucket gives the bucket " + printShapes(bucket.shapes) + " twice",
                             "omit one of them");
    shapes.push_back(bucket.shapes);
    if (llvm::Error error = checkNames(buckets.front(), bucket))
      return error;
  }
  return llvm::Error::success();
}

/// Whether an input can hold a number.
static bool canHold(Type element, double number) {
  if (isa<FloatType>(element))
    return true;
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = width == 1 || element.isUnsignedInteger();
  double most = std::ldexp(1.0, isUnsigned ? width : width - 1); // the first beyond
  return number == std::trunc(number) && number < most && number >= (isUnsigned ? 0 : -most);
}

llvm::Error octet::checkPaddings(const Bucket &bucket, const llvm::StringMap<double> &paddings) {
  func::FuncOp network = getNetwork(bucket);
  llvm::StringMap<Type> inputs;
  std::string names;
  for (BlockArgument argument : network.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = network.getArgAttrOfType<StringAttr>(number, nn::kNameAttr);
    if (!name || nn::getStateOfArgument(network, number))
      continue;
    inputs[name] = cast<RankedTensorType>(argument.getType()).getElementType();
    names += " " + quote(name);
  }
  for (const auto &padding : paddings) {
    auto input = inputs.find(padding.first());
    if (input == inputs.end())
      return llvm::createStringError("--pad names " + quote(padding.first()) +
                                     ", but the inputs are" + names);
    Type element = input->second;
    if (auto quantized = dyn_cast<quant::QuantizedType>(element))
      element = quantized.getExpressedType();
    if (!canHold(element, padding.second))
      return llvm::createStringError("--pad gives " + quote(padding.first()) +
                                     " a number that an element of type " + printType(element) +
                                     " cannot be");
  }
  return llvm::Error::success();
}

std::string octet::reportBuckets(ArrayRef<InputShapes> buckets, int64_t bucketBytes,
                                 int64_t libraryBytes, Report &report) {
  if (buckets.size() < 2)
    return "";
  llvm::json::Array list;
  for (const InputShapes &shapes : buckets) {
    llvm::json::Object object;
    for (const auto &[name, shape] : shapes)
      object[llvm::json::fixUTF8(name)] = llvm::json::Array(shape);
    list.push_back(std::move(object));
  }
  report.set("buckets", std::move(list));
  report.set("bucket_bytes", bucketBytes);
  double percent = 100.0 * bucketBytes / (buckets.size() - 1) / (libraryBytes - bucketBytes);
  return llvm::formatv("{0} buckets · +{1:F1} % per bucket · ", buckets.size(), percent);
}

size_t octet::findBucketOfSamples(ArrayRef<Bucket> buckets, ArrayRef<std::string> files) {
  for (auto [number, bucket] : llvm::enumerate(buckets)) {
    std::vector<octet_tensor> inputs = describeInputs(*bucket.module);
    llvm::Expected<Samples> samples = Samples::open(files, inputs);
    if (samples)
      return number;
    llvm::consumeError(samples.takeError());
  }
  return 0;
}

OwningOpRef<ModuleOp> octet::joinBuckets(std::vector<Bucket> buckets) {
  ModuleOp module = *buckets.front().module;
  module->removeAttr(kBucketAttr);
  for (auto [number, bucket] : llvm::drop_begin(llvm::enumerate(buckets))) {
    func::FuncOp network = getNetwork(bucket);
    network->remove();
    network.setSymName("bucket" + std::to_string(number));
    module.push_back(network);
  }
  return std::move(buckets.front().module);
}

//===- Node.h - one ONNX node during import ---------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_NODE_H
#define OCTET_LIB_IMPORT_ONNX_NODE_H

#include "HostTensor.h"
#include "octet/Dialect/NN/NN.h"
#include "onnx/onnx_pb.h"

namespace octet::onnx_import {

class GraphImporter;

/// What a name of the graph has to do with the rows that a mask chooses, whose number depends on
/// data: their positions, a column, a row or (of one dimension) a number each; sizes that follow
/// from their number; or what all rows would be, along one dimension.
struct Masked {
  enum Kind { columns, rows, places, sizes, elements } kind;
  const onnx::NodeProto *origin; ///< the NonZero or Unique
  mlir::Value mask;              ///< truth values, each of which is that of `repeat` rows
  int64_t repeat = 1;
  Shape shape = {};         ///< of what the origin read
  int64_t axis = 0;         ///< of elements
  HostTensorRef other = {}; ///< of sizes: what they would be of another number of rows

  bool isBySameMask(const Masked &as) const { return mask == as.mask && repeat == as.repeat; }
};

/// The value of a name of the graph: a constant known during import, a value of the program, or a
/// sequence of such.
struct Entry {
  HostTensorRef tensor;
  mlir::Value value;
  /// Of a value of f32 that holds integers: their type in the file (TensorProto::DataType).
  int32_t integers = 0;
  std::shared_ptr<const std::vector<Entry>> sequence = {};
  std::shared_ptr<const Masked> masked = {};
  explicit operator bool() const { return tensor || value || sequence || masked; }
};

/// The name of the first output that the node has; empty if it has none.
llvm::StringRef getFirstOutput(const onnx::NodeProto &node);

/// One ONNX node: its inputs, its attributes (whose names and types the operator table has checked)
/// and its results. An operator's import function takes a Node, sets its results and returns
/// success; or returns what `unsupported` or `invalid` return.
class Node {
public:
  Node(GraphImporter &importer, const onnx::NodeProto &proto, int64_t opset,
       llvm::ArrayRef<Entry> inputs);

  int64_t opset() const { return version; }
  mlir::Location loc() const { return location; }
  mlir::OpBuilder &builder();
  mlir::Type f32() { return builder().getF32Type(); }

  //===--- Inputs ---===//
  unsigned numInputs() const { return inputs.size(); }
  /// Whether input `i` is given; trailing and empty inputs are not.
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  const Entry &entry(unsigned i) const { return inputs[i]; }
  Shape shape(unsigned i) const;
  /// The shapes of all inputs that are given, for a message.
  std::string printInputShapes() const;
  int64_t rank(unsigned i) const { return shape(i).size(); }
  /// Input `i` as a program value, of floats or of any type; a constant becomes an nn.constant.
  llvm::FailureOr<mlir::Value> value(unsigned i);
  llvm::FailureOr<mlir::Value> any(unsigned i);
  /// The TensorProto::DataType of the elements of input `i`; FLOAT for all floats that are no
  /// constants.
  int32_t elementType(unsigned i) const;
  /// Input `i` as a constant, or null.
  const HostTensor *constant(unsigned i) const { return has(i) ? inputs[i].tensor.get() : nullptr; }
  /// An entry as a program value.
  llvm::FailureOr<mlir::Value> toValue(const Entry &entry);
  bool allConstant() const;
  /// Input `i`, which must be a constant of integers / of floats.
  llvm::FailureOr<Shape> integers(unsigned i, llvm::StringRef role);
  llvm::FailureOr<std::vector<float>> floats(unsigned i, llvm::StringRef role);
  /// The only element of input `i`, which must be a constant of floats.
  llvm::FailureOr<float> scalar(unsigned i, llvm::StringRef role);

  //===--- Attributes ---===//
  const onnx::AttributeProto *attribute(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name, int64_t otherwise) const;
  float getFloat(llvm::StringRef name, float otherwise) const;
  llvm::StringRef getString(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<Shape> getInts(llvm::StringRef name) const;
  /// A list of floats, empty if it is not given.
  std::vector<float> getFloatList(llvm::StringRef name) const;
  /// An axis of a tensor of `rank` dimensions, counted from the end if negative.
  llvm::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank);
  llvm::LogicalResult normalizeAxes(Shape &axes, int64_t rank);
  /// Integers given by an attribute in old opsets and by input `i` in new ones; nothing if neither
  /// is there.
  llvm::FailureOr<std::optional<Shape>> integersFrom(llvm::StringRef attribute, unsigned i);

  //===--- Results ---===//
  unsigned numOutputs() const { return proto.output_size(); }
  bool wants(unsigned output) const {
    return output < numOutputs() && !proto.output(output).empty();
  }
  llvm::LogicalResult setResult(llvm::FailureOr<mlir::Value> value, unsigned i = 0);
  /// A computed constant, named after the node's result unless `keepName`.
  llvm::LogicalResult setResult(HostTensor tensor, bool keepName = false, unsigned i = 0);
  llvm::LogicalResult setResult(const Entry &entry, unsigned i = 0);
  /// Sets the results that the node has.
  llvm::LogicalResult setResults(llvm::ArrayRef<Entry> values);
  /// A constant without elements, as which concatenations omit it.
  llvm::LogicalResult setEmpty(ShapeRef shape, unsigned i);
  /// A constant that the file holds.
  llvm::LogicalResult setStored(HostTensor tensor);
  /// The first result of the node as `import` makes it of other inputs.
  llvm::FailureOr<Entry> compose(llvm::LogicalResult (*import)(Node &),
                                 llvm::ArrayRef<Entry> inputs);
  /// The results of the node as `import` makes them of other inputs; empty where it has none.
  llvm::FailureOr<llvm::SmallVector<Entry>> composeAll(llvm::LogicalResult (*import)(Node &),
                                                       llvm::ArrayRef<Entry> inputs);
  /// The first result of another operator, with attributes of its own, in the node's place.
  llvm::FailureOr<Entry> composeAs(llvm::LogicalResult (*import)(Node &),
                                   llvm::ArrayRef<std::pair<llvm::StringRef, double>> attributes,
                                   llvm::ArrayRef<Entry> inputs);
  /// Makes an nn.constant of a computed tensor.
  llvm::FailureOr<mlir::Value> materialize(HostTensor tensor);
  /// An nn.constant of the constant matrix that input `i` is, transposed; nodes that share the
  /// matrix share it.
  llvm::FailureOr<mlir::Value> materializeTransposed(unsigned i);

  /// Creates an op with its shape inferred, its elements as those of its first operand. What its
  /// verifier refuses is `invalid`.
  template <typename OpTy, typename... Args> llvm::FailureOr<mlir::Value> create(Args &&...args) {
    return createAs<OpTy>(mlir::Type(), std::forward<Args>(args)...);
  }
  /// The same with another type of elements.
  template <typename OpTy, typename... Args>
  llvm::FailureOr<mlir::Value> createAs(mlir::Type element, Args &&...args) {
    return createVerified([&]() -> mlir::Operation * {
      return nn::createInferred<OpTy>(builder(), loc(), element, std::forward<Args>(args)...);
    });
  }
  /// As `create`, of values that may be missing after an error.
  template <typename OpTy, typename... Operands>
  llvm::FailureOr<mlir::Value> compute(Operands... operands) {
    if ((llvm::failed(operands) || ...))
      return llvm::failure();
    return create<OpTy>(*operands...);
  }
  /// A name for a constant that the import makes: the node's first result and the constant's role.
  std::string nameConstant(const llvm::Twine &role) const;
  /// `value` with elements of another type.
  llvm::FailureOr<mlir::Value> cast(llvm::FailureOr<mlir::Value> value, mlir::Type element);
  /// What element-wise ops on constants give.
  HostTensor evaluate(mlir::Value value);
  /// Sets the result: `value`, made by element-wise ops; if the inputs are constants, what the laws
  /// give for them.
  llvm::LogicalResult setComputed(llvm::FailureOr<mlir::Value> value);
  /// The same, but large constants are computed at run time.
  llvm::LogicalResult setSmallComputed(llvm::FailureOr<mlir::Value> value);
  /// A constant of one number, named after the node's result and its role.
  llvm::FailureOr<mlir::Value> number(llvm::StringRef role, float value);
  /// `value` with another shape of as many elements.
  mlir::Value reshape(mlir::Value value, ShapeRef shape);

  /// Imports a graph inside of the node; see GraphImporter::call.
  llvm::FailureOr<llvm::SmallVector<Entry>> call(const onnx::GraphProto &body,
                                                 llvm::ArrayRef<Entry> arguments);

  //===--- Errors ---===//
  /// Something that ONNX allows and this importer does not; collected, so that all are reported at
  /// once.
  llvm::LogicalResult unsupported(const llvm::Twine &reason);
  /// Something that ONNX does not allow; collected, too.
  llvm::LogicalResult invalid(const llvm::Twine &reason, const llvm::Twine &remedy = "");

  const onnx::NodeProto &proto;

private:
  /// The same, with the values that were evaluated before.
  HostTensor evaluate(mlir::Value value, llvm::DenseMap<mlir::Value, HostTensor> &known);
  llvm::LogicalResult checkConstant(const HostTensor &tensor);
  /// Counts a constant that was computed, if there are not too many.
  llvm::LogicalResult countComputed(HostTensor &tensor);
  llvm::FailureOr<mlir::Value> createVerified(llvm::function_ref<mlir::Operation *()> create);

  GraphImporter &importer;
  int64_t version;
  mlir::Location location;
  llvm::ArrayRef<Entry> inputs;
};

/// The shape of a program value.
inline ShapeRef shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

inline Shape shapeOf(const Entry &entry) {
  return entry.tensor ? entry.tensor->shape : Shape(shapeOf(entry.value));
}

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_NODE_H

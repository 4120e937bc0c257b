//===- OctetOps.cpp - verifiers and syntax of octet ops -------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "octet/Dialect/Octet/Octet.h"

using namespace mlir;
using namespace octet;

/// A QConfig, or `none` for an absent one.
static ParseResult parseQConfigOrNone(OpAsmParser &parser, QConfigAttr &qconfig) {
  if (succeeded(parser.parseOptionalKeyword("none")))
    return success();
  return parser.parseAttribute(qconfig);
}

static void printQConfigOrNone(OpAsmPrinter &printer, Operation *, QConfigAttr qconfig) {
  if (qconfig)
    printer << qconfig;
  else
    printer << "none";
}

/// The names of an octet.match. It has as many results as its text names.
static ParseResult parseMatchHead(OpAsmParser &parser, ArrayAttr &names,
                                  SmallVectorImpl<Type> &results) {
  results.assign(parser.getNumResults(), NoneType::get(parser.getContext()));
  return parser.parseAttribute(names);
}

static void printMatchHead(OpAsmPrinter &printer, Operation *, ArrayAttr names, TypeRange) {
  printer << names;
}

/// `[@conv, "torch.nn.Conv2d"] -> optional [@act]`
static ParseResult parseLinks(OpAsmParser &parser, ArrayAttr &links, DenseBoolArrayAttr &optional) {
  SmallVector<Attribute> alternatives;
  SmallVector<bool> flags;
  do {
    flags.push_back(succeeded(parser.parseOptionalKeyword("optional")));
    ArrayAttr link;
    if (parser.parseAttribute(link))
      return failure();
    alternatives.push_back(link);
  } while (succeeded(parser.parseOptionalArrow()));
  links = parser.getBuilder().getArrayAttr(alternatives);
  optional = parser.getBuilder().getDenseBoolArrayAttr(flags);
  return success();
}

static void printLinks(OpAsmPrinter &printer, Operation *, ArrayAttr links,
                       DenseBoolArrayAttr optional) {
  for (auto [index, link] : llvm::enumerate(links))
    printer << (index ? " -> " : "") << (optional[index] ? "optional " : "") << link;
}

#define GET_OP_CLASSES
#include "octet/Dialect/Octet/OctetOps.cpp.inc"

/// The expressed type is f32 and a quantized axis lies inside the tensor.
static LogicalResult verifyQuantized(Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto quantized = cast<quant::QuantizedType>(tensor.getElementType());
  if (!quantized.getExpressedType().isF32())
    return op->emitOpError("expected an expressed type of f32, but got ")
           << quantized.getExpressedType();
  auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(quantized);
  if (!perAxis)
    return success();
  int64_t axis = perAxis.getQuantizedDimension();
  if (axis < 0 || axis >= tensor.getRank() ||
      tensor.getDimSize(axis) != (int64_t)perAxis.getScales().size())
    return op->emitOpError("expected one scale per element of axis ")
           << axis << ", but got " << perAxis.getScales().size();
  return success();
}

LogicalResult QuantizeOp::verify() { return verifyQuantized(*this, getResult().getType()); }
LogicalResult DequantizeOp::verify() { return verifyQuantized(*this, getInput().getType()); }
LogicalResult FakeQuantizeOp::verify() {
  return verifyQuantized(*this, getInput().getType().clone(getQuantizedType()));
}

RankedTensorType ObserveOp::getObservedType() {
  auto type = cast<RankedTensorType>(getInput().getType());
  auto sizes = llvm::map_to_vector(
      type.getShape(), [](int64_t size) { return ShapedType::isDynamic(size) ? 1 : size; });
  return type.clone(sizes);
}

//===----------------------------------------------------------------------===//
// Scales chosen in each run
//===----------------------------------------------------------------------===//

/// The shape of scale and zero point: none, or that of `values` with one element in each row.
static SmallVector<int64_t> getParameterShape(ArrayRef<int64_t> values, bool isPerRow) {
  SmallVector<int64_t> shape(isPerRow ? values : ArrayRef<int64_t>());
  if (isPerRow)
    shape.back() = 1;
  return shape;
}

LogicalResult ChooseQParamsOp::verify() {
  ArrayRef<int64_t> range = getRange(), shape = getInput().getType().getShape();
  if (range.size() != 2 || !(range[0] <= 0 && 0 <= range[1] && range[0] < range[1]))
    return emitOpError("expected a range [low, high] with low <= 0 <= high and low < high, but "
                       "got [")
           << range << "]";
  if (getOnnx() && range != ArrayRef<int64_t>{0, 255})
    return emitOpError("expected the range [0, 255] of ONNX's rule, but got [") << range << "]";
  if (getPerRow() && shape.empty())
    return emitOpError("expected a tensor with rows, but got ") << getInput().getType();
  SmallVector<int64_t> expected = getParameterShape(shape, getPerRow());
  for (Value result : getResults())
    if (auto type = cast<RankedTensorType>(result.getType()); type.getShape() != ArrayRef(expected))
      return emitOpError("expected results of ")
             << RankedTensorType::get(expected, type.getElementType()) << ", but got " << type;
  return success();
}

/// `integers` have the scale 1 and the zero point 0, and the parameters are of the tensor or of
/// rows.
static LogicalResult verifyDynamic(Operation *op, RankedTensorType integers) {
  auto type = dyn_cast<quant::UniformQuantizedType>(integers.getElementType());
  if (!type || !type.getExpressedType().isF32() || type.getScale() != 1 || type.getZeroPoint() != 0)
    return op->emitOpError("expected integers of scale 1 and zero point 0, but got ")
           << integers.getElementType();
  auto values = cast<RankedTensorType>(op->getOperand(0).getType());
  if (values.getShape() != cast<RankedTensorType>(op->getResult(0).getType()).getShape())
    return op->emitOpError("expected a result of the input's shape, but got ")
           << op->getResult(0).getType();
  for (Value parameter : op->getOperands().drop_front()) {
    auto shape = cast<RankedTensorType>(parameter.getType()).getShape();
    bool isPerRow = !shape.empty() && values.getRank() > 0;
    if (shape != cast<RankedTensorType>(op->getOperand(1).getType()).getShape() ||
        shape != ArrayRef(getParameterShape(values.getShape(), isPerRow)))
      return op->emitOpError("expected scale and zero point of the tensor or of each row, but got ")
             << parameter.getType();
  }
  return success();
}

LogicalResult QuantizeDynamicOp::verify() { return verifyDynamic(*this, getResult().getType()); }
LogicalResult DequantizeDynamicOp::verify() { return verifyDynamic(*this, getInput().getType()); }

int64_t DequantizeWeightsOp::getBlockSize(int64_t dim) {
  if (getBlock())
    return (*getBlock())[dim];
  int64_t size = getWeights().getType().getDimSize(dim);
  return getScales() && getScales().getType().getDimSize(dim) == size ? 1 : size;
}

LogicalResult DequantizeWeightsOp::verify() {
  auto type = getWeights().getType();
  if (type.getShape() != getResult().getType().getShape())
    return emitOpError("expected a result of shape [")
           << type.getShape() << "], but got [" << getResult().getType().getShape() << "]";
  bool isFloat = isa<FloatType>(type.getElementType());
  if (isFloat && (getScales() || getZeroPoints() || getBlock()))
    return emitOpError("expected neither scales nor zero points of floats");
  if (isFloat)
    return success();
  if (!getScales())
    return emitOpError("expected scales of integers");
  int64_t rank = type.getRank();
  if (getBlock() && ((int64_t)getBlock()->size() != rank ||
                     llvm::any_of(*getBlock(), [](int64_t size) { return size < 1; })))
    return emitOpError("expected ")
           << rank << " positive sizes of a block, but got [" << *getBlock() << "]";
  ArrayRef<int64_t> scales = getScales().getType().getShape();
  bool fits = (int64_t)scales.size() == rank;
  for (int64_t dim = 0; dim < rank && fits; ++dim) {
    int64_t size = type.getDimSize(dim);
    fits = getBlock() ? scales[dim] == (int64_t)llvm::divideCeil(size, (*getBlock())[dim])
                      : scales[dim] == 1 || scales[dim] == size;
  }
  if (!fits)
    return emitOpError("expected one scale for each block of [")
           << type.getShape() << "] elements, but got [" << scales << "]";
  if (getZeroPoints() && getZeroPoints().getType().getShape() != scales)
    return emitOpError("expected zero points of shape [")
           << scales << "], but got [" << getZeroPoints().getType().getShape() << "]";
  return success();
}

LogicalResult ObserveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<ObserverOp>(*this, getObserverAttr()))
    return emitOpError("expected the symbol of an 'octet.observer', but got ") << getObserverAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

bool octet::isStatistics(Attribute attribute) {
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  Type type = elements ? elements.getElementType() : Type();
  return type && elements.getType().getRank() == 1 &&
         (type.isSignlessInteger(8) || type.isSignlessInteger(64) || type.isF32() || type.isF64());
}

SmallVector<char> ObserverOp::getState() {
  SmallVector<char> state;
  DenseElementsAttr statistics = getStatisticsAttr();
  if (!statistics)
    return state;
  ArrayRef<char> raw = statistics.getRawData(); // a splat holds one number
  for (int64_t i = 0; i < (statistics.isSplat() ? statistics.getNumElements() : 1); ++i)
    state.append(raw.begin(), raw.end());
  return state;
}

void ObserverOp::setState(ArrayRef<char> state) {
  Type element = getObserver().getStateElementType();
  int64_t size = state.size() * 8 / element.getIntOrFloatBitWidth();
  setStatisticsAttr(
      DenseElementsAttr::getFromRawBuffer(RankedTensorType::get({size}, element), state));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

Value GroupOp::getOuter(Value inner) {
  auto argument = dyn_cast<BlockArgument>(inner);
  bool isOwn = argument && argument.getOwner()->getParentOp() == getOperation();
  return isOwn ? getInputs()[argument.getArgNumber()] : inner;
}

Value GroupOp::lookThrough(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto group = dyn_cast_or_null<GroupOp>(argument.getOwner()->getParentOp());
    if (!group)
      break;
    value = group.getOuter(argument);
  }
  return value;
}

BlockArgument GroupOp::addInput(Value value) {
  getInputsMutable().append(value);
  return getBody().front().addArgument(value.getType(), value.getLoc());
}

void GroupOp::dropUnusedInputs() {
  Block &body = getBody().front();
  for (int64_t i = body.getNumArguments() - 1; i >= 0; --i)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      getInputsMutable().erase(i);
    }
}

void GroupOp::inlineBody() {
  Block &body = getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), getInputs()))
    argument.replaceAllUsesWith(input);
  (*this)->replaceAllUsesWith(getTerminator()->getOperands());
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    op.moveBefore(*this);
}

Value GroupOp::cloneBody(OpBuilder &builder, IRMapping &mapping) {
  Block &body = getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), getInputs()))
    mapping.map(argument, mapping.lookup(input));
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookup(getYielded());
}

LogicalResult GroupOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getPattern() && !symbols.lookupNearestSymbolFrom<PatternOp>(*this, getPatternAttr()))
    return emitOpError(
               "expected the symbol of an 'octet.pattern' of the module's backend, but got ")
           << getPatternAttr();
  return success();
}

LogicalResult GroupOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("expected one block argument of the same type per operand");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != (*this)->getNumResults())
    return emitOpError("expected a region that ends with 'octet.yield' of one value per result");
  for (auto [result, value] : llvm::zip(getResultTypes(), yield.getValues().getTypes())) {
    auto shaped = dyn_cast<ShapedType>(result), yielded = dyn_cast<ShapedType>(value);
    if (!shaped || !yielded || !shaped.hasRank() || !yielded.hasRank())
      continue;
    if (shaped.getShape() != yielded.getShape())
      return emitOpError("expected to yield the shape [")
             << shaped.getShape() << "], but got [" << yielded.getShape() << "]";
  }
  return success();
}

ParseResult GroupOp::parse(OpAsmParser &parser, OperationState &result) {
  SymbolRefAttr pattern;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  FunctionType type;
  OptionalParseResult named = parser.parseOptionalAttribute(pattern, Type());
  if ((named.has_value() && failed(*named)) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parsePair) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseColonType(type))
    return failure();
  if (pattern)
    result.addAttribute(getPatternAttrName(result.name), pattern);
  if (type.getNumInputs() != operands.size() || type.getNumResults() == 0)
    return parser.emitError(parser.getNameLoc(), "expected one type per operand and a result type");
  for (auto [argument, input] : llvm::zip(arguments, type.getInputs()))
    argument.type = input;
  result.addTypes(type.getResults());
  if (parser.resolveOperands(operands, type.getInputs(), parser.getNameLoc(), result.operands))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void GroupOp::print(OpAsmPrinter &printer) {
  if (getPattern())
    printer << ' ' << getPatternAttr();
  printer << '(';
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " = " << std::get<1>(pair);
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getPatternAttrName()});
  printer << " : ";
  printer.printFunctionalType(getOperation());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

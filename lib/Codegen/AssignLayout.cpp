//===- AssignLayout.cpp - chooses how tensors lie in memory ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters/Fused.h"
#include "Images.h"
#include "MemoryPlan.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Dialect/Octet/Origin.h"
#include "llvm/Support/MathExtras.h"

namespace octet {
#define GEN_PASS_DEF_ASSIGNLAYOUTPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static bool isRank4(Value value) { return getTensorType(value).getRank() == 4; }

/// The convolution of a plain or fused operator, or null.
static nn::ConvOp getConv(Operation *op) {
  if (auto group = dyn_cast<GroupOp>(op)) {
    auto convs = group.getBody().front().getOps<nn::ConvOp>();
    return convs.empty() ? nn::ConvOp() : *convs.begin();
  }
  return dyn_cast<nn::ConvOp>(op);
}

static bool isReadInRows(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return wantsRows(user) || (isa<ObserveOp>(user) && isReadInRows(user->getResult(0)));
  });
}

/// Whether `value`, of rank 4, stays dense: no kernel that writes it wants NHWC, and one beside
/// wants rows.
static bool staysDense(Value value) {
  return !wantsImages(value.getDefiningOp()) &&
         (wantsRows(value.getDefiningOp()) || isReadInRows(value));
}

static bool isElementwise(Operation *op) {
  return isa<GroupOp>(op) ? !wantsImages(op) && !wantsRows(op) : op->hasTrait<nn::Elementwise>();
}

static bool readsImage(Operation *op) {
  return llvm::any_of(op->getOperands(),
                      [](Value operand) { return getLayout(getTensorType(operand)); });
}

/// Whether all that reads it quantizes it, which writes images of planes.
static bool isQuantizedAlone(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), llvm::IsaPred<QuantizeDynamicOp>);
}

/// Whether `op` computes planes from planes: element by element, as normalization of an input does,
/// or with zeros around them.
static bool staysPlanar(Operation *op) {
  return (isElementwise(op) || (isa<nn::PadOp>(op) && isQuantizedAlone(op->getResult(0)))) &&
         !readsImage(op);
}

/// Whether `op`, which computes a returned value, had better leave it as its operands lie: there
/// are no vectors across layouts. Halves and doubles are written as the caller reads them.
static bool keepsLayout(Operation *op) {
  if (Type element = getTensorType(op->getResult(0)).getElementType();
      isa<FloatType>(element) && !element.isF32())
    return false;
  auto softmax = dyn_cast<nn::SoftmaxOp>(op);
  bool isOfChannels = isa<nn::ResizeOp>(op) || (softmax && softmax.getAxis() == 1);
  return readsImage(op) &&
         (isOfChannels ? getTensorType(op->getResult(0)).getDimSize(1) >= 16 : isElementwise(op));
}

/// Whether `use` is a filter or a bias, which the kernels' emitters pack themselves.
static bool isParameter(OpOperand &use) {
  Operation *owner = use.getOwner();
  if (auto group = dyn_cast<GroupOp>(owner))
    return llvm::any_of(group.getBody().getArgument(use.getOperandNumber()).getUses(),
                        [](OpOperand &inner) { return isParameter(inner); });
  auto product = dyn_cast<nn::ProductOpInterface>(owner);
  return product && (&use == product.getWeightOperand() || &use == product.getBiasOperand());
}

/// Border that the readers of `value` need: the largest pads of the convolutions that take it as
/// input.
static SmallVector<int64_t> getNeededPads(Value value) {
  SmallVector<int64_t> pads(4, 0);
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    SmallVector<int64_t> needed;
    if (isa<ObserveOp>(user))
      needed = getNeededPads(user->getResult(0));
    else if (nn::ConvOp conv = getConv(user); conv && FusedOp(user).getInput() == value)
      needed = SmallVector<int64_t>(conv.getPads());
    for (size_t i = 0; i < needed.size(); ++i)
      pads[i] = std::max(pads[i], needed[i]);
  }
  return pads;
}

static nn::LayoutAttr chooseLayout(Value value) {
  auto type = getTensorType(value);
  int64_t channels = type.getDimSize(1);
  // Dot products read bytes in fours; one or two channels are read across pixels instead.
  if (getStorageType(type).isInteger(8) && channels > 2)
    channels = llvm::alignTo(channels, 4);
  return nn::LayoutAttr::get(value.getContext(), channels, getNeededPads(value));
}

static Value relayout(OpBuilder &builder, Value value, nn::LayoutAttr layout) {
  auto type = withLayout(getTensorType(value), layout);
  auto op = nn::RelayoutOp::create(builder, value.getLoc(), type, value);
  setOrigin(op, getOrigin(value));
  return op;
}

namespace {
/// See Passes.td.
struct AssignLayout : octet::impl::AssignLayoutPassBase<AssignLayout> {
  void runOnOperation() override;

private:
  void convertDenseUses(Value value);
  void readDense(Value value);
  void readDense(nn::ReshapeOp reshape);
  void setLayout(Value value);
  void isolateReturns(Operation *terminator);
  void writeStates(Operation *terminator);
  void copyReturned(Value value, Operation *terminator);
};
} // namespace

/// A constant that is one pixel without a border lies in both layouts alike.
static bool isPixel(Value value) {
  auto type = getTensorType(value);
  return value.getDefiningOp<nn::ConstantOp>() && type.getElementType().isF32() &&
         type.getNumElements() == type.getDimSize(1);
}

/// A dense value (network input, constant, returned value, or their observed alias) gets one NHWC
/// copy for the users that want it.
void AssignLayout::convertDenseUses(Value value) {
  if (!isRank4(value) || isPixel(value))
    return;
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses()) {
    if (isa<ObserveOp>(use.getOwner()))
      convertDenseUses(use.getOwner()->getResult(0));
    else if (wantsImages(use.getOwner()) && !isParameter(use))
      uses.push_back(&use);
  }
  if (uses.empty())
    return;
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfterValue(value);
  Value converted = relayout(builder, value, chooseLayout(value));
  for (OpOperand *use : uses)
    use->set(converted);
  ++numRelayouts;
}

/// Whether a linear layer, which reads bytes in fours, would read beyond the end of `value` in the
/// caller's memory: `value` is an argument or a returned value, or an alias of one.
static bool isReadBeyond(Value value, const llvm::SmallDenseSet<Value> &returned) {
  auto type = getTensorType(value);
  Value root = getAliasRoot(value);
  return getStorageType(type).isInteger(8) && type.getRank() > 0 &&
         type.getShape().back() % 4 != 0 && (isa<BlockArgument>(root) || returned.contains(root));
}

/// Linear layers and products read a dense copy: of what a convolution or a pool wrote, and of
/// bytes in the caller's memory, which linear layers read in fours.
void AssignLayout::readDense(Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (wantsRows(use.getOwner()))
      uses.push_back(&use);
  if (uses.empty())
    return;
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfterValue(value);
  Value dense = relayout(builder, value, nullptr);
  for (OpOperand *use : uses)
    use->set(dense);
  ++numRelayouts;
}

/// A reshape is walked in row-major order, which one side must have.
void AssignLayout::readDense(nn::ReshapeOp reshape) {
  if (isRowMajor(reshape.getInput().getType()) || isRowMajor(reshape.getResult().getType()))
    return;
  OpBuilder builder(reshape);
  reshape.getInputMutable().assign(relayout(builder, reshape.getInput(), nullptr));
  ++numRelayouts;
}

/// Every returned value gets a dense buffer that nothing else names: copies where it is an
/// argument, a constant, returned twice, or made by a kernel that writes NHWC.
void AssignLayout::isolateReturns(Operation *terminator) {
  OpBuilder builder(terminator);
  llvm::SmallDenseSet<Value> seen;
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (nn::getStateOfResult(getOperation(), operand.getOperandNumber()))
      continue;
    Value value = operand.get(), root = getAliasRoot(value);
    Operation *producer = root.getDefiningOp();
    bool mayWriteDense =
        producer && !isa<nn::ConstantOp>(producer) && !(isRank4(root) && wantsImages(producer));
    if (mayWriteDense && seen.insert(root).second)
      continue;
    operand.set(relayout(builder, value, nullptr));
    ++numRelayouts;
  }
}

/// Every state is written by a copy at the end, behind all that reads it. Values in the memory of
/// states are copied out of it before. A cast, as in front of a state of half precision, is itself
/// the copy.
void AssignLayout::writeStates(Operation *terminator) {
  OpBuilder builder(terminator);
  SmallVector<std::pair<OpOperand *, Value>> writes;
  for (nn::State state : nn::getStates(getOperation())) {
    OpOperand &operand = terminator->getOpOperand(state.result);
    auto root = dyn_cast<BlockArgument>(getAliasRoot(operand.get()));
    if (root && root.getArgNumber() == state.argument)
      continue; // it stays as it is
    auto cast = operand.get().getDefiningOp<nn::CastOp>();
    bool isState = root && nn::getStateOfArgument(getOperation(), root.getArgNumber());
    Value value = cast ? cast.getInput() : operand.get();
    writes.push_back({&operand, cast || isState ? relayout(builder, value, nullptr) : value});
  }
  for (auto [operand, value] : writes) {
    auto cast = operand->get().getDefiningOp<nn::CastOp>();
    if (cast) {
      Operation *copy = builder.clone(*cast);
      copy->setOperand(0, value);
      operand->set(copy->getResult(0));
    } else {
      operand->set(relayout(builder, value, nullptr));
    }
    if (cast && cast->use_empty())
      cast.erase();
    ++numRelayouts;
  }
}

/// The function returns a dense copy instead of `value` or an alias of it.
void AssignLayout::copyReturned(Value value, Operation *terminator) {
  OpBuilder builder(terminator);
  for (OpOperand &operand : terminator->getOpOperands())
    if (getAliasRoot(operand.get()) == value) {
      operand.set(relayout(builder, operand.get(), nullptr));
      ++numRelayouts;
    }
}

LogicalResult octet::verifyNetwork(func::FuncOp network) {
  if (network.isExternal() || !network.getBody().hasOneBlock())
    return network.emitError("expected a network: a function with a body of one block");
  auto check = [](Operation *at, TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
        return at->emitError("expected tensors of static shape in a network, but got ") << type;
    return success();
  };
  if (failed(check(network, network.getArgumentTypes())))
    return failure();
  for (Operation &op : network.getBody().front())
    if (failed(check(&op, op.getResultTypes())) || failed(check(&op, op.getOperandTypes())))
      return failure();
  return success();
}

void AssignLayout::setLayout(Value value) {
  value.setType(withLayout(getTensorType(value), chooseLayout(value)));
  if (!isRowMajor(getTensorType(value)))
    readDense(value);
}

void AssignLayout::runOnOperation() {
  if (failed(verifyNetwork(getOperation())))
    return signalPassFailure();
  Block &block = getOperation().getBody().front();
  isolateReturns(block.getTerminator());
  writeStates(block.getTerminator());
  llvm::SmallDenseSet<Value> returned;
  for (Value value : block.getTerminator()->getOperands())
    for (Value root = getAliasRoot(value); returned.insert(value).second && value != root;)
      value = value.getDefiningOp()->getOperand(0);
  llvm::DenseSet<Value> images = findImages(getOperation());
  for (BlockArgument argument : block.getArguments()) {
    convertDenseUses(argument);
    if (getStorageType(getTensorType(argument)).isInteger(8))
      readDense(argument);
  }
  for (Operation &op : block.without_terminator()) {
    if (auto observe = dyn_cast<ObserveOp>(op)) {
      observe.getResult().setType(observe.getInput().getType());
      if (!isRowMajor(observe.getInput().getType()))
        readDense(observe.getResult());
      continue;
    }
    bool keepsType = isa<nn::ConstantOp, nn::RelayoutOp>(op);
    for (Value result : op.getResults()) {
      bool isReturned = returned.contains(result);
      bool isImage = images.contains(result) && !keepsType && !staysDense(result) &&
                     !staysPlanar(&op) && (!isReturned || keepsLayout(&op));
      if (isImage && isReturned)
        copyReturned(result, block.getTerminator());
      if (isImage)
        setLayout(result);
      else if (!isa<nn::RelayoutOp>(op))
        convertDenseUses(result);
      if (!isImage && isReadBeyond(result, returned))
        readDense(result);
    }
    if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
      readDense(reshape);
    if (auto group = dyn_cast<GroupOp>(op))
      for (auto [argument, input] : llvm::zip(group.getBody().getArguments(), group.getInputs()))
        argument.setType(input.getType());
  }
}

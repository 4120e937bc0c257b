// An observer and a match constraint outside Octet's tree. The observer keeps the largest
// magnitude, which means a symmetric range of ui8 around 128.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "octet/Dialect/Octet/Octet.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace octet;

namespace {
/// `#toy.largest`; its state is an f32, and four bytes of padding.
struct LargestAttr
    : Attribute::AttrBase<LargestAttr, Attribute, AttributeStorage, ObserverAttrInterface::Trait> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LargestAttr)
  using Base::Base;
  static constexpr StringLiteral name = "toy.largest";
  static constexpr float kEps = 0x1p-23f;

  ObserverSpec getSpec() const {
    ObserverSpec spec;
    spec.dtype = IntegerType::get(getContext(), 8, IntegerType::Unsigned);
    spec.quantMin = 0;
    spec.quantMax = 255;
    spec.eps = kEps;
    return spec;
  }

  int64_t getStateBytes(RankedTensorType) const { return 8; }
  void initState(RankedTensorType, MutableArrayRef<char> state) const { llvm::fill(state, 0); }
  static float largestIn(ArrayRef<char> state) {
    float largest;
    std::memcpy(&largest, state.data(), sizeof(largest));
    return largest;
  }
  static void include(MutableArrayRef<char> state, float x) {
    float largest = largestIn(state);
    largest = std::isnan(x) || std::fabs(x) > largest ? std::fabs(x) : largest;
    std::memcpy(state.data(), &largest, sizeof(largest));
  }

  void updateState(RankedTensorType, ArrayRef<float> data, MutableArrayRef<char> state) const {
    for (float x : data)
      include(state, x);
  }
  LogicalResult mergeState(RankedTensorType, MutableArrayRef<char> state,
                           ArrayRef<char> other) const {
    include(state, largestIn(other));
    return success();
  }

  void emitUpdate(OpBuilder &builder, Location loc, RankedTensorType observed, Value data,
                  Value state) const {
    auto index = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value).getResult();
    };
    Value zero = index(0);
    Value largest = memref::ViewOp::create(builder, loc, MemRefType::get({2}, builder.getF32Type()),
                                           state, zero, ValueRange());
    SmallVector<Value> low(observed.getRank(), zero), steps(observed.getRank(), index(1)),
        high(llvm::map_range(observed.getShape(), index));
    scf::buildLoopNest(builder, loc, low, high, steps,
                       [&](OpBuilder &b, Location loc, ValueRange at) {
                         Value x = memref::LoadOp::create(b, loc, data, at);
                         Value negative = arith::NegFOp::create(b, loc, x);
                         Value magnitude = arith::MaximumFOp::create(b, loc, x, negative);
                         Value old = memref::LoadOp::create(b, loc, largest, zero);
                         Value more = arith::MaximumFOp::create(b, loc, old, magnitude);
                         memref::StoreOp::create(b, loc, more, largest, zero);
                       });
  }

  FailureOr<quant::QuantizedType>
  getQuantizedType(llvm::function_ref<InFlightDiagnostic()> emitError, RankedTensorType,
                   ArrayRef<char> state) const {
    if (!std::isfinite(largestIn(state)))
      return emitError() << "expected finite values";
    Builder builder(getContext());
    float scale = std::max(largestIn(state) / 127.5f, kEps);
    return quant::QuantizedType(quant::UniformQuantizedType::get(
        0, builder.getI8Type(), builder.getF32Type(), scale, 128, 0, 255));
  }
};

/// `#toy.even_columns`: holds for operators whose results have an even number of columns.
struct EvenColumnsAttr : Attribute::AttrBase<EvenColumnsAttr, Attribute, AttributeStorage,
                                             MatchConstraintAttrInterface::Trait> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EvenColumnsAttr)
  using Base::Base;
  static constexpr StringLiteral name = "toy.even_columns";

  bool holds(Operation *op) const {
    return llvm::all_of(op->getResultTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getRank() > 0 && tensor.getShape().back() % 2 == 0;
    });
  }
};

struct ToyDialect : Dialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToyDialect)
  static constexpr StringLiteral getDialectNamespace() { return "toy"; }
  explicit ToyDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<ToyDialect>()) {
    addAttributes<LargestAttr, EvenColumnsAttr>();
  }

  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    if (succeeded(parser.parseOptionalKeyword("even_columns")))
      return EvenColumnsAttr::get(getContext());
    return parser.parseKeyword("largest") ? Attribute() : LargestAttr::get(getContext());
  }
  void printAttribute(Attribute attribute, DialectAsmPrinter &printer) const override {
    printer << (isa<EvenColumnsAttr>(attribute) ? "even_columns" : "largest");
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Toy", "1",
          [](DialectRegistry *registry) { registry->insert<ToyDialect>(); }};
}

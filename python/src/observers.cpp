//===- observers.cpp - observers on arrays, for Python ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "octet/Dialect/Octet/Octet.h"
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir;
using namespace octet;
using Floats = nb::ndarray<const float, nb::ro, nb::c_contig, nb::device::cpu>;

namespace {
/// An observer of tensors of one shape, and its statistics.
class Observer {
public:
  Observer(const std::string &text, const std::vector<int64_t> &shape)
      : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<quant::QuantDialect, OctetDialect>();
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
    observer = dyn_cast_or_null<ObserverAttrInterface>(parseAttribute(text, &context));
    if (!observer)
      throw nb::value_error(("not an observer: " + text).c_str());
    observed = RankedTensorType::get(shape, Float32Type::get(&context));
    state.resize(observer.getStateBytes(observed));
    observer.initState(observed, state);
  }

  void update(const Floats &array) {
    if (static_cast<int64_t>(array.size()) != observed.getNumElements())
      throw nb::value_error("the array has another number of elements than the observed tensor");
    observer.updateState(observed, ArrayRef<float>(array.data(), array.size()), state);
  }

  /// (scales, zero points, smallest and largest integer that the scale is for, axis or -1)
  nb::tuple choose() {
    std::string error;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error = diagnostic.str();
      return success();
    });
    auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
    auto type = observer.getQuantizedType(emitError, observed, state);
    if (failed(type))
      throw nb::value_error(error.c_str());
    std::vector<double> scales;
    std::vector<int64_t> zeroPoints;
    int64_t axis = -1;
    if (auto uniform = dyn_cast<quant::UniformQuantizedType>(*type)) {
      scales = {uniform.getScale()};
      zeroPoints = {uniform.getZeroPoint()};
    } else {
      auto channels = cast<quant::UniformQuantizedPerAxisType>(*type);
      scales = channels.getScales().vec();
      zeroPoints = channels.getZeroPoints().vec();
      axis = channels.getQuantizedDimension();
    }
    ObserverSpec spec = observer.getSpec();
    return nb::make_tuple(scales, zeroPoints, spec.quantMin.value_or(type->getStorageTypeMin()),
                          spec.quantMax.value_or(type->getStorageTypeMax()), axis);
  }

  nb::bytes getState() const { return nb::bytes(state.data(), state.size()); }
  void setState(nb::bytes bytes) {
    if (bytes.size() != state.size())
      throw nb::value_error("statistics of another size");
    std::copy_n(bytes.c_str(), bytes.size(), state.begin());
  }

private:
  MLIRContext context;
  ObserverAttrInterface observer;
  RankedTensorType observed;
  std::vector<char> state;
};
} // namespace

void octet::python::defineObserver(nb::module_ &module) {
  nb::class_<Observer>(module, "Observer")
      .def(nb::init<const std::string &, const std::vector<int64_t> &>(), nb::arg("text"),
           nb::arg("shape"))
      .def("update", &Observer::update, nb::arg("array"))
      .def("choose", &Observer::choose)
      .def_prop_rw("state", &Observer::getState, &Observer::setState);
}

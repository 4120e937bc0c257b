//===- ir.cpp - the extension module octet._ir ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Making networks from Python, operator by operator. This module alone needs MLIR; `octet` does not
// import it, `octet.torch` does.
//
//===----------------------------------------------------------------------===//

#include "ir.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "octet/Import/Builder.h"
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace octet;
using Id = NetworkBuilder::Id;
using ConstArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// What was expected, or a ValueError with the text of the diagnostics.
template <typename T> static T check(llvm::Expected<T> expected) {
  if (!expected)
    throw nb::value_error(llvm::toString(expected.takeError()).c_str());
  return std::move(*expected);
}

/// Lists of numbers are floats if one of them is.
static AttributeValue readList(nb::sequence list) {
  bool hasText = false, hasFloat = false;
  for (nb::handle item : list) {
    hasText |= nb::isinstance<nb::str>(item);
    hasFloat |= nb::isinstance<nb::float_>(item);
  }
  if (hasText)
    return nb::cast<std::vector<std::string>>(list);
  if (hasFloat)
    return nb::cast<std::vector<double>>(list);
  return nb::cast<std::vector<int64_t>>(list);
}

static AttributeValues readAttributes(const nb::kwargs &attributes) {
  AttributeValues values;
  for (auto [key, value] : attributes) {
    std::string name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::bool_>(value))
      values.emplace_back(name, nb::cast<bool>(value));
    else if (nb::isinstance<nb::int_>(value))
      values.emplace_back(name, nb::cast<int64_t>(value));
    else if (nb::isinstance<nb::float_>(value))
      values.emplace_back(name, nb::cast<double>(value));
    else if (nb::isinstance<nb::str>(value))
      values.emplace_back(name, nb::cast<std::string>(value));
    else
      values.emplace_back(name, readList(nb::cast<nb::sequence>(value)));
  }
  return values;
}

namespace {
/// A builder with the arrays whose memory its constants read.
class Builder {
public:
  void setOrigin(const std::string &name, const std::string &sourceClass, int64_t index,
                 const std::string &file, unsigned line) {
    builder.setOrigin(name, sourceClass, index, file, line);
  }
  Id addInput(const std::string &name, int32_t element, std::vector<int64_t> shape) {
    return check(builder.addInput(name, {element, std::move(shape)}));
  }
  Id addConstant(const std::string &name, int32_t element, ConstArray array) {
    arrays.push_back(array);
    std::vector<int64_t> shape;
    for (size_t i = 0; i < array.ndim(); ++i)
      shape.push_back(array.shape(i));
    llvm::ArrayRef<char> bytes(static_cast<const char *>(array.data()), array.nbytes());
    return check(builder.addConstant(name, {element, std::move(shape)}, bytes));
  }
  Id add(const std::string &op, const std::vector<Id> &operands,
         std::optional<std::vector<int64_t>> shape, std::optional<int32_t> element,
         const nb::kwargs &attributes) {
    return check(
        builder.add(op, checkIds(operands), readAttributes(attributes), std::move(shape), element));
  }
  std::vector<Id> addTyped(const std::string &op, const std::vector<Id> &operands,
                           const std::vector<std::string> &types, const nb::kwargs &attributes) {
    return check(builder.addTyped(op, checkIds(operands), readAttributes(attributes), types));
  }
  std::vector<Id> compose(const std::string &op, const std::vector<Id> &operands,
                          unsigned numResults, const nb::kwargs &attributes) {
    return check(builder.compose(op, checkIds(operands), readAttributes(attributes), numResults));
  }
  std::pair<int32_t, std::vector<int64_t>> getType(Id id) const {
    NetworkBuilder::Type type = builder.getType(id);
    return {type.element, type.shape};
  }
  void addFunction(const std::string &symbol, const Builder &network, const std::string &mapping) {
    if (llvm::Error error = builder.addFunction(symbol, network.builder, mapping))
      throw nb::value_error(llvm::toString(std::move(error)).c_str());
  }
  std::vector<Id> call(const std::string &symbol, const std::vector<Id> &operands) {
    return check(builder.call(symbol, checkIds(operands)));
  }
  void finish(const std::vector<std::pair<std::string, Id>> &outputs) {
    if (llvm::Error error = builder.finish(outputs))
      throw nb::value_error(llvm::toString(std::move(error)).c_str());
  }
  nb::bytes getBytecode() const {
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    (void)mlir::writeBytecodeToFile(builder.getModule(), os);
    return nb::bytes(bytes.data(), bytes.size());
  }
  std::string getText() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    printElided(builder.getModule(), os);
    return text;
  }

private:
  const std::vector<Id> &checkIds(const std::vector<Id> &ids) const {
    for (Id id : ids)
      if (id < -1 || id >= builder.getNumValues())
        throw std::out_of_range("no such value");
    return ids;
  }

  std::vector<ConstArray> arrays; // in front of the builder, which reads them to its end
  NetworkBuilder builder;
};
} // namespace

NB_MODULE(_ir, module) {
  // PyTorch holds graphs, and what they hold, until the process ends.
  nb::set_leak_warnings(false);
  module.doc() = "Networks made operator by operator, in the dialect nn.";
  nb::class_<Builder>(module, "Builder")
      .def(nb::init<>())
      .def("set_origin", &Builder::setOrigin, nb::arg("name"), nb::arg("source_class"),
           nb::arg("index"), nb::arg("file") = "", nb::arg("line") = 0)
      .def("add_input", &Builder::addInput, nb::arg("name"), nb::arg("element"), nb::arg("shape"))
      .def("add_constant", &Builder::addConstant, nb::arg("name"), nb::arg("element"),
           nb::arg("array"))
      .def("add", &Builder::add, nb::arg("op"), nb::arg("operands"),
           nb::arg("shape_").none() = nb::none(), nb::arg("element_").none() = nb::none(),
           nb::arg("attributes"))
      .def("add_typed", &Builder::addTyped, nb::arg("op"), nb::arg("operands"), nb::arg("types_"),
           nb::arg("attributes"))
      .def("compose", &Builder::compose, nb::arg("op"), nb::arg("operands"),
           nb::arg("results_") = 1, nb::arg("attributes"))
      .def("add_function", &Builder::addFunction, nb::arg("symbol"), nb::arg("network"),
           nb::arg("mapping") = "")
      .def("call", &Builder::call, nb::arg("symbol"), nb::arg("operands"))
      .def("get_type", &Builder::getType, nb::arg("value"))
      .def("finish", &Builder::finish, nb::arg("outputs"))
      .def_prop_ro("bytecode", &Builder::getBytecode)
      .def_prop_ro("text", &Builder::getText);
  octet::python::defineListing(module);
  octet::python::defineObserver(module);
}

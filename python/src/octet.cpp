//===- octet.cpp - the extension module octet._octet ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Networks as Python objects, close to the C interface. Arguments are checked and named in
// `octet/model.py`; what is checked here is what would otherwise touch wrong memory.
//
//===----------------------------------------------------------------------===//

#include "Library.h"
#include <cmath>
#include <cstring>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace nb = nanobind;
using namespace octet::python;
using Array = nb::ndarray<nb::c_contig, nb::device::cpu>;
using ConstArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// Raises octet.Error for what `run` of the C interface returned, if it is one.
static void checkRun(int32_t code, const octet_program &program) {
  if (code == 0)
    return;
  std::string number = " (code " + std::to_string(code) + ")";
  std::string message =
      code == 1
          ? "the network did not run" + number + ": the memory of an input or output is not there"
          : std::string("the operator '") + program.steps[code - 2].name +
                "' met an index outside of the tensor that it points into" + number;
  PyErr_SetString(nb::module_::import_("octet.errors").attr("Error").ptr(), message.c_str());
  throw nb::python_error();
}

namespace {
/// The inputs and outputs of a bucket, by its number.
struct Bucket {
  Bucket(const octet_descriptor &descriptor, int32_t number)
      : inputs(descriptor.inputs), outputs(descriptor.outputs) {
    const octet_buckets *buckets = descriptor.buckets;
    if (number < 0 || number >= (buckets ? buckets->count : 1))
      throw std::invalid_argument("the library has no bucket " + std::to_string(number));
    if (buckets) {
      inputs = buckets->list[number].inputs;
      outputs = buckets->list[number].outputs;
    }
    for (int32_t i = 0; i < descriptor.num_inputs; ++i)
      shapes.push_back(inputs[i].shape);
  }

  const octet_tensor *inputs, *outputs;
  std::vector<const int64_t *> shapes;
};

/// A network ready to run, with the library that holds its code.
class Network {
public:
  Network(std::shared_ptr<Library> code, int32_t threads, const std::string &level)
      : library(std::move(code)) {
    char error[512] = "";
    model = library->api().create(threads, level.empty() ? nullptr : level.c_str(), error,
                                  sizeof(error));
    if (!model)
      throw std::runtime_error(error);
  }
  Network(const Network &) = delete;
  Network &operator=(const Network &) = delete;
  ~Network() { library->api().destroy(model); }

  const octet_model_api &api() const { return library->api(); }
  const octet_descriptor &descriptor() const { return *library->api().descriptor; }

  /// Runs a bucket once and raises the error if it did not. Other Python threads go on, those that
  /// want this network wait.
  void run(const Bucket &bucket, const void *const *inputs, void *const *outputs) {
    int32_t code;
    octet_program program;
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> lock(mutex);
      program = select(bucket);
      code = library->api().run(model, inputs, outputs);
    }
    checkRun(code, program);
  }

  /// Like `run`; gives the steps and the nanoseconds of each.
  std::pair<octet_program, std::vector<uint64_t>>
  profile(const Bucket &bucket, const void *const *inputs, void *const *outputs) {
    std::vector<uint64_t> times;
    octet_program program;
    checkRun(runTimed(bucket, inputs, outputs, program, times), program);
    return {program, times};
  }

  /// Waits for a run of another thread.
  void reset() {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex);
    library->api().reset(model);
  }

  octet_model *get() const { return model; }

private:
  /// Makes a bucket the one to run; its steps.
  octet_program select(const Bucket &bucket) {
    const octet_model_api &api = library->api();
    if (api.descriptor->buckets)
      api.select(model, bucket.shapes.data());
    return *api.program(model);
  }

  /// The hook is there only while the mutex is held, so that no other run finds it.
  int32_t runTimed(const Bucket &bucket, const void *const *inputs, void *const *outputs,
                   octet_program &program, std::vector<uint64_t> &times) {
    const octet_model_api &api = library->api();
    auto hook = [](void *user, int64_t step, uint64_t nanoseconds) {
      (*static_cast<std::vector<uint64_t> *>(user))[step] = nanoseconds;
    };
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex);
    program = select(bucket);
    times.resize(program.count);
    api.set_step_hook(model, hook, &times);
    int32_t code = api.run(model, inputs, outputs);
    api.set_step_hook(model, nullptr, nullptr);
    return code;
  }

  std::shared_ptr<Library> library;
  octet_model *model = nullptr;
  std::mutex mutex; // a model runs in one thread at a time
};

/// A network together with the arrays it reads and writes; calling it runs it and returns `result`
/// again.
class BoundNetwork {
public:
  BoundNetwork(std::shared_ptr<Network> network, std::vector<ConstArray> inputs,
               std::vector<Array> outputs, nb::object result, int32_t bucket);

  nb::object operator()() {
    network->run(bucket, inputPointers.data(), outputPointers.data());
    return result;
  }

  nb::object result;

private:
  std::shared_ptr<Network> network;
  Bucket bucket;
  std::vector<ConstArray> inputs; // keep the memory alive
  std::vector<Array> outputs;
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;
};
} // namespace

/// Pointers to the data of arrays that must be as long as the tensors.
template <typename Pointer, typename ArrayType>
static std::vector<Pointer> getPointers(const std::vector<ArrayType> &arrays,
                                        const octet_tensor *tensors, int32_t count) {
  if (arrays.size() != static_cast<size_t>(count))
    throw std::invalid_argument("expected " + std::to_string(count) + " arrays, but got " +
                                std::to_string(arrays.size()));
  std::vector<Pointer> pointers;
  for (int32_t i = 0; i < count; ++i) {
    if (arrays[i].nbytes() != static_cast<size_t>(tensors[i].bytes))
      throw std::invalid_argument(std::string(tensors[i].name) + ": expected " +
                                  std::to_string(tensors[i].bytes) + " bytes, but got " +
                                  std::to_string(arrays[i].nbytes()));
    pointers.push_back(arrays[i].data());
  }
  return pointers;
}

BoundNetwork::BoundNetwork(std::shared_ptr<Network> bound, std::vector<ConstArray> in,
                           std::vector<Array> out, nb::object res, int32_t number)
    : result(std::move(res)), network(std::move(bound)), bucket(network->descriptor(), number),
      inputs(std::move(in)), outputs(std::move(out)) {
  const octet_descriptor &descriptor = network->descriptor();
  inputPointers = getPointers<const void *>(inputs, bucket.inputs, descriptor.num_inputs);
  outputPointers = getPointers<void *>(outputs, bucket.outputs, descriptor.num_outputs);
}

/// (name, dtype, shape, scale, zero point) of every tensor.
static nb::list describe(const octet_tensor *tensors, int32_t count) {
  static const char *const dtypes[] = {
#define OCTET_DTYPE(suffix, c_type, npy, numpy_name) numpy_name,
#include "octet/Runtime/DTypes.def"
  };
  nb::list result;
  for (int32_t i = 0; i < count; ++i) {
    nb::list shape;
    for (int32_t axis = 0; axis < tensors[i].rank; ++axis)
      shape.append(tensors[i].shape[axis]);
    result.append(nb::make_tuple(tensors[i].name, dtypes[tensors[i].dtype], nb::tuple(shape),
                                 tensors[i].scale, tensors[i].zero_point));
  }
  return result;
}

/// Names of the levels in a library, best first, with whether this CPU can run them.
static nb::list describeLevels(const octet_model_api &api) {
  nb::list result;
  for (int32_t i = 0; i < api.descriptor->num_levels; ++i) {
    const char *level = api.descriptor->levels[i].name;
    result.append(nb::make_tuple(level, api.supports(level) == 1));
  }
  return result;
}

/// (name, nanoseconds) of every step of one run.
static nb::list profile(Network &network, const std::vector<ConstArray> &inputs,
                        const std::vector<Array> &outputs, int32_t number) {
  const octet_descriptor &descriptor = network.descriptor();
  Bucket bucket(descriptor, number);
  auto in = getPointers<const void *>(inputs, bucket.inputs, descriptor.num_inputs);
  auto out = getPointers<void *>(outputs, bucket.outputs, descriptor.num_outputs);
  auto [program, times] = network.profile(bucket, in.data(), out.data());
  nb::list result;
  for (int64_t i = 0; i < program.count; ++i)
    result.append(nb::make_tuple(program.steps[i].name, times[i]));
  return result;
}

/// (inputs, outputs) of every bucket, the largest first.
static nb::list describeBuckets(const octet_descriptor &descriptor) {
  nb::list result;
  for (int32_t i = 0; i < (descriptor.buckets ? descriptor.buckets->count : 1); ++i) {
    Bucket bucket(descriptor, i);
    result.append(nb::make_tuple(describe(bucket.inputs, descriptor.num_inputs),
                                 describe(bucket.outputs, descriptor.num_outputs)));
  }
  return result;
}

/// A number as an element of NumPy's type for the tensor, which has bfloat16 as its bits.
static double getElement(const octet_tensor &tensor, double number) {
  if (tensor.dtype != OCTET_BF16)
    return number;
  float single = static_cast<float>(number);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof(bits));
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16; // to the nearest, ties to even
}

/// For every input (number, element), or None.
static nb::list describePaddings(const octet_descriptor &descriptor) {
  const double *paddings = descriptor.buckets ? descriptor.buckets->paddings : nullptr;
  nb::list result;
  for (int32_t i = 0; i < descriptor.num_inputs; ++i)
    if (paddings && !std::isnan(paddings[i]))
      result.append(nb::make_tuple(paddings[i], getElement(descriptor.inputs[i], paddings[i])));
    else
      result.append(nb::none());
  return result;
}

/// The garbage collector's view of a bound network: only `result` can lead back to it, arrays
/// cannot.
static int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self))
    Py_VISIT(nb::inst_ptr<BoundNetwork>(self)->result.ptr());
  return 0;
}

static int clear(PyObject *self) {
  nb::inst_ptr<BoundNetwork>(self)->result = nb::none();
  return 0;
}

static PyType_Slot boundNetworkSlots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                                          {Py_tp_clear, reinterpret_cast<void *>(clear)},
                                          {0, nullptr}};

static void defineNetwork(nb::module_ &module) {
  nb::class_<Network>(module, "Network")
      .def(nb::init<std::shared_ptr<Library>, int32_t, const std::string &>(), nb::arg("library"),
           nb::arg("threads"), nb::arg("level"))
      .def_prop_ro("level",
                   [](const Network &self) { return self.api().program(self.get())->level; })
      .def_prop_ro("threads", [](const Network &self) { return self.api().threads(self.get()); })
      .def(
          "run",
          [](Network &self, const std::vector<ConstArray> &inputs,
             const std::vector<Array> &outputs, int32_t number) {
            const octet_descriptor &descriptor = self.descriptor();
            Bucket bucket(descriptor, number);
            auto in = getPointers<const void *>(inputs, bucket.inputs, descriptor.num_inputs);
            auto out = getPointers<void *>(outputs, bucket.outputs, descriptor.num_outputs);
            self.run(bucket, in.data(), out.data());
          },
          nb::arg("inputs"), nb::arg("outputs"), nb::arg("bucket") = 0)
      .def(
          "run_at",
          [](Network &self, const std::vector<uintptr_t> &inputs,
             const std::vector<uintptr_t> &outputs) {
            const octet_descriptor &descriptor = self.descriptor();
            if (inputs.size() != static_cast<size_t>(descriptor.num_inputs) ||
                outputs.size() != static_cast<size_t>(descriptor.num_outputs))
              throw std::invalid_argument("expected an address of each input and output");
            self.run(Bucket(descriptor, 0), reinterpret_cast<const void *const *>(inputs.data()),
                     reinterpret_cast<void *const *>(outputs.data()));
          },
          nb::arg("inputs"), nb::arg("outputs"),
          "Runs on memory that the caller has checked: its types and shapes, and that it is "
          "contiguous.")
      .def("profile", &profile, nb::arg("inputs"), nb::arg("outputs"), nb::arg("bucket") = 0)
      .def("reset", &Network::reset);
}

NB_MODULE(_octet, module) {
  module.doc() = "Networks compiled by Octet, close to the C interface.";

  nb::class_<Library>(module, "Library")
      .def_static(
          "load",
          [](nb::bytes bytes, const std::string &name) {
            return Library::load(std::string_view(bytes.c_str(), bytes.size()), name);
          },
          nb::arg("bytes"), nb::arg("name"))
      .def_prop_ro("name", [](const Library &self) { return self.api().descriptor->name; })
      .def_prop_ro("report_json",
                   [](const Library &self) {
                     const char *text = self.api().descriptor->report_json;
                     return text ? text : "";
                   })
      .def_prop_ro("levels", [](const Library &self) { return describeLevels(self.api()); })
      .def_prop_ro("arena_bytes",
                   [](const Library &self) { return self.api().descriptor->arena_bytes; })
      .def_prop_ro("weights_bytes",
                   [](const Library &self) { return self.api().descriptor->weights_bytes; })
      .def_prop_ro("buckets",
                   [](const Library &self) { return describeBuckets(*self.api().descriptor); })
      .def_prop_ro("paddings",
                   [](const Library &self) { return describePaddings(*self.api().descriptor); });

  defineNetwork(module);

  nb::class_<BoundNetwork>(module, "BoundNetwork", nb::type_slots(boundNetworkSlots))
      .def(nb::init<std::shared_ptr<Network>, std::vector<ConstArray>, std::vector<Array>,
                    nb::object, int32_t>(),
           nb::arg("network"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("result"),
           nb::arg("bucket") = 0)
      .def("__call__", &BoundNetwork::operator(),
           "Runs the network on the bound arrays; returns the outputs.")
      .def_ro("outputs", &BoundNetwork::result);
}

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peers of the speed benchmark: onnxruntime and OpenVINO, float and int8, made ready for each network.

Their quantizers do not take all the networks as they are (old opsets, dynamic shapes, constants as nodes, biases of shape
[1, n]), so `prepare` brings a network into the form that both accept without changing what it computes; quantized models
are kept in a cache folder, by what they are made of. Every runner has preset buffers on both sides: `run()` is one call of the network.
"""
from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import logging
import os
import tempfile
import unittest.mock
from pathlib import Path

import numpy as np

import tables

CACHE = Path(os.environ.get("OCTET_CACHE", Path(tempfile.gettempdir()) / "octet-cache")) / "peers"
OPSET = 17  # per-channel QuantizeLinear needs 13; both peers know 17


def get_path(task, suffix, feeds=()):
    """Where what is made of a network's file, its shapes and calibration samples is kept."""
    digest = hashlib.blake2b(Path(task.onnx).read_bytes(), digest_size=8)
    digest.update(repr(sorted((task.shapes or {}).items())).encode())
    for feed in feeds:
        for name, array in sorted(feed.items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array))
    return CACHE / f"{task.name}.{digest.hexdigest()}.{suffix}"


# ---- one form for both peers ---------------------------------------------------------------------------------------------
def fix_input_shapes(model, shapes):
    """Gives every input its static shape; drops initializers from the inputs and shapes that no longer hold."""
    from onnx import helper

    initializers = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in initializers]
    del model.graph.input[:]
    for value in inputs:
        shape = shapes.get(value.name)
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim] if shape is None else shape
        model.graph.input.append(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shape))
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def fold_constants(model):
    """Lets onnxruntime fold values that depend on no input (shape arithmetic, constants as nodes) and batch norms."""
    import onnx
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "folded.onnx")
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath, options.log_severity_level = path, 3
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(path)


def flatten_biases(model):
    """Biases of shape [1, n] of Conv and Gemm become [n], as the quantizers expect."""
    from onnx import numpy_helper

    initializers = {i.name: i for i in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm") and len(node.input) > 2 and node.input[2] in initializers:
            old = initializers[node.input[2]]
            array = numpy_helper.to_array(old)
            if array.ndim > 1 and array.size == array.shape[-1]:
                old.CopyFrom(numpy_helper.from_array(array.reshape(-1), old.name))
    return model


def prepare(task):
    """The network with static shapes, a current opset, initializers only, and batch norms folded; one that onnx or onnxruntime
    cannot bring into this form stays as it is. Kept in the cache."""
    import onnx

    path = get_path(task, "prepared.onnx")
    if path.exists():
        return path
    try:
        model = convert(onnx.load(str(task.onnx)), task.shapes)
    except Exception as error:  # whatever onnx and onnxruntime throw
        print(f"{task.name}: peers take the file as it is: {str(error).splitlines()[0]}")
        model = onnx.load(str(task.onnx))
    CACHE.mkdir(parents=True, exist_ok=True)
    save(path, lambda part: onnx.save(model, part))
    return path


def convert(model, shapes):
    import onnx
    from onnx import version_converter

    model.ir_version = max(model.ir_version, 8)
    model = fold_constants(fix_input_shapes(model, shapes))
    default = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    if default < OPSET:
        model = version_converter.convert_version(fix_input_shapes(model, shapes), OPSET)
        model = fold_constants(model)
    model = flatten_biases(model)
    return onnx.shape_inference.infer_shapes(fix_input_shapes(model, shapes))


def save(path, write):
    """Lets `write` fill a file beside `path`, then puts it in place."""
    part = path.with_name(f".{os.getpid()}.{path.name}")
    write(str(part))
    os.replace(part, path)


@contextlib.contextmanager
def silence():
    """Hides the quantizers' output, which would break the table."""
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)


# ---- quantized models ----------------------------------------------------------------------------------------------------
def quantize_onnxruntime(task):
    """QDQ model with u8 activations and s8 weights per channel, by quantize_static and its defaults otherwise."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    path = get_path(task, "ort-u8s8.onnx", task.calib())
    if path.exists():
        return path
    source = prepare(task)

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.feeds = iter(task.calib())

        def get_next(self):
            return next(self.feeds, None)

    with silence():
        save(path, lambda part: quantize_static(
            str(source), part, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8))
    return path


def quantize_openvino(task, preset):
    """OpenVINO model quantized by nncf.quantize with one of its presets ("performance", "mixed"), or its way with transformers."""
    import openvino as ov

    path = get_path(task, f"nncf-{preset}.xml", task.calib())
    if path.exists():
        return path
    source = prepare(task)
    # Outside of CI both report what they convert, from a process forked by a thread: it hung where PyTorch was loaded before.
    with silence(), unittest.mock.patch.dict(os.environ, CI="true"):
        import nncf

        presets = {"mixed": {"preset": nncf.QuantizationPreset.MIXED}, "performance": {"preset": nncf.QuantizationPreset.PERFORMANCE},
                   "transformer": {"model_type": nncf.ModelType.TRANSFORMER}}
        model = ov.convert_model(str(source))
        feeds = task.calib()
        names = [i.any_name for i in model.inputs]
        dataset = nncf.Dataset(feeds, lambda feed: [feed[name] for name in names] if len(names) > 1 else feed[names[0]])
        model = nncf.quantize(model, dataset, subset_size=len(feeds), **presets[preset])
        ov.save_model(model, str(path), compress_to_fp16=False)
    return path


def quantize_dynamic(task):
    """ONNX model with weights of MatMul, Gemm and LSTM in s8 per channel, activations quantized at run time (onnxruntime's
    quantize_dynamic, which takes no GRU; its ConvInteger is slower than float)."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = get_path(task, "ort-dynamic.onnx")
    if not path.exists():
        source = prepare(task)
        with silence():
            save(path, lambda part: quantize_dynamic(str(source), part, per_channel=True, weight_type=QuantType.QInt8,
                                                     op_types_to_quantize=["MatMul", "Gemm", "LSTM"]))
    return path


# ---- runners with preset buffers -----------------------------------------------------------------------------------------
class OnnxRuntimeRunner:
    """One network in onnxruntime with bound inputs and outputs."""

    def __init__(self, path, feed, threads=1):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        arrays = {i.name: np.ascontiguousarray(feed[i.name]) for i in self.session.get_inputs()}
        self.inputs = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
        names = [o.name for o in self.session.get_outputs()]
        outputs = self.session.run(None, arrays)
        self.outputs = [ort.OrtValue.ortvalue_from_numpy(np.zeros_like(array)) for array in outputs]
        for name, value in self.inputs.items():
            self.binding.bind_ortvalue_input(name, value)
        for name, value in zip(names, self.outputs):
            self.binding.bind_ortvalue_output(name, value)

        # The inner session skips a layer of Python. The defaults keep the arrays alive that the binding points to.
        inner, binding = self.session._sess, self.binding._iobinding
        self.run = lambda owner=self: inner.run_with_iobinding(binding, None)

    def get_outputs(self):
        return [value.numpy() for value in self.outputs]


class OpenVinoRunner:
    """One network in OpenVINO with preset tensors; all arithmetic that is not int8 in f32 unless another type is given."""

    def __init__(self, path, feed, threads=1, precision="f32"):
        import openvino as ov

        core = ov.Core()
        compiled = core.compile_model(str(path), "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": precision, "ENABLE_CPU_PINNING": False})
        self.request = compiled.create_infer_request()
        self.inputs = [ov.Tensor(np.ascontiguousarray(feed[i.any_name]), shared_memory=True) for i in compiled.inputs]
        outputs = [np.zeros(tuple(o.shape), o.element_type.to_dtype()) for o in compiled.outputs]
        self.outputs = [ov.Tensor(array, shared_memory=True) for array in outputs]
        for index, tensor in enumerate(self.inputs):
            self.request.set_input_tensor(index, tensor)
        for index, tensor in enumerate(self.outputs):
            self.request.set_output_tensor(index, tensor)

        # The inner call with no new inputs: the outer one looks through its arguments first.
        from openvino import _pyopenvino

        infer, request = _pyopenvino.InferRequest.infer, self.request
        self.run = lambda owner=self: infer(request, {}, True, False)

    def get_outputs(self):
        return [np.array(tensor.data) for tensor in self.outputs]


# Name in the table -> (runs in less than f32, function from a task to the model's file, runner)
PEERS = {
    "ort-f32": (False, prepare, OnnxRuntimeRunner),
    "ort-u8s8": (True, quantize_onnxruntime, OnnxRuntimeRunner),
    "ort-dyn": (True, quantize_dynamic, OnnxRuntimeRunner),
    "ov-f32": (False, prepare, OpenVinoRunner),
    "ov-int8": (True, lambda task: quantize_openvino(task, "performance"), OpenVinoRunner),
    "ov-mixed": (True, lambda task: quantize_openvino(task, "mixed"), OpenVinoRunner),
    "ov-transf": (True, lambda task: quantize_openvino(task, "transformer"), OpenVinoRunner),
}
if "bf16" in tables.read_cpu_info():  # avx512_bf16, amx_bf16
    PEERS["ov-bf16"] = (True, prepare, functools.partial(OpenVinoRunner, precision="bf16"))


def make_runner(peer, task, feed, threads=1):
    """A runner of the named peer for a network."""
    _, get_model, runner = PEERS[peer]
    return runner(get_model(task), feed, threads)

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference model, compiled as it is, and its ONNX export in onnxruntime give the same integers, tensor by tensor.

Every operator is fed the same quantized inputs on both sides: what onnxruntime computed. For that the function is cut at its
`octet.dequantize` ops (each reads an argument) and returns the result of every `octet.quantize`. Only the order of a float sum
may decide a tie: fewer than 1 in 10 000 elements of a tensor, by one step; the tests print how many.
"""

import re

import numpy as np
import onnx
import onnxruntime
import pytest

NETWORKS = ["mlperf_resnet8_cifar10", "mlperf_kws_dscnn", "mlperf_ad01_autoencoder"]
QUANTIZE = re.compile(r"^\s*(%\w+) = octet\.quantize %\w+(?: \{.*\})? : \(.*\) -> (tensor<.*>)$", re.M)
PER_CHANNEL = re.compile(r"!quant\.uniform<\w+:\w+:\d+, ")
DEQUANTIZE = re.compile(r"^(\s*%\w+ = octet\.dequantize )(%\w+)((?: \{.*\})? : .*)$", re.M)


def cut(text):
    """The function with an argument in front of every dequantize and a result behind every quantize.

    A network takes and gives no tensor with a scale per channel: real numbers cross instead, quantized inside.
    """
    quantized = QUANTIZE.findall(text)
    names = {value: f"%cut{i}" for i, (value, _) in enumerate(quantized)}
    text = DEQUANTIZE.sub(lambda m: m[1] + names[m[2]] + m[3], text)
    arguments, results, first, last = [], [], "", ""
    for i, (value, kind) in enumerate(quantized):
        name, outside = f"%cut{i}", kind
        if PER_CHANNEL.search(kind):
            outside = re.sub("!quant.*>>$", "f32>", kind)
            first += f"    {name} = octet.quantize {name}_real : ({outside}) -> {kind}\n"
            last += f"    {name}_out = octet.dequantize {value} : ({kind}) -> {outside}\n"
            name, value = f"{name}_real", f"{name}_out"
        arguments.append(f'{name}: {outside} {{nn.name = "in{i}"}}')
        results.append((value, outside, f'{outside} {{nn.name = "out{i}"}}'))
    values, kinds, named = (", ".join(part) for part in zip(*results))
    text = re.sub(r"(func\.func @main\(.*?)\) -> .* \{\n", lambda m: f"{m[1]}, {', '.join(arguments)}) -> ({named}) {{\n{first}", text, count=1)
    return re.sub(r"^    return .*$", f"{last}    return {values} : {kinds}", text, count=1, flags=re.M), len(quantized)


def run_everything(path, feed):
    """The result of every QuantizeLinear, in order, with its scale and zero point as they broadcast against it."""
    model = onnx.load(path)
    nodes = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    constants = {constant.name: onnx.numpy_helper.to_array(constant) for constant in model.graph.initializer}
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=node.output[0]) for node in nodes)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for node, integers in zip(nodes, session.run(None, feed)):
        shape = [-1 if axis == 1 else 1 for axis in range(integers.ndim)]
        scale, zero_point = (constants[name].reshape(shape) if constants[name].size > 1 else constants[name] for name in node.input[1:])
        yield node.output[0], integers, scale, zero_point.astype(np.int16)


@pytest.mark.parametrize("network", NETWORKS)
def test_same_integers_as_onnxruntime(network, tool, shared_models, tmp_path):
    octet = pytest.importorskip("octet")
    source = shared_models / "onnx" / f"{network}.onnx"
    entry = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"]).get_inputs()[0]
    shape = [size if isinstance(size, int) and size > 0 else 1 for size in entry.shape]
    samples = np.random.default_rng(7).normal(size=[6, *shape]).astype(np.float32)
    np.savez(tmp_path / "samples.npz", **{entry.name: samples[:4]})

    shapes = f"--input-shape={entry.name}=" + "x".join(map(str, shape))
    model, exported = tmp_path / "model.mlirbc", tmp_path / "model.onnx"
    tool("octet-compile", source, shapes, "--calibration-data", tmp_path / "samples.npz", "--stop-after=convert", "-o", model)
    tool("octet-translate", "--export-onnx", model, "-o", exported)
    text, count = cut(tool("octet-opt", model, "--octet-fold-constants", "--octet-inline-groups").stdout)
    (tmp_path / "cut.mlir").write_text(text)
    tool("octet-compile", tmp_path / "cut.mlir", "-o", tmp_path / "cut.so")
    compiled = octet.load(tmp_path / "cut.so")

    ties = elements = 0
    for sample in samples[3:]:
        tensors = list(run_everything(exported, {entry.name: sample}))
        assert len(tensors) == count >= 9
        given = {tensor.name: tensor.dtype for tensor in compiled.inputs}
        feeds = {f"in{i}": integers if given[f"in{i}"] != np.float32 else (integers - zero_point).astype(np.float32) * scale
                 for i, (_, integers, scale, zero_point) in enumerate(tensors)}
        outputs = compiled.run({entry.name: sample, **feeds})
        for i, (name, expected, scale, zero_point) in enumerate(tensors):
            actual = outputs[f"out{i}"]
            if actual.dtype == np.float32:
                actual = np.rint(actual / scale) + zero_point
            difference = np.abs(actual.astype(np.int16) - expected)
            assert difference.max() <= 1, f"{name}: {difference.max()} steps"
            # A small tensor may have one.
            moved, allowed = np.count_nonzero(difference), max(1, (difference.size - 1) // 10_000)
            assert moved <= allowed, f"{name}: {moved} of {difference.size}"
            ties, elements = ties + moved, elements + difference.size
    print(f"{network}: {count} tensors, {elements} elements, {ties} decided by the order of a sum")

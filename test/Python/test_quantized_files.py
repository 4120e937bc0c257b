# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are quantized already: integer for integer what onnxruntime computes without graph optimizations. Files that
onnxruntime and NNCF write are made here; those of QAT tools (Q, Clip, DQ on float weights) are written by hand."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
ROOT = pathlib.Path(__file__).parents[2]
BIN = pathlib.Path(os.environ.get("OCTET_BIN", ROOT / "build" / "bin"))
U8, I8, I32 = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32


def open_onnxruntime(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def make(nodes, *, types={}, **arguments):
    """`make_network` with com.microsoft and with inputs and outputs of other types than float32."""
    model = make_network(nodes, **arguments)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.elem_type = types.get(value.name, TensorProto.FLOAT)
    return model


def make_feed(session, seed):
    random = np.random.default_rng(seed)
    make = {"tensor(float)": lambda shape: random.standard_normal(shape).astype(np.float32),
            "tensor(uint8)": lambda shape: random.integers(0, 256, shape).astype(np.uint8),
            "tensor(int8)": lambda shape: random.integers(-128, 128, shape).astype(np.int8)}
    return {value.name: make[value.type](value.shape) for value in session.get_inputs()}


def compare(model, runs=3, **options):
    """How many results differ, of how many, and the largest difference."""
    session, compiled = open_onnxruntime(model), octet.compile(model.SerializeToString(), **options)
    total = different = largest = 0
    for seed in range(runs):
        feed = make_feed(session, seed)
        for wanted, got in zip(session.run(None, feed), compiled.run(feed).values()):
            got = np.asarray(got)
            assert got.shape == wanted.shape and got.dtype == wanted.dtype
            difference = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
            total, different = total + difference.size, different + np.count_nonzero(difference)
            largest = max(largest, difference.max())
    return different, total, largest


# ---- networks ------------------------------------------------------------------------------------------------------------
RESIDUAL = """c = Conv<pads=[1,1,1,1]>(x, w, b)
r = Relu(c)
d = Conv<pads=[1,1,1,1]>(r, w2, b2)
s = Add(d, r)
t = Relu(s)
p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(t)
f = Flatten(p)
y = Gemm<transB=1>(f, w3, b3)"""
MOBILE = """e = Conv(x, w, b)
e2 = Relu(e)
d = Conv<pads=[1,1,1,1], group=16>(e2, w2, b2)
g = GlobalAveragePool(d)
q = Conv(g, w4)
h = Sigmoid(q)
m = Mul(d, h)
l = LeakyRelu<alpha=0.1>(m)
y = Conv(l, w3, b3)"""
PYRAMID = """a = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w, b)
u = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(a, , two)
c = Concat<axis=1>(x, u)
t = Transpose<perm=[0,2,3,1]>(c)
m = MatMul(t, w2)
y = Clip(m, low, high)"""
MIXER = """a = MatMul(x, w)
b = Relu(a)
c = MatMul(b, w2)
d = Add(c, x)
e = Transpose<perm=[0,2,1]>(d)
f = MatMul(e, w3)
y = Softmax<axis=-1>(f)"""
NETWORKS = {
    "digits": lambda: onnx.load(ROOT / "test" / "Inputs" / "digits" / "digits.onnx"),
    "residual": lambda: make_network(RESIDUAL, constants={
        "w": (16, 3, 3, 3), "b": (16,), "w2": (16, 16, 3, 3), "b2": (16,), "w3": (10, 256), "b3": (10,)}),
    "mobile": lambda: make_network(MOBILE, constants={
        "w": (16, 3, 1, 1), "b": (16,), "w2": (16, 1, 3, 3), "b2": (16,), "w3": (8, 16, 1, 1), "b3": (8,), "w4": (16, 16, 1, 1)}),
    "pyramid": lambda: make_network(PYRAMID, constants={
        "w": (5, 3, 3, 3), "b": (5,), "w2": (8, 24), "two": np.array([1, 1, 2, 2], np.float32),
        "low": np.float32(-2), "high": np.float32(3)}),
    "mixer": lambda: make_network(MIXER, inputs={"x": [2, 16, 32]}, constants={"w": (32, 64), "w2": (64, 32), "w3": (16, 12)}),
}
FORMS = {
    "qdq": dict(quant_format="QDQ", activation_type="QUInt8", weight_type="QInt8"),
    "qdq_i8_per_channel": dict(quant_format="QDQ", activation_type="QInt8", weight_type="QInt8", per_channel=True),
    "qdq_u8_weights": dict(quant_format="QDQ", activation_type="QUInt8", weight_type="QUInt8"),
    "operators": dict(quant_format="QOperator", activation_type="QUInt8", weight_type="QInt8"),
    "operators_u8_weights": dict(quant_format="QOperator", activation_type="QUInt8", weight_type="QUInt8"),
}


def quantize_by_onnxruntime(model, folder, quant_format, activation_type, weight_type, per_channel=False, optimizes=False):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quant_pre_process, quantize_static

    class Samples(CalibrationDataReader):
        def __init__(self):
            session = open_onnxruntime(model)
            self.feeds = iter([make_feed(session, 100 + seed) for seed in range(4)])

        def get_next(self):
            return next(self.feeds, None)

    onnx.save(onnx.shape_inference.infer_shapes(model), folder / "model.onnx")
    quant_pre_process(folder / "model.onnx", folder / "float.onnx", skip_symbolic_shape=True, skip_optimization=not optimizes)
    quantize_static(folder / "float.onnx", folder / "quantized.onnx", Samples(), quant_format=QuantFormat[quant_format],
                    activation_type=QuantType[activation_type], weight_type=QuantType[weight_type], per_channel=per_channel)
    return onnx.load(folder / "quantized.onnx")


def cut_into_layers(model):
    """The network with every tensor of 8-bit integers as an output, and as an input of what reads it: each layer by itself;
    and the uncut network with these outputs."""
    layers, whole = onnx.ModelProto(), onnx.ModelProto()
    layers.CopyFrom(model)
    whole.CopyFrom(model)
    constants = {tensor.name for tensor in model.graph.initializer}
    integers = [node.output[0] for node in model.graph.node
                if node.op_type.startswith(("QLinear", "QGemm")) or (node.op_type == "QuantizeLinear" and node.input[0] not in constants)]
    for name in integers:
        whole.graph.output.append(onnx.ValueInfoProto(name=name))
    session = open_onnxruntime(whole)
    values = dict(zip([value.name for value in session.get_outputs()], session.run(None, make_feed(session, 0))))
    integers = [name for name in integers if values[name].dtype in (np.uint8, np.int8)]
    for name in integers:
        type = U8 if values[name].dtype == np.uint8 else I8
        if name not in {value.name for value in model.graph.output}:
            layers.graph.output.append(helper.make_tensor_value_info(name, type, values[name].shape))
        readers = [node for node in layers.graph.node if name in node.input]
        for node in readers:
            node.input[:] = [name + "/in" if each == name else each for each in node.input]
        if readers:
            layers.graph.input.append(helper.make_tensor_value_info(name + "/in", type, values[name].shape))
    return layers, session


def compare_layers(model, runs=3):
    """As `compare`, of every layer on onnxruntime's integers."""
    layers, session = cut_into_layers(model)
    names = [value.name for value in session.get_outputs()]
    compiled = octet.compile(layers.SerializeToString())
    different = total = largest = 0
    for seed in range(runs):
        feed = make_feed(session, seed)
        values = {**feed, **dict(zip(names, session.run(None, feed)))}
        results = compiled.run({value.name: values[value.name.removesuffix("/in")] for value in compiled.inputs})
        for name, got in results.items():
            if np.asarray(got).dtype == np.float32:
                continue
            difference = np.abs(np.asarray(got).astype(int) - values[name].astype(int))
            different, total = different + np.count_nonzero(difference), total + difference.size
            largest = max(largest, difference.max())
    return different, total, largest


# name: the shape of the input, where the file does not say it
REAL = {"mnist_cntk": None, "mlperf_kws_dscnn": None, "mlperf_resnet8_cifar10": None, "mlperf_vww_mobilenetv1_025_96": None,
        "ppocr_cls": [1, 3, 48, 192]}


@pytest.mark.filterwarnings("ignore::octet.CompileWarning")
@pytest.mark.parametrize("form", ["qdq", "qdq_i8_per_channel", "operators"])
@pytest.mark.parametrize("name", REAL)
def test_real_networks(name, form, shared_models, tmp_path):
    """Prints how many integers differ; more than a tie in 10 000 only where onnxruntime adds by QLinearAdd."""
    if (name, form) == ("mnist_cntk", "qdq_i8_per_channel"):
        pytest.skip("onnxruntime's quantizer fails on this network per channel")
    model = onnx.load(shared_models / "onnx" / f"{name}.onnx")
    for value in model.graph.input:
        known = [dimension.dim_value or 1 for dimension in value.type.tensor_type.shape.dim]
        value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, REAL[name] or known))
    if next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")) < 13:
        model = onnx.version_converter.convert_version(model, 13)
    del model.graph.value_info[:]
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model = quantize_by_onnxruntime(model, tmp_path, optimizes=True, **FORMS[form])
    different, total, largest = compare_layers(model)
    print(f"{name} {form}: {different} of {total} integers differ")
    limit = 100 if (name, form) == ("ppocr_cls", "operators") else 10000
    assert different * limit <= total and largest <= 1


@pytest.mark.filterwarnings("ignore::octet.CompileWarning")  # depthwise weights of 9 bits stay float
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_files_of_onnxruntime(name, form, tmp_path):
    """Layer by layer at most one tie in 10 000 integers, of one step."""
    model = quantize_by_onnxruntime(NETWORKS[name](), tmp_path, **FORMS[form])
    different, total, largest = compare_layers(model)
    assert different * 10000 <= total and largest <= 1, (different, total, largest)


@pytest.mark.parametrize("name", NETWORKS)
def test_whole_networks_run_in_integers(name, tmp_path):
    """From end to end, without samples; every multiply-add is one of integers, and levels agree."""
    model = quantize_by_onnxruntime(NETWORKS[name](), tmp_path, **FORMS["operators"])
    different, total, largest = compare(model)
    step = onnx.numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == model.graph.node[-1].input[1]))
    assert different * 100 <= total and largest <= 2 * step
    compiled = octet.compile(model.SerializeToString())
    assert {row.verdict for row in compiled.report if row.macs} <= {"int8", "int8 to float"}
    feed = make_feed(open_onnxruntime(model), 7)
    scalar = octet.compile(model.SerializeToString(), cpu_level="reference").run(feed)
    for output, value in compiled.run(feed).items():
        np.testing.assert_array_equal(value, scalar[output])


def test_file_of_nncf(tmp_path):
    nncf = pytest.importorskip("nncf")
    model = onnx.shape_inference.infer_shapes(NETWORKS["residual"]())
    session = open_onnxruntime(model)
    quantized = nncf.quantize(model, nncf.Dataset([make_feed(session, seed) for seed in range(4)]), subset_size=4)
    different, total, largest = compare_layers(quantized)
    assert different * 10000 <= total and largest <= 1
    verdicts = {row.name: row.verdict for row in octet.compile(quantized.SerializeToString()).report}
    assert len(verdicts) == 8 and set(verdicts.values()) == {"int8", "int8 to float"}


# ---- forms written by hand -----------------------------------------------------------------------------------------------
SCALES = (np.arange(8) * 0.002 + 0.02).astype(np.float32)
QAT = """q = QuantizeLinear(x, s, z)
c = Clip(q, low, high)
d = DequantizeLinear(c, s, z)
wq = QuantizeLinear<axis=0>(w, ws, wz)
wc = Clip(wq, low, high)
wd = DequantizeLinear<axis=0>(wc, ws, wz)
k = Conv<pads=[1,1,1,1]>(d, wd, b)
r = Relu(k)
q2 = QuantizeLinear(r, s2, z2)
c2 = Clip(q2, zero, fifteen)
y = DequantizeLinear(c2, s2, z2)"""


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_qat_form(opset):
    """Float weights with Q, Clip and DQ behind them, activations of fewer bits, a float bias: Brevitas' QCDQ, PyTorch's QAT."""
    constants = dict(s=np.float32(0.03), z=np.int8(0), low=np.int8(-127), high=np.int8(127), w=(8, 3, 3, 3), b=(8,), ws=SCALES,
                     wz=np.zeros(8, np.int8), s2=np.float32(0.1), z2=np.uint8(0), zero=np.uint8(0), fifteen=np.uint8(15))
    model = make(QAT, constants=constants, opset=opset)
    assert compare(model) == (0, 3 * 512, 0)
    report = octet.compile(model.SerializeToString()).report
    assert [(row.name, row.verdict) for row in report] == [("k", "int8"), ("r", "int8")]


def integers(shape, low, high, type, seed=3):
    return np.random.default_rng(seed).integers(low, high, shape).astype(type)


IMAGE = {"x": [1, 4, 8, 8]}
ROWS = {"x": [4, 64]}
A = dict(xs=np.float32(0.05), xz=np.uint8(100), ys=np.float32(0.11), yz=np.uint8(90))
AS = dict(xs=np.float32(0.05), xz=np.int8(-20), ys=np.float32(0.11), yz=np.int8(9))
R = dict(r=integers((1, 4, 8, 8), 0, 256, np.uint8), rs=np.float32(0.07), rz=np.uint8(133))
W = dict(w=integers((8, 4, 3, 3), -127, 128, np.int8), ws=SCALES, wz=np.zeros(8, np.int8), b=integers(8, -3000, 3000, np.int32))
WU = dict(w=integers((8, 4, 3, 3), 0, 256, np.uint8), ws=np.float32(0.02), wz=np.uint8(119))
M = dict(w=integers((64, 8), -128, 128, np.int8), ws=np.float32(0.02), wz=np.int8(0))
INT = {"x": U8, "y": U8}

# name: (nodes, arguments of `make`): exact, ties included
EXACT = {
    "conv": ("y = QLinearConv<pads=[1,1,1,1]>(x, xs, xz, w, ws, wz, ys, yz, b)", dict(constants={**A, **W}, inputs=IMAGE, types=INT)),
    "conv_i8": ("y = QLinearConv<pads=[1,1,1,1], strides=[2,2]>(x, xs, xz, w, ws, wz, ys, yz)",
                dict(constants={**AS, **W}, inputs=IMAGE, types={"x": I8, "y": I8})),
    "conv_1d": ("y = QLinearConv<pads=[1,1]>(x, xs, xz, w, ws, wz, ys, yz, b)",
                dict(constants={**A, **W, "w": integers((8, 4, 3), -127, 128, np.int8)}, inputs={"x": [1, 4, 30]}, types=INT)),
    "conv_9_bits": ("y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz)", dict(constants={**A, **WU}, inputs=IMAGE, types=INT)),
    "matmul": ("y = QLinearMatMul(x, xs, xz, w, ws, wz, ys, yz)", dict(constants={**A, **M}, inputs=ROWS, types=INT)),
    "gemm": ("y = com.microsoft.QGemm<transB=1>(x, xs, xz, w, ws, wz, b, ys, yz)",
             dict(constants={**A, **W, "w": integers((8, 64), -127, 128, np.int8)}, inputs=ROWS, types=INT)),
    "gemm_to_float": ("y = com.microsoft.QGemm<transB=1>(x, xs, xz, w, ws, wz, b)",
                      dict(constants={**A, **W, "w": integers((8, 64), -127, 128, np.int8)}, inputs=ROWS, types={"x": U8})),
    "mul": ("y = com.microsoft.QLinearMul(x, xs, xz, r, rs, rz, ys, yz)", dict(constants={**A, **R}, inputs=IMAGE, types=INT)),
    "concat": ("y = com.microsoft.QLinearConcat<axis=1>(ys, yz, x, xs, xz, r, rs, rz)",
               dict(constants={**A, **R}, inputs=IMAGE, types=INT)),
    "sigmoid": ("y = com.microsoft.QLinearSigmoid(x, xs, xz, ys2, yz2)",
                dict(constants={**A, "ys2": np.float32(1 / 255), "yz2": np.uint8(0)}, inputs=IMAGE, types=INT)),
    "leaky_relu": ("y = com.microsoft.QLinearLeakyRelu<alpha=0.1>(x, xs, xz, ys, yz)", dict(constants=A, inputs=IMAGE, types=INT)),
    "global_pool": ("y = com.microsoft.QLinearGlobalAveragePool(x, xs, xz, ys, yz)", dict(constants=A, inputs=IMAGE, types=INT)),
    "microsoft_pair": ("q = com.microsoft.QuantizeLinear(x, xs, xz)\ny = com.microsoft.DequantizeLinear(q, xs, xz)",
                       dict(constants=A, inputs=IMAGE)),
    "opset_10": ("q = QuantizeLinear(x, xs, xz)\ny = DequantizeLinear(q, xs, xz)", dict(constants=A, inputs=IMAGE, opset=10)),
    "opset_23": ("q = QuantizeLinear<output_dtype=3>(x, xs)\ny = DequantizeLinear(q, xs)", dict(constants=A, inputs=IMAGE, opset=23)),
    "without_zero_point": ("q = QuantizeLinear(x, xs)\ny = DequantizeLinear(q, xs)", dict(constants=A, inputs=IMAGE)),
    "per_channel": ("q = QuantizeLinear<axis=-3>(x, s4, z4)\ny = DequantizeLinear<axis=1>(q, s4, z4)",
                    dict(constants={"s4": SCALES[:4], "z4": np.array([0, 7, 128, 255], np.uint8)}, inputs=IMAGE)),
    "other_parameters": ("q = QuantizeLinear(x, xs, xz)\ny = DequantizeLinear(q, rs, rz)", dict(constants={**A, **R}, inputs=IMAGE)),
    "moved_integers": ("q = QuantizeLinear(x, xs, xz)\np = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(q)\n"
                       "t = Transpose<perm=[0,2,3,1]>(p)\ny = DequantizeLinear(t, xs, xz)", dict(constants=A, inputs=IMAGE)),
    "padded_integers": ("q = QuantizeLinear(x, xs, xz)\np = Pad(q, pads)\ny = DequantizeLinear(p, xs, xz)",
                        dict(constants={**A, "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}, inputs=IMAGE)),
    "moved_input": ("f = Flatten(x)\ny = DequantizeLinear(f, xs, xz)", dict(constants=A, inputs=IMAGE, types={"x": U8})),
    "dynamic": ("q, s, z = DynamicQuantizeLinear(x)\na = MatMulInteger(q, w, z, wz)\nf = Cast<to=1>(a)\nt = Mul(s, ws)\n"
                "y = Mul(f, t)", dict(constants=M, inputs=ROWS)),
    "dynamic_results": ("y, s, z = DynamicQuantizeLinear(x)", dict(inputs=ROWS, outputs=("y", "s", "z"), types={"y": U8, "z": U8})),
    "dynamic_beyond_2^24": ("q, s, z = DynamicQuantizeLinear(x)\na = MatMulInteger(q, w, z)\nf = Cast<to=1>(a)\ny = Mul(f, s)",
                            dict(constants={"w": integers((2000, 4), -128, 128, np.int8)}, inputs={"x": [3, 2000]})),
    "dynamic_conv": ("q, s, z = DynamicQuantizeLinear(x)\na = ConvInteger<pads=[1,1,1,1]>(q, w, z, wz)\nf = Cast<to=1>(a)\n"
                     "y = Mul(f, s)", dict(constants=WU, inputs=IMAGE)),
    "integer_conv": ("q = QuantizeLinear(x, xs, xz)\na = ConvInteger<pads=[1,1,1,1]>(q, w, xz)\nf = Cast<to=1>(a)\n"
                     "y = Mul(f, ys)", dict(constants={**A, **W}, inputs=IMAGE)),
    "integer_matmul": ("a = MatMulInteger(x, w, xz)\ny = Cast<to=1>(a)", dict(constants={**A, **M}, inputs=ROWS, types={"x": U8})),
    "scaled_integers": ("a = MatMulInteger(x, w, xz)\ny = DequantizeLinear(a, ys)",
                        dict(constants={**A, **M}, inputs=ROWS, types={"x": U8})),
    "cast_integers": ("q = QuantizeLinear(x, xs, xz)\ny = Cast<to=1>(q)", dict(constants=A, inputs=IMAGE)),
}


@pytest.mark.filterwarnings("error::octet.CompileWarning")
@pytest.mark.parametrize("name", EXACT)
def test_operator_is_exact(name):
    nodes, arguments = EXACT[name]
    different, _, largest = compare(make(nodes, **arguments))
    assert different == 0, largest


@pytest.mark.parametrize("nodes", ["y = com.microsoft.QLinearAdd(x, xs, xz, r, rs, rz, ys, yz)",
                                   "y = com.microsoft.QLinearAveragePool<kernel_shape=[2,2]>(x, xs, xz, ys, yz)"])
def test_operator_up_to_ties(nodes):
    """onnxruntime adds in another order here, which shows at ties."""
    different, total, largest = compare(make(nodes, constants={**A, **R}, inputs=IMAGE, types=INT), runs=40)
    assert different * 10000 <= total and largest <= 1


@pytest.mark.parametrize("kernel, share", [(2, 0.1), (3, 0.02)])
def test_ties_of_means(kernel, share, tmp_path):
    """Where input and output have one scale, real ties are frequent, which onnxruntime's f32 sums break either way."""
    model = make("q = QuantizeLinear(x, xs, xz)\nd = DequantizeLinear(q, xs, xz)\n"
                 f"a = AveragePool<kernel_shape=[{kernel},{kernel}]>(d)\ny = QuantizeLinear(a, xs, xz)",
                 constants=A, inputs={"x": [1, 16, 32, 32]}, types={"y": U8})
    different, total, largest = compare(model)
    print(f"{kernel} x {kernel}: {different / total:.3f} of the integers differ")
    assert different <= share * total and largest <= 1


def test_softmax_within_a_step():
    """onnxruntime reads rounded exponentials from a table; the law of numbers has none (docs/quantized-files.md)."""
    constants = {**A, "ys2": np.float32(1 / 255), "yz2": np.uint8(0)}
    model = make("y = com.microsoft.QLinearSoftmax<axis=-1, opset=13>(x, xs, xz, ys2, yz2)", constants=constants, inputs=ROWS, types=INT)
    different, total, largest = compare(model, runs=40)
    assert different * 20 <= total and largest <= 1


# ---- contradictions ------------------------------------------------------------------------------------------------------
PAIR = "q = QuantizeLinear<axis=1>(x, s, z)\ny = DequantizeLinear<axis=1>(q, s, z)"
BAD = {
    "zero scale": (PAIR, dict(s=np.float32(0), z=np.uint8(0)), "has the scale 0.000000; expected a positive"),
    "negative scale": (PAIR, dict(s=np.float32(-1), z=np.uint8(0)), "has the scale -1.000000; expected a positive"),
    "NaN": (PAIR, dict(s=np.float32("nan"), z=np.uint8(0)), "has the scale nan; expected a positive"),
    "infinite": (PAIR, dict(s=np.float32("inf"), z=np.uint8(0)), "has the scale inf; expected a positive"),
    "subnormal": (PAIR, dict(s=np.float32(1e-40), z=np.uint8(0)), "expected a positive, normal number"),
    "channel": (PAIR, dict(s=np.float32([1, 0, 1]), z=np.zeros(3, np.uint8)), "has the scale 0.000000 for channel 1"),
    "wrong length": (PAIR, dict(s=np.ones(4, np.float32), z=np.zeros(4, np.uint8)), "has 4 scales for axis 1 of a tensor of shape 1x3x8x8"),
    "wrong axis": (PAIR.replace("=1", "=4"), dict(s=np.ones(3, np.float32), z=np.zeros(3, np.uint8)), "has the axis 4; its input has 4"),
    "fewer zero points": (PAIR, dict(s=np.ones(3, np.float32), z=np.uint8(0)), "has 3 scales, but 1 zero points"),
    "another type": ("q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z2)", dict(s=np.float32(1), z=np.uint8(0), z2=np.int8(0)),
                     "has a zero point of INT8 for integers of UINT8; store both in the same type"),
    "another type of constants": ("d = DequantizeLinear(w, s, z)\ny = Add(x, d)",
                                  dict(s=np.float32(1), z=np.int8(0), w=np.uint8([3])), "has a zero point of INT8 for integers of UINT8"),
    "bias with a zero point": ("d = DequantizeLinear(w, s, z)\ny = Add(x, d)",
                               dict(s=np.float32(1), z=np.int32(5), w=np.int32([3])), "has the zero point 5 for integers of INT32; expected 0"),
    "another output type": ("q = QuantizeLinear<output_dtype=3>(x, s, z)\ny = DequantizeLinear(q, s, z)",
                            dict(s=np.float32(1), z=np.uint8(0)), "has a zero point of UINT8 for integers of INT8"),
    "16 bits": (PAIR, dict(s=np.float32(1), z=np.uint16(0)), "quantized values of UINT16; quantize the network to 8 bits"),
    "quantized to 32 bits": (PAIR, dict(s=np.float32(1), z=np.int32(0)), "has a zero point of INT32; expected one of 8 bits"),
    "blocks": ("q = QuantizeLinear<axis=1, block_size=1>(x, s, z)\ny = DequantizeLinear<axis=1, block_size=1>(q, s, z)",
               dict(s=np.ones((1, 3, 8, 8), np.float32), z=np.zeros((1, 3, 8, 8), np.uint8)),
               "blocked quantization (scales of shape 1x3x8x8); quantize the network with one scale per tensor or per channel"),
    "scale at run time": ("s2 = Relu(x)\nq = QuantizeLinear(x, s2, z)\ny = DequantizeLinear(q, s, z)", dict(s=np.float32(1), z=np.uint8(0)),
                          "QuantizeLinear, domain ai.onnx, opset 21): a scale computed at run time"),
    "dequantized floats": ("y = DequantizeLinear(x, s)", dict(s=np.float32(1)), "dequantizes a tensor of floats; expected integers"),
    "dequantized constant floats": ("d = DequantizeLinear(s, s)\ny = Add(x, d)", dict(s=np.float32(1)), "dequantizes a constant of floats"),
    "quantized integers": ("i = QuantizeLinear(x, s, z)\nq = QuantizeLinear(i, s, z)\ny = DequantizeLinear(q, s, z)",
                           dict(s=np.float32(1), z=np.uint8(0)), "integers to be quantized; convert them to floats"),
    "computed with integers": ("q = QuantizeLinear(x, s, z)\nr = Relu(q)\ny = DequantizeLinear(r, s, z)",
                               dict(s=np.float32(1), z=np.uint8(0)), "integers as operands; put DequantizeLinear in front"),
    "integers of two scales": ("q = QuantizeLinear(x, s, z)\nr = QuantizeLinear(x, t, z)\nc = Concat<axis=1>(q, r)\n"
                               "y = DequantizeLinear(c, s, z)", dict(s=np.float32(1), t=np.float32(2), z=np.uint8(0)),
                               "integers of several scales or zero points"),
    "channels with other scales": ("q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, t, z)",
                                   dict(s=np.ones(3, np.float32), t=np.full(3, 2, np.float32), z=np.zeros(3, np.uint8)),
                                   "other scales or zero points than those with which the tensor was quantized"),
    "clipped to one value": ("q = QuantizeLinear(x, s, z)\nc = Clip(q, z, z)\ny = DequantizeLinear(c, s, z)",
                             dict(s=np.float32(1), z=np.uint8(0)), "bounds that leave one value"),
    "several bounds": ("q = QuantizeLinear(x, s, z)\nc = Clip(q, zs)\ny = DequantizeLinear(c, s, z)",
                       dict(s=np.float32(1), z=np.uint8(0), zs=np.zeros(2, np.uint8)), "has 2 values as a bound; expected one"),
    "float bias": ("q = QuantizeLinear(x, s, z)\nc = QLinearConv(q, s, z, w, s, z2, s, z, b)\ny = DequantizeLinear(c, s, z)",
                   dict(s=np.float32(1), z=np.uint8(0), z2=np.int8(0), w=np.zeros((2, 3, 1, 1), np.int8), b=np.zeros(2, np.float32)),
                   "has a bias of another type than INT32"),
    "bias and scales": ("q = QuantizeLinear(x, s, z)\nc = QLinearConv(q, s, z, w, ws, wz, s, z, b)\ny = DequantizeLinear(c, s, z)",
                        dict(s=np.float32(1), z=np.uint8(0), ws=np.ones(2, np.float32), wz=np.zeros(2, np.int8),
                             w=np.zeros((2, 3, 1, 1), np.int8), b=np.zeros(3, np.int32)), "has a bias of shape 3 and 2 scales of weights"),
    "concat": ("q = QuantizeLinear(x, s, z)\nc = com.microsoft.QLinearConcat<axis=1>(s, z, q, s, z, q)\ny = DequantizeLinear(c, s, z)",
               dict(s=np.float32(1), z=np.uint8(0)), "has 6 inputs; expected two and three for each operand"),
    "softmax of another opset": ("q = QuantizeLinear(x, s, z)\nc = com.microsoft.QLinearSoftmax<opset=9>(q, s, z, s, z)\n"
                                 "y = DequantizeLinear(c, s, z)", dict(s=np.float32(1), z=np.uint8(0)), "attribute opset=9"),
    "product of activations": ("f = Flatten<axis=3>(x)\nq, s, z = DynamicQuantizeLinear(f)\nt = Transpose(q)\n"
                               "m = MatMulInteger(q, t, z, z)\ny = Cast<to=1>(m)", {},
                               "a product of two tensors of integers that are computed at run time"),
    "product of floats": ("m = MatMulInteger(x, w)\ny = Cast<to=1>(m)", dict(w=np.zeros((8, 2), np.int8)),
                          "multiplies a tensor that does not hold 8-bit integers"),
    "large sums": ("q, s, z = DynamicQuantizeLinear(x)\nf = Flatten(q)\nm = MatMulInteger(f, w, z)\ny = Cast<to=1>(m)",
                   dict(w=np.full((192 * 64, 1), -128, np.int8)), "sums of products beyond 2^28"),
    "computed integers": ("c = Shape(x)\nd = DequantizeLinear(c, s)\ny = Add(x, d)", dict(s=np.float32(1)),
                          "integers computed during the import"),
    "dynamic integers of other parameters": ("q, s, z = DynamicQuantizeLinear(x)\ny = DequantizeLinear(q, t)", dict(t=np.float32(1)),
                                             "integers of a tensor that is quantized at run time"),
    "dynamic zero points": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w, zs)\ny = Cast<to=1>(m)",
                            dict(w=np.zeros((8, 2), np.int8), zs=np.zeros(8, np.uint8)), "several zero points of a tensor quantized at run time"),
    "filter of two dimensions": ("q, s, z = DynamicQuantizeLinear(x)\nm = ConvInteger(q, w)\ny = Cast<to=1>(m)",
                                 dict(w=np.zeros((8, 2), np.int8)), "has a filter of shape 8x2"),
    "matrices of three dimensions": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w)\ny = Cast<to=1>(m)",
                                     dict(w=np.zeros((3, 8, 2), np.int8)), "a second operand of shape 3x8x2"),
    "bias at run time": ("q = QuantizeLinear(x, s, z)\nm = MatMulInteger(q, v, z)\nc = QLinearConv(q, s, z, w, s, z2, s, z, m)\n"
                         "y = DequantizeLinear(c, s, z)",
                         dict(s=np.float32(1), z=np.uint8(0), z2=np.int8(0), v=np.zeros((8, 2), np.int8), w=np.zeros((2, 3, 1, 1), np.int8)),
                         "a bias computed at run time"),
    "concat of nothing": ('q = QuantizeLinear(x, s, z)\nc = com.microsoft.QLinearConcat<axis=1>(s, z, q, s, z, , s, z)\n'
                          "y = DequantizeLinear(c, s, z)", dict(s=np.float32(1), z=np.uint8(0)), "lacks its input 5"),
    "cast to integers": ("q = QuantizeLinear(x, s, z)\nc = Cast<to=6>(q)\ny = Cast<to=1>(c)", dict(s=np.float32(1), z=np.uint8(0)),
                         "attribute to=6"),
    "zero points of a product": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w, z, wz)\ny = Cast<to=1>(m)",
                                 dict(w=np.zeros((8, 2), np.int8), wz=np.zeros(3, np.int8)), "has 3 zero points for a tensor of shape 8x2"),
    "type of a product's zero point": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w, z, wz)\ny = Cast<to=1>(m)",
                                       dict(w=np.zeros((8, 2), np.int8), wz=np.uint8(3)), "has a zero point of another type than its integers"),
}


def refuse(tmp_path, model):
    """The message with which the import of a network is refused."""
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([BIN / "octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", os.devnull],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count("error:") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", BAD)
def test_contradictions(name, tmp_path):
    nodes, constants, message = BAD[name]
    shape = [1, 3, 64, 64] if name == "large sums" else [1, 3, 8, 8]
    assert message in refuse(tmp_path, make(nodes, constants=constants, opset=21, inputs={"x": shape}))


def test_zero_point_out_of_range(tmp_path):
    """NumPy would not make such a tensor."""
    model = make(PAIR, constants=dict(s=np.float32(1), z=np.uint8(0)))
    model.graph.initializer[1].CopyFrom(helper.make_tensor("z", U8, [], [0]))
    model.graph.initializer[1].int32_data[0] = 256
    assert "has the zero point 256 for integers of UINT8; expected one from 0 to 255" in refuse(tmp_path, model)


@pytest.mark.parametrize("type", [TensorProto.FLOAT8E4M3FN, TensorProto.INT4])
def test_other_types_are_named(type, tmp_path):
    model = make(PAIR, constants=dict(s=np.float32(1)), opset=21)
    model.graph.initializer.append(helper.make_tensor("z", type, [], [0]))
    assert 'the initializer "z" has the element type' in refuse(tmp_path, model)


def test_flipped_bytes_never_crash(tmp_path):
    """Neither the file's structure nor its parameters are believed."""
    random = np.random.default_rng(5)
    for name in ("conv", "gemm", "dynamic", "moved_integers"):
        nodes, arguments = EXACT[name]
        data = bytearray(make(nodes, **arguments).SerializeToString())
        for _ in range(30):
            bad = bytearray(data)
            for position in random.integers(0, len(bad), 4):
                bad[position] = random.integers(0, 256)
            (tmp_path / "net.onnx").write_bytes(bad)
            done = subprocess.run([BIN / "octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", os.devnull],
                                  capture_output=True, timeout=60)
            assert done.returncode in (0, 1), done.stderr


# ---- the compiler --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("quantized") / "net.onnx"
    constants = dict(s=np.float32(0.03), z=np.int8(0), low=np.int8(-127), high=np.int8(127), w=(8, 3, 3, 3), b=(8,), ws=SCALES,
                     wz=np.zeros(8, np.int8), s2=np.float32(0.1), z2=np.uint8(0), zero=np.uint8(0), fifteen=np.uint8(15))
    path.write_bytes(make(QAT, constants=constants).SerializeToString())
    return path


def compile_file(compiler, file, *options):
    done = subprocess.run([compiler, file, "-o", file.with_suffix(".out"), *options], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_no_samples_are_needed(compiler, file):
    code, text = compile_file(compiler, file)
    assert code == 0 and "as in the file · 1 conv, 1 relu → int8" in text


@pytest.mark.parametrize("option", ["--calibration-data=x.npz", "--load-statistics=x", "--save-statistics=x", "--qconfig-mapping=x"])
def test_options_without_effect(compiler, file, option):
    code, text = compile_file(compiler, file, option)
    assert code == 1 and f"{option.split('=')[0]} has no effect with a network that is quantized in its file; omit it" in text


def test_float_code_of_a_quantized_file(compiler, file):
    """The reference model: what the file means, computed in float."""
    assert compile_file(compiler, file, "--float")[0] == 0
    model = onnx.load(file)
    session, compiled = open_onnxruntime(model), octet.load(file.with_suffix(".out"))
    feed = make_feed(session, 1)
    np.testing.assert_array_equal(compiled.run(feed)["y"], session.run(None, feed)[0])
    assert compiled.report.data["precision"] == "float"


def test_inputs_and_outputs_in_integers(compiler, file):
    """--quantized-io uses the scales of the file."""
    assert compile_file(compiler, file, "--quantized-io")[0] == 0
    compiled = octet.load(file.with_suffix(".out"))
    assert [(value.dtype, value.scale, value.zero_point) for value in [*compiled.inputs, *compiled.outputs]] == [
        (np.int8, np.float32(0.03), 0), (np.uint8, np.float32(0.1), 0)]


def test_strict(compiler, tmp_path):
    """Weights of 9 bits in several groups have no kernel: a warning, or an error."""
    model = make("y = QLinearConv<group=4>(x, xs, xz, w, ws, wz, ys, yz)", inputs=IMAGE, types=INT,
                 constants={**A, **WU, "w": integers((8, 1, 3, 3), 0, 256, np.uint8)})
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    message = "stays float [OCT305]: the filter is not a constant of symmetric 8-bit signed values; quantize the weights symmetrically"
    code, text = compile_file(compiler, tmp_path / "net.onnx")
    assert code == 0 and "warning: " in text and message in text
    (row,) = octet.load(tmp_path / "net.out").report
    assert (row.verdict, row.code) == ("float", "OCT305")
    code, text = compile_file(compiler, tmp_path / "net.onnx", "--strict")
    assert code == 1 and "error: " in text and message in text


def test_parts_without_an_integer_form_are_float_in_the_report(tmp_path):
    """A sum whose result nothing quantizes, and a mean that has no kernel, between quantized values."""
    model = make("q = QuantizeLinear(x, xs, xz)\nd = DequantizeLinear(q, xs, xz)\nm = ReduceMean<axes=[1]>(d)\n"
                 "p = QuantizeLinear(m, xs, xz)\ne = DequantizeLinear(p, xs, xz)\ny = Add(d, e)", constants=A, inputs=IMAGE)
    with pytest.warns(octet.CompileWarning, match=r"stays float \[OCT104\]: no integer form"):
        compiled = octet.compile(model.SerializeToString())
    assert [(row.name, row.verdict, row.code) for row in compiled.report] == [("m", "float", "OCT104"), ("y", "float", "OCT102")]


def test_going_on_from_every_stage(compiler, file):
    """The library is the same through a stop."""
    direct = file.with_suffix(".out")
    assert compile_file(compiler, file)[0] == 0
    wanted = direct.read_bytes()
    for stage in ("import", "fuse", "prepare", "calibrate", "convert", "lower"):
        stopped = file.with_suffix(f".{stage}.mlirbc")
        assert subprocess.run([compiler, file, "-o", stopped, f"--stop-after={stage}"], capture_output=True).returncode == 0
        done = subprocess.run([compiler, stopped, "-o", direct, "--name=net"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert list(octet.load(direct).report) == list(octet.Model(wanted, "net.so").report)
        feed = make_feed(open_onnxruntime(onnx.load(file)), 1)
        np.testing.assert_array_equal(octet.load(direct).run(feed)["y"], octet.Model(wanted, "net.so").run(feed)["y"])


def test_float_networks_stay_float_without_samples(compiler, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(make_network("y = Relu(x)").SerializeToString())
    assert compile_file(compiler, path, "--as-in-file")[0] == 0
    assert octet.load(path.with_suffix(".out")).report.data["precision"] == "float"
    code, text = compile_file(compiler, path, "--as-in-file", "--strict")
    assert code == 1 and "--strict has no effect with --float" in text

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that quantization tools write, layer by layer integer for integer what onnxruntime computes without graph optimizations, but for
ties: by the tools where they are installed, and in the form of each, written by hand."""

import io
import warnings

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx_networks import make_network  # noqa: E402
from quantized_networks import SCALES, make, make_feed, open_onnxruntime  # noqa: E402
from test_quantized_files import NETWORKS, compare_layers, quantize_by_onnxruntime  # noqa: E402

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.filterwarnings("ignore")]


# ---- by the tools --------------------------------------------------------------------------------------------------------
def make_samples(model, count=4):
    session = open_onnxruntime(model)
    return [make_feed(session, seed) for seed in range(count)]


def by_onnxruntime(folder):
    return quantize_by_onnxruntime(NETWORKS["residual"](), folder, "QDQ", "QUInt8", "QInt8", per_channel=True)


def by_nncf(folder):
    nncf = pytest.importorskip("nncf")
    model = onnx.shape_inference.infer_shapes(NETWORKS["residual"]())
    return nncf.quantize(model, nncf.Dataset(make_samples(model)), subset_size=4)


def by_aimet(folder):
    quantsim = pytest.importorskip("aimet_onnx.quantsim")
    model = onnx.shape_inference.infer_shapes(onnx.version_converter.convert_version(NETWORKS["residual"](), 17))
    simulated = quantsim.QuantizationSimModel(model, providers=["CPUExecutionProvider"])
    simulated.compute_encodings(make_samples(model))
    return simulated.to_onnx_qdq()


def export(torch, network, write):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write(network, torch.randn(1, 3, 8, 8), file)
    return onnx.load_from_string(file.getvalue())


def by_pytorch(folder):
    """Behind ten steps of quantization-aware training, batch norm still beside its convolution."""
    torch = pytest.importorskip("torch")
    from torch.ao.quantization import disable_observer, get_default_qat_qconfig_mapping
    from torch.ao.quantization.quantize_fx import prepare_qat_fx

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.c1, self.c2 = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 3, padding=1)
            self.b1, self.b2, self.last = torch.nn.BatchNorm2d(8), torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 5)

        def forward(self, x):
            x = torch.nn.functional.relu(self.b1(self.c1(x)))
            y = torch.nn.functional.relu(self.b2(self.c2(x)) + x)
            return self.last(torch.nn.functional.max_pool2d(y, 2).mean([2, 3]))

    torch.manual_seed(0)
    prepared = prepare_qat_fx(Network().train(), get_default_qat_qconfig_mapping("qnnpack", 0), (torch.randn(1, 3, 8, 8),))
    for _ in range(10):
        prepared(torch.randn(4, 3, 8, 8))
    prepared.eval().apply(disable_observer)
    return export(torch, prepared, lambda network, x, file: torch.onnx.export(network, (x,), file, opset_version=17, dynamo=False))


def by_brevitas(folder):
    """QCDQ: weights of 8 and 4 bits, activations of 4, a batch norm that was not merged."""
    torch, qnn = pytest.importorskip("torch"), pytest.importorskip("brevitas.nn")
    from brevitas import quant
    from brevitas.export import export_onnx_qcdq
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        qnn.QuantIdentity(act_quant=quant.Int8ActPerTensorFloat),
        qnn.QuantConv2d(3, 8, 3, padding=1, weight_quant=quant.Int8WeightPerChannelFloat),
        qnn.QuantReLU(act_quant=quant.Uint8ActPerTensorFloat, bit_width=4),
        qnn.QuantConv2d(8, 8, 3, padding=1, groups=8, bias=False, weight_quant=quant.Int8WeightPerTensorFloat, weight_bit_width=4),
        torch.nn.BatchNorm2d(8), qnn.QuantReLU(act_quant=quant.Uint8ActPerTensorFloat), torch.nn.MaxPool2d(2))
    for _ in range(10):
        network(torch.randn(4, 3, 8, 8))
    write = lambda network, x, file: export_onnx_qcdq(network, x, file, opset_version=17, dynamo=False)  # noqa: E731
    return export(torch, network.eval(), write)


# ---- by hand -------------------------------------------------------------------------------------------------------------
def stored(shape, low=-127, high=128):
    return np.random.default_rng(3).integers(low, high, shape).astype(np.int8)


def pair(name, scale, extra=""):
    return f"{name}_q = QuantizeLinear{extra}({name}, {scale}_s, {scale}_z)\n{name}_d = DequantizeLinear{extra}({name}_q, {scale}_s, {scale}_z)\n"


def parameters(**scales):
    """{name: (scale, zero point)}"""
    return {f"{name}_{part}": value for name, both in scales.items() for part, value in zip("sz", both)}


def like_brevitas():
    text = (pair("x", "x") + "wc = Clip(w, lo, hi)\nwd = DequantizeLinear<axis=0>(wc, w_s, w_z)\nc = Conv<pads=[1,1,1,1]>(x_d, wd, b)\nr = Relu(c)\n"
            "r_q = QuantizeLinear(r, r_s, r_z)\nrc = Clip(r_q, zero, fifteen)\nr_d = DequantizeLinear(rc, r_s, r_z)\n"
            "vc = Clip(v, lo4, hi4)\nvd = DequantizeLinear(vc, v_s, v_z)\ne = Conv<pads=[1,1,1,1], group=8>(r_d, vd)\n"
            "n = BatchNormalization(e, g, h, m, u)\nt = Relu(n)\n" + pair("t", "t") + "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(t_d)")
    random = np.random.default_rng(2)
    return make(text, opset=17, constants=dict(
        w=stored((8, 3, 3, 3)), v=stored((8, 1, 3, 3), -7, 8), b=(8,), lo=np.int8(-127), hi=np.int8(127), lo4=np.int8(-7), hi4=np.int8(7),
        zero=np.uint8(0), fifteen=np.uint8(15), g=random.uniform(0.5, 1.5, 8).astype(np.float32), h=(8,), m=(8,),
        u=random.uniform(0.5, 1.5, 8).astype(np.float32),
        **parameters(x=(np.float32(0.027), np.int8(0)), w=(SCALES * np.float32(0.1), np.zeros(8, np.int8)), r=(np.float32(0.13), np.uint8(0)),
                     v=(np.float32(0.047), np.int8(0)), t=(np.float32(0.016), np.uint8(0)))))


def like_pytorch():
    text = (pair("x", "x") + pair("w", "w") + "c = Conv<pads=[1,1,1,1]>(x_d, w_d, none)\nd = Div(c, k)\na = Add(d, b)\nn = BatchNormalization(a, g, h, m, u)\n"
            "r = Relu(n)\n" + pair("r", "r") + pair("v", "v") + "e = Conv<pads=[1,1,1,1]>(r_d, v_d)\n" + pair("e", "e") + "s = Add(e_d, r_d)\nt = Relu(s)\n"
            + pair("t", "t") + "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(t_d)")
    random = np.random.default_rng(2)
    k = random.uniform(0.5, 1.5, 8).astype(np.float32)
    return make(text, opset=17, constants=dict(
        w=(8, 3, 3, 3), v=(8, 8, 3, 3), none=np.zeros(8, np.float32), k=k.reshape(1, 8, 1, 1), b=random.normal(size=(1, 8, 1, 1)).astype(np.float32),
        g=k * np.sqrt(np.float32(1.00001)), h=(8,), m=(8,), u=np.ones(8, np.float32),
        **parameters(x=(np.float32(0.027), np.uint8(128)), w=(np.float32(0.021), np.int8(0)), r=(np.float32(0.09), np.uint8(0)),
                     v=(np.float32(0.023), np.int8(0)), e=(np.float32(0.3), np.uint8(120)), t=(np.float32(0.2), np.uint8(0)))))


def like_aimet():
    axis = "<axis=0>"
    text = (pair("x", "x") + pair("w", "w", axis) + "c = Conv<pads=[1,1,1,1]>(x_d, w_d, b)\nr = Relu(c)\n" + pair("r", "r") + pair("v", "v", axis)
            + "e = Conv<pads=[1,1,1,1]>(r_d, v_d, b2)\n" + pair("e", "e") + "s = Add(e_d, r_d)\nt = Relu(s)\n" + pair("t", "t")
            + "p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(t_d)\n" + pair("p", "p") + "f = Flatten(p_d)\n" + pair("f", "f") + pair("l", "l", axis)
            + "o = Gemm<transB=1>(f_d, l_d, b3)\no_q = QuantizeLinear(o, o_s, o_z)\ny = DequantizeLinear(o_q, o_s, o_z)")
    channels = lambda n: (np.linspace(0.01, 0.03, n).astype(np.float32), np.zeros(n, np.int8))  # noqa: E731
    return make(text, opset=17, constants=dict(
        w=(8, 3, 3, 3), v=(8, 8, 3, 3), l=(10, 128), b=(8,), b2=(8,), b3=(10,),
        **parameters(x=(np.float32(0.027), np.uint8(120)), w=channels(8), r=(np.float32(0.09), np.uint8(0)), v=channels(8),
                     e=(np.float32(0.3), np.uint8(120)), t=(np.float32(0.2), np.uint8(0)), p=(np.float32(0.2), np.uint8(0)),
                     f=(np.float32(0.2), np.uint8(0)), l=channels(10), o=(np.float32(0.7), np.uint8(90)))))


def like_nncf():
    """Integer weights, an activation's pair on every edge, a float bias."""
    text = (pair("x", "x") + "wd = DequantizeLinear<axis=0>(w, w_s, w_z)\nc = Conv<pads=[1,1,1,1]>(x_d, wd, b)\nr = Relu(c)\n" + pair("r", "r")
            + "vd = DequantizeLinear<axis=0>(v, v_s, v_z)\ne = Conv<pads=[1,1,1,1]>(r_d, vd, b2)\n" + pair("e", "e")
            + "r_q2 = QuantizeLinear(r, r_s, r_z)\nr_d2 = DequantizeLinear(r_q2, r_s, r_z)\ns = Add(e_d, r_d2)\nt = Relu(s)\n" + pair("t", "t")
            + "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(t_d)")
    zeros = np.zeros(8, np.int8)
    return make(text, constants=dict(
        w=stored((8, 3, 3, 3)), v=stored((8, 8, 3, 3)), b=(8,), b2=(8,),
        **parameters(x=(np.float32(0.027), np.uint8(120)), w=(SCALES * np.float32(0.3), zeros), r=(np.float32(0.09), np.uint8(0)),
                     v=(SCALES * np.float32(0.2), zeros), e=(np.float32(0.3), np.int8(-3)), t=(np.float32(0.2), np.uint8(0)))))


MAKERS = [by_onnxruntime, by_nncf, by_aimet, by_pytorch, by_brevitas, lambda _: like_nncf(), lambda _: like_aimet(), lambda _: like_pytorch(),
          lambda _: like_brevitas()]
NAMES = ["onnxruntime", "nncf", "aimet", "pytorch", "brevitas", "like nncf", "like aimet", "like pytorch", "like brevitas"]


@pytest.mark.parametrize("make_file", MAKERS, ids=NAMES)
def test_layers(make_file, tmp_path):
    """At most one tie in 10 000 integers, of one step; every multiply-add is one of integers."""
    model = make_file(tmp_path)
    different, total, largest = compare_layers(model, runs=5)
    print(f"{different} of {total} integers differ")
    assert different * 10000 <= max(total, 10000) and largest <= 1, (different, total, largest)
    report = octet.compile(model.SerializeToString()).report
    assert {row.verdict for row in report if row.macs} <= {"int8", "int8 to float"}


#: Of the largest output. A bias is an integer at the product's scale here, and a float in the file: with weights and activations of 4
#: bits that scale is as large as a step of the output (1 / 64 of its range in Brevitas' file), and rounding may take two of them.
BIAS_ERROR = 0.04


@pytest.mark.parametrize("make_file", MAKERS, ids=NAMES)
def test_completed(make_file, tmp_path):
    """Samples add nothing to a file that is quantized throughout, but folds and integer biases."""
    model = make_file(tmp_path)
    adopted = octet.compile(model.SerializeToString())
    samples = make_samples(model)
    completed = octet.compile(model.SerializeToString(), calibration_data={name: np.stack([sample[name] for sample in samples]) for name in samples[0]})
    assert {row.verdict for row in completed.report if row.macs} <= {"int8", "int8 to float"}
    for feed in samples:
        for wanted, got in zip(adopted.run(feed).values(), completed.run(feed).values()):
            assert np.abs(wanted - got).max() <= BIAS_ERROR * np.abs(wanted).max()

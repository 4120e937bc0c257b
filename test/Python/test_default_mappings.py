# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The built-in copies of PyTorch's default QConfig mappings against recorded ones."""
import json
import re

import pytest

ENGINES = {"fbgemm_default_mapping": "fbgemm/ptq", "x86_default_mapping": "x86/ptq", "qnnpack_default_mapping": "qnnpack/ptq",
           "onednn_default_mapping": "onednn/ptq", "qnnpack_symmetric_mapping": "_get_symmetric_qnnpack_qconfig_mapping",
           "qnnpack_symmetric_qat_mapping": "_get_symmetric_qnnpack_qat_qconfig_mapping",
           **{f"{engine}_default_qat_mapping": f"{engine}/qat" for engine in ("fbgemm", "x86", "qnnpack", "onednn")}}
OBSERVERS = {"histogram": "HistogramObserver", "min_max": "MinMaxObserver", "per_channel_min_max": "PerChannelMinMaxObserver",
             "moving_average_min_max": "MovingAverageMinMaxObserver",
             "moving_average_per_channel_min_max": "MovingAveragePerChannelMinMaxObserver",
             "fixed_qparams": "FixedQParamsObserver", "reuse_input": "ReuseInputObserver", "placeholder": "PlaceholderObserver"}
DTYPES = {"ui8": ("quint8", 0, 255), "si8": ("qint8", -128, 127)}
# Names of PyTorch that one operator of Octet stands for.
NAMES = {"method:reshape": "nn.reshape", "nn.PReLU": "nn.prelu", "nn.Softmax": "nn.softmax", "nn.LayerNorm": "torch.nn.LayerNorm",
         "F.layer_norm": "torch.nn.functional.layer_norm"}
NAMES |= {name: "nn.hard_sigmoid" for name in ("nn.Hardsigmoid", "F.hardsigmoid", "method:hardsigmoid", "method:hardsigmoid_")}
NAMES |= {name: "nn.sigmoid" for name in ("nn.Sigmoid", "torch.sigmoid", "method:sigmoid", "method:sigmoid_")}
NAMES |= {name: "nn.tanh" for name in ("nn.Tanh", "torch.tanh", "method:tanh", "method:tanh_")}
for d in "123":
    NAMES[f"nn.ConvTranspose{d}d"] = f"torch.nn.ConvTranspose{d}d"
    NAMES[f"torch.conv_transpose{d}d"] = f"torch.nn.functional.conv_transpose{d}d"


def read_own(text):
    """What decides about an observer's result, from its text."""
    mnemonic, parameters = re.fullmatch(r"#octet\.(\w+)(?:<(.*)>)?", text).groups()
    name, parameters = OBSERVERS[mnemonic], parameters or ""
    if name in ("ReuseInputObserver", "PlaceholderObserver"):
        return (name,)
    dtype, low, high = DTYPES[re.search(r"\b[us]i8\b", parameters).group()]
    if name == "FixedQParamsObserver":
        scale, zero = re.search(r"scale = (\S+) : f32, zero_point = (\d+)", parameters).groups()
        return name, dtype, float(scale), int(zero)
    if given := re.search(r"range = \[(-?\d+), (-?\d+)\]", parameters):
        low, high = map(int, given.groups())
    if "reduce_range = true" in parameters:
        low, high = low // 2, high // 2
    eps = re.search(r"eps = (\S+) : f32", parameters)
    # PyTorch's bins are 2048, its averages move by 0.01 and its axis is 0, as ours are.
    return name, dtype, "symmetric" in parameters, low, high, float(eps.group(1)) if eps else 2**-23


def read_recorded(observer):
    # A FakeQuantize rounds in training; the observer inside decides when the network is converted.
    name = observer.get("observer", observer["class"])
    assert observer.get("averaging_constant", 0.01) == 0.01 and observer.get("fq_quant_min") in (None, observer.get("quant_min"))
    if name in ("ReuseInputObserver", "PlaceholderObserver"):
        return (name,)
    if name == "FixedQParamsObserver":
        return name, observer["dtype"], observer["scale"][0], observer["zero_point"][0]
    symmetric = observer["qscheme"].endswith("symmetric")
    return name, observer["dtype"], symmetric, observer["quant_min"], observer["quant_max"], observer["eps"][0]


def split(text):
    """The members of a QConfig's text."""
    members = re.split(r", (?=(?:result|weight|channel_activation|column_activation|trunk_activation) = )", text)
    return {key: read_own(value) for key, value in (member.split(" = ", 1) for member in members)}


def read_mapping(tool, folder, name):
    (folder / "empty.mlir").write_text("func.func @main() { return }\n")
    printed = tool("octet-opt", folder / "empty.mlir", f"--octet-attach-policy=qconfig-mapping={name}").stdout
    rows = re.findall(r'^ *octet\.(?:global|object_type "(.*)") #octet\.qconfig<(.*)>$', printed, re.MULTILINE)
    return {key: split(text) for key, text in rows}


@pytest.mark.parametrize("name", ENGINES)
def test_mapping_is_pytorchs(tool, shared_spec, tmp_path, name):
    own = read_mapping(tool, tmp_path, name)
    recorded = json.loads((shared_spec / "golden-2.13" / "qconfigs213.json").read_text())["mappings"][ENGINES[name]]
    everything = recorded["global_"]
    assert own[""] == {member: read_recorded(everything[member]) for member in ("activation", "weight")}
    compared = {""}
    for key, qconfig in recorded["object_type"]:
        activation, weight = (read_recorded(qconfig[member]) if qconfig[member]["class"] != "NoopObserver" else None
                              for member in ("activation", "weight"))
        entry = own.get(NAMES[key], own[""])
        # A known range is that of the result; inputs have the observer of their producer.
        assert entry.get("result", entry["activation"]) == activation, key
        assert entry.get("weight") == weight, key
        compared.add(NAMES[key])
    # ONNX has names of its own.
    assert set(own) - compared <= {"ConvTranspose", "LayerNormalization"}

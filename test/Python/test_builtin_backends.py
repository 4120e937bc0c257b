# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The built-in copies of PyTorch's BackendConfigs against recorded ones, pattern by pattern."""
import json
import re

import pytest

BACKENDS = ("native", "fbgemm", "x86", "qnnpack", "onednn", "tensorrt", "executorch")
RECORDED = (*BACKENDS, "_test_only_legacy_native")

# The records' short names of modules; functions that torch has under two names have the longer one here.
MODULES = {"torch._C._nn.": "torch.nn.functional.", "nniqat.": "torch.ao.nn.intrinsic.qat.", "nnqat.": "torch.ao.nn.qat.",
           "nni.": "torch.ao.nn.intrinsic.", "nn.": "torch.nn.", "F.": "torch.nn.functional.", "method:": "torch.Tensor."}
FUNCTIONS = re.compile(r"torch\.((?:conv|conv_transpose|adaptive_avg_pool|avg_pool)\dd|pixel_(?:un)?shuffle)")
OBSERVATIONS = {"DIFF": "OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT", "SHARE": "OUTPUT_SHARE_OBSERVER_WITH_INPUT",
                "NOT": "INPUT_OUTPUT_NOT_OBSERVED"}
DTYPES = {"quint8": "u8", "qint8": "s8", "quint4x2": "u4"}


def spell(name):
    """The full name of a class or function in the records."""
    if FUNCTIONS.fullmatch(name):
        return name.replace("torch.", "torch.nn.functional.")
    prefix = next((prefix for prefix in MODULES if name.startswith(prefix)), "")
    return MODULES.get(prefix, "") + name[len(prefix):]


def spell_pattern(pattern):
    return spell(pattern) if isinstance(pattern, str) else [spell_pattern(part) for part in pattern]


def get_pattern(config):
    """A pattern as a key; sequences differ from PyTorch's nested form by their order."""
    return json.dumps(spell_pattern(config.get("pattern", config.get("pattern_complex_format"))))


def read_dtypes(config):
    """PyTorch compares a known scale of an input with the observer of the result, which has it, too: see docs/backends.md."""
    dtypes = json.loads(json.dumps(config["dtype_configs"]))
    for combination in dtypes:
        if "scale_exact_match" in combination.get("input_dtype", {}):
            combination["input_dtype"] = {"dtype": combination["input_dtype"]["dtype"]}
    return dtypes


def describe(config):
    """What decides how a pattern is quantized."""
    return config["observation_type"], read_dtypes(config), config.get("num_tensor_args_to_observation_type")


def export(tool, source, name):
    """{pattern: configuration} of a built-in backend."""
    path = source / "lib" / "Backend" / "backends" / f"{name}.mlir"
    configs = json.loads(tool("octet-translate", path, "--export-backend-config").stdout)["configs"]
    patterns = [get_pattern(config) for config in configs]
    assert len(set(patterns)) == len(patterns)
    return dict(zip(patterns, configs))


@pytest.fixture(scope="module")
def recorded(shared_spec):
    return json.loads((shared_spec / "golden-2.13" / "backend_configs213.json").read_text())["backends"]


@pytest.mark.parametrize("name", BACKENDS)
def test_backend_is_pytorchs(tool, source, recorded, name):
    own = {pattern: describe(config) for pattern, config in export(tool, source, name).items()}
    theirs = {get_pattern(config): describe(config) for config in recorded[name]["configs"]}
    assert set(own) == set(theirs)
    assert {pattern: own[pattern] for pattern in own if own[pattern] != theirs[pattern]} == {}
    assert len(own) == recorded[name]["count"]


def write_dtype(dtype):
    """A data type as the records of 1.13 spell it."""
    text = DTYPES.get(dtype["dtype"], dtype["dtype"])
    parts = [f"q[{dtype['quant_min_lower_bound']},{dtype['quant_max_upper_bound']}]"] if "quant_min_lower_bound" in dtype else []
    parts += ["s>=2^-12"] if dtype.get("scale_min_lower_bound") == 2**-12 else []
    return text + ("{" + ",".join(parts) + "}" if parts else "")


def write_dtypes(combination):
    output = dict(combination["output_dtype"])
    if "scale_exact_match" in output:  # 1.13 has an observer for these results instead of a constraint
        output = {"dtype": output["dtype"]}
    text = ">".join(write_dtype(dtype) for dtype in (combination["input_dtype"], output))
    if "weight_dtype" in combination:
        text += " w:" + write_dtype(combination["weight_dtype"])
        text += " b:" + combination.get("bias_dtype", "-")
    return text + (" dyn" if combination.get("is_dynamic") else "")


@pytest.mark.parametrize("name", ("native", "fbgemm", "x86", "qnnpack", "tensorrt"))
def test_backend_has_what_pytorch_1_13_had(tool, source, shared_spec, name):
    """But for sizes, which lost their observers, and for operators without a weight, which lost its type."""
    own = export(tool, source, name)
    rows = [row for row in json.loads((shared_spec / "golden" / "backend_patterns.json").read_text())["rows"] if name in row["backends"]]
    assert len(rows) > 100
    for row in rows:
        parts = row["pattern"].split(" -> ")
        pattern = json.dumps(spell_pattern(parts if len(parts) > 1 else parts[0]))
        if row["pattern"] in ("method:shape", "method:size"):
            assert own.get(pattern, {}).get("observation_type") in (None, OBSERVATIONS["NOT"])
            continue
        config = own[pattern]
        assert config["observation_type"] == OBSERVATIONS[row["obs"]], pattern
        dtypes = [write_dtypes(combination) for combination in config["dtype_configs"]]
        theirs = [text.replace(" w:- b:-", "") for text in row["backends"][name]]
        weightless = [text.split(" w:")[0] for text in theirs]
        lost = row["num_tensor_args"] or row["fixed_qparams"] or row["pattern"] == "torch.matmul"
        assert dtypes == theirs or (lost and dtypes == weightless), pattern


@pytest.mark.parametrize("name", RECORDED)
def test_dictionary_goes_in_and_comes_out(tool, tmp_path, recorded, name):
    """Nothing of BackendConfig.to_dict() is lost, whatever the names are."""
    dictionary = {"name": recorded[name]["name"], "configs": recorded[name]["configs"]}
    (tmp_path / "in.json").write_text(json.dumps(dictionary))
    tool("octet-translate", tmp_path / "in.json", "--import-backend-config", "-o", tmp_path / "backend.mlir")
    assert json.loads(tool("octet-translate", tmp_path / "backend.mlir", "--export-backend-config").stdout) == dictionary


def test_dictionary_is_a_backend(tool, tmp_path, source, recorded):
    """octet-attach-policy takes the dictionary itself; its patterns do what those of the built-in file do."""
    configs = [{**config, "pattern": spell_pattern(config["pattern"])} for config in recorded["native"]["configs"]]
    (tmp_path / "native.json").write_text(json.dumps({"name": "native", "configs": configs}))
    (tmp_path / "empty.mlir").write_text("func.func @main() { return }\n")
    attach = "--octet-attach-policy=qconfig-mapping=fbgemm_default_mapping backend="
    text = tool("octet-opt", tmp_path / "empty.mlir", attach + str(tmp_path / "native.json")).stdout
    assert re.search(r"octet.pattern @Conv2d_BatchNorm2d_ReLU_bn_relu dtypes = \[@types1\] \{", text)
    assert 'root_module = "nn.Conv2d"' in text
    builtin = tool("octet-opt", tmp_path / "empty.mlir", attach + "native").stdout
    graphs = [{re.sub(r", required = true|#octet.source_class<.*?>", "", match) for match in re.findall(r"octet.match \[.*", each)}
              for each in (text, builtin)]
    assert {graph.split("(")[0] for graph in graphs[0]} == {graph.split("(")[0] for graph in graphs[1]}


def test_pattern_is_quantized_as_its_fused_module(tool, tmp_path):
    """PyTorch's tutorial says nothing about types where it fuses."""
    module = {"observation_type": "INPUT_OUTPUT_NOT_OBSERVED", "dtype_configs": [{"input_dtype": {"dtype": "qint8"}}]}
    fused = {"pattern": ["torch.nn.Conv2d", "torch.nn.ReLU"], "fused_module": "torch.ao.nn.intrinsic.ConvReLU2d"}
    own = {"observation_type": "OUTPUT_SHARE_OBSERVER_WITH_INPUT", "dtype_configs": [{"input_dtype": {"dtype": "quint8"}}]}
    for given, expected in (({"dtype_configs": []}, module), ({}, module), (own, own)):
        configs = [{**fused, **given}, {"pattern": fused["fused_module"], **module}]
        (tmp_path / "in.json").write_text(json.dumps({"name": "b", "configs": configs}))
        tool("octet-translate", tmp_path / "in.json", "--import-backend-config", "-o", tmp_path / "backend.mlir")
        again = json.loads(tool("octet-translate", tmp_path / "backend.mlir", "--export-backend-config").stdout)["configs"]
        assert again[0] == {**fused, **expected}


@pytest.mark.parametrize("text, message", [
    ("{", "expected JSON, but got something else"),
    ('{"configs": []}', 'expected an object with a "name" and a list "configs"'),
    ('{"name": "b", "configs": [1]}', 'expected objects as "configs"'),
    ('{"name": "b", "configs": [{}]}', 'expected either "pattern" or "pattern_complex_format"'),
    ('{"name": "b", "configs": [{"pattern": 1}]}', 'expected a name or a list of names as "pattern"'),
    ('{"name": "b", "configs": [{"pattern": [1]}]}', 'expected names of classes in a "pattern"'),
    ('{"name": "b", "configs": [{"pattern_complex_format": ["a", "b", "c"]}]}', "with one operand that is a pattern"),
    ('{"name": "b", "configs": [{"pattern": "a", "observation_type": "X"}]}', "as an observation type"),
    ('{"name": "b", "configs": [{"pattern": "a", "dtype_configs": 1}]}', 'expected a list as "dtype_configs"'),
    ('{"name": "b", "configs": [{"pattern": "a", "dtype_configs": [1]}]}', 'expected objects as "dtype_configs"'),
    ('{"name": "b", "configs": [{"pattern": "a", "dtype_configs": [{"input_dtype": "u9"}]}]}', 'as the "dtype" of "input_dtype"'),
    ('{"name": "b", "configs": [{"pattern": "a", "dtype_configs": [{"bias_dtype": "u9"}]}]}', 'as "bias_dtype", but got "u9"'),
    ('{"name": "b", "configs": [{"pattern": "a", "dtype_configs": [{"input_dtype": {"dtype": "quint8", "quant_min_lower_bound": 9, '
     '"quant_max_upper_bound": 3}}]}]}', 'bad "input_dtype": expected a range [low, high] with low < high, but got [9, 3]'),
])
def test_bad_dictionary_is_refused(tool, tmp_path, text, message):
    (tmp_path / "bad.json").write_text(text)
    result = tool("octet-translate", tmp_path / "bad.json", "--import-backend-config", check=False)
    assert result.returncode == 1
    assert message in result.stderr


@pytest.mark.parametrize("body, message", [
    ('octet.pattern @p dtypes = [] { %x = octet.activation\n %y = octet.match ["nn.relu"](%x)\n octet.yield %y : none }',
     "has no counterpart in PyTorch; write it as an octet.chain of classes"),
    ('octet.part @p { %x = octet.activation\n %y = octet.match ["nn.relu"](%x)\n octet.yield %y : none }\n'
     'octet.chain @c dtypes = [] : [@p]', "has no counterpart in PyTorch: @p is no part with classes"),
    ('octet.dtypes @d input = <si5>\n octet.chain @c dtypes = [@d] : ["a"]', "has no counterpart in PyTorch: 'si5'"),
    ('octet.dtypes @d bias = si5\n octet.chain @c dtypes = [@d] : ["a"]', "has no counterpart in PyTorch: 'si5'"),
    ('}\noctet.backend @other {', "expected one 'octet.backend', but got 2"),
])
def test_what_pytorch_cannot_say_is_refused(tool, tmp_path, body, message):
    (tmp_path / "backend.mlir").write_text(f"octet.backend @b {{\n{body}\n}}\n")
    result = tool("octet-translate", tmp_path / "backend.mlir", "--export-backend-config", check=False)
    assert result.returncode == 1
    assert message in result.stderr

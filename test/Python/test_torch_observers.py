# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet.torch's observers, fake-quantize modules and QConfigs against PyTorch's of the same names."""
import functools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
ao = pytest.importorskip("torch.ao.quantization", reason="this PyTorch has no torch.ao.quantization")

import octet
import octet.torch as names
from octet.torch import fake_quantize, observer, qconfig
from octet.torch._observers import write_observer

INSTANCES = [name for module in (observer, fake_quantize) for name in module.__all__ if name.split("_")[0] in ("default", "weight", "per", "fused")]
QCONFIGS = [name for name in qconfig.__all__ if name.endswith(("qconfig", "4bit", "v2")) and not name.startswith("get")]


def write(description, engine="qnnpack"):
    return write_observer(description, engine)


@pytest.mark.parametrize("name", INSTANCES)
def test_default_is_pytorchs(name):
    own, theirs = getattr(names, name), getattr(ao, name)
    assert write(own) == write(theirs)
    assert write(own, "x86") == write(theirs, "x86")


@pytest.mark.filterwarnings("ignore:Please use quant_min")
@pytest.mark.parametrize("name", INSTANCES)
def test_what_a_function_makes_is_the_same(name):
    """Code may give a function in place of a class: its instance is read."""
    theirs = getattr(ao, name)
    expected = write(theirs)
    if "reduce_range = true" in expected:  # an instance of PyTorch has the reduced range only
        expected = expected.replace("reduce_range = true", "range = [0, 127]")
    assert write(lambda: theirs()) == expected
    assert write(lambda: getattr(names, name)()) == write(getattr(names, name))


@pytest.mark.parametrize("name", QCONFIGS)
def test_qconfig_is_pytorchs(name):
    own, theirs = getattr(names, name), getattr(ao.qconfig, name)
    assert own._fields == theirs._fields
    for mine, other in zip(own, theirs):
        assert write(mine) == write(other)
    assert qconfig.qconfig_equals(own, qconfig.QConfig(*own)) and qconfig.qconfig_equals(theirs, theirs)


@pytest.mark.parametrize("function, versions", [("get_default_qconfig", (0,)), ("get_default_qat_qconfig", (0, 1))])
@pytest.mark.parametrize("engine", ("x86", "fbgemm", "qnnpack", "onednn"))
def test_engine_has_pytorchs_qconfig(function, versions, engine):
    for version in versions:
        own, theirs = getattr(names, function)(engine, version), getattr(ao, function)(engine, version)
        assert [write(member) for member in own] == [write(member) for member in theirs]


RANGE = {"dtype": torch.qint8, "quant_min": -100, "quant_max": 100, "eps": 1e-5}


@pytest.mark.parametrize("name, arguments, text", [
    ("MinMaxObserver", {}, "min_max<dtype = ui8>"),
    ("MinMaxObserver", RANGE, "min_max<dtype = si8, range = [-100, 100], eps = 1.0e-05 : f32>"),
    ("MinMaxObserver", {"quant_min": 0, "quant_max": 255}, "min_max<dtype = ui8>"),
    # The middle of a given range is 127, that of bytes 128.
    ("MinMaxObserver", {"quant_min": 0, "quant_max": 255, "qscheme": torch.per_tensor_symmetric},
     "min_max<dtype = ui8, scheme = symmetric, range = [0, 255]>"),
    ("MinMaxObserver", {"is_dynamic": True}, "placeholder<dtype = ui8, dynamic = true>"),
    ("MovingAverageMinMaxObserver", {"averaging_constant": 0.5, "reduce_range": True},
     "moving_average_min_max<dtype = ui8, reduce_range = true, constant = 0.5 : f32>"),
    ("PerChannelMinMaxObserver", {"ch_axis": 1}, "per_channel_min_max<dtype = ui8, axis = 1>"),
    ("MovingAveragePerChannelMinMaxObserver", {"dtype": torch.int8}, "moving_average_per_channel_min_max<dtype = si8, axis = 0>"),
    ("HistogramObserver", {"bins": 256, "dtype": torch.uint8}, "histogram<dtype = ui8, bins = 256>"),
    ("FixedQParamsObserver", {"scale": 0.1, "zero_point": 3}, "fixed_qparams<ui8, scale = 0.1 : f32, zero_point = 3>"),
    ("PlaceholderObserver", {}, "placeholder<dtype = f32>"),
    ("PlaceholderObserver", {"dtype": torch.float16, "is_dynamic": True}, "placeholder<dtype = f16, dynamic = true>"),
    ("PlaceholderObserver", {"dtype": torch.qint8, "is_dynamic": True, "quant_min": -64, "quant_max": 63},
     "placeholder<dtype = si8, dynamic = true, range = [-64, 63]>"),
    ("NoopObserver", {"dtype": torch.bfloat16}, "placeholder<dtype = bf16>"),
    ("RecordingObserver", {}, "recording"),
    ("ReuseInputObserver", {}, "reuse_input"),
    ("FakeQuantize", {"observer": "HistogramObserver", "quant_min": 0, "quant_max": 127}, "histogram<dtype = ui8, range = [0, 127], bins = 2048>"),
    ("FusedMovingAvgObsFakeQuantize", {"averaging_constant": 1}, "moving_average_min_max<dtype = ui8, constant = 1.0 : f32>"),
])
def test_arguments_are_read(tool, tmp_path, name, arguments, text):
    for module in (names, ao):
        given = {key: getattr(module, value) if key == "observer" else value for key, value in arguments.items()}
        assert write(getattr(module, name).with_args(**given)) == f"#octet.{text}"
        makers = {key: functools.partial(lambda value: value, value) for key, value in given.items()}
        if hasattr(getattr(module, name), "with_callable_args"):  # PyTorch's fake-quantize modules do not have it
            assert write(getattr(module, name).with_callable_args(**makers)) == f"#octet.{text}"
    (tmp_path / "mapping.mlir").write_text(f"octet.qconfig_mapping @m {{ octet.global #octet.qconfig<activation = #octet.{text}> }}")
    (tmp_path / "empty.mlir").write_text("func.func @main() { return }\n")
    tool("octet-opt", tmp_path / "empty.mlir", f"--octet-attach-policy=qconfig-mapping={tmp_path / 'mapping.mlir'}")


@pytest.mark.parametrize("module", (names, ao))
def test_later_arguments_replace_earlier_ones(module):
    first = module.MinMaxObserver.with_args(dtype=torch.qint8, quant_min=-8, quant_max=7)
    assert write(first.with_args(dtype=torch.quint8, quant_min=0)) == "#octet.min_max<dtype = ui8, range = [0, 7]>"
    assert write(first.with_callable_args(quant_max=lambda: 3).with_args(quant_min=-4)) == "#octet.min_max<dtype = si8, range = [-4, 3]>"
    assert write(functools.partial(first, quant_max=5)) == "#octet.min_max<dtype = si8, range = [-8, 5]>"


def test_dynamic_range_is_the_engines():
    text = "#octet.placeholder<dtype = ui8, dynamic = true"
    assert write(names.default_dynamic_quant_observer, "onednn") == text + ">"
    for engine in ("x86", "fbgemm"):
        assert write(names.default_dynamic_quant_observer, engine) == text + ", reduce_range = true>"


@pytest.mark.parametrize("name, arguments, message", [
    ("MinMaxObserver", {"quant_min": 0}, "expected both or none, but got 0 and None; give both"),
    ("MinMaxObserver", {"quant_min": 0, "quant_max": 256}, "expected 0 <= quant_min < quant_max <= 255 for torch.quint8, but got 0 and 256"),
    ("MinMaxObserver", {"dtype": torch.float8_e4m3fn}, "dtype: expected torch.quint8, torch.qint8"),
    ("MinMaxObserver", {"qscheme": torch.per_channel_affine}, "qscheme: expected torch.per_tensor_affine or torch.per_tensor_symmetric"),
    ("PerChannelMinMaxObserver", {"qscheme": torch.per_tensor_affine}, "qscheme: expected torch.per_channel_affine"),
    ("MovingAverageMinMaxObserver", {"is_dynamic": True}, "use PlaceholderObserver, or an averaging_constant of 1"),
    ("HistogramObserver", {"is_dynamic": True}, "is_dynamic: HistogramObserver cannot see one run alone"),
    ("PlaceholderObserver", {"dtype": torch.quint8}, "give it is_dynamic=True, or use MinMaxObserver"),
    ("PlaceholderObserver", {"dtype": torch.qint8, "is_dynamic": True, "qscheme": torch.per_tensor_symmetric}, "expected torch.per_tensor_affine for values"),
    ("PlaceholderObserver", {"compute_dtype": torch.quint8}, "give is_dynamic=True and the type as dtype"),
    ("FixedQParamsObserver", {"scale": 1.0}, "FixedQParamsObserver lacks the argument 'zero_point'; give it in with_args"),
    ("FixedQParamsObserver", {"scale": 1.0, "zero_point": 0, "quant_min": 0, "quant_max": 15}, "expected the limits of torch.quint8 beside a known scale"),
    ("FakeQuantize", {"width": 3}, "has no argument 'width'; its arguments are"),
])
def test_contradictions_are_refused(name, arguments, message):
    for module in (names, ao):
        with pytest.raises(octet.InputError) as error:
            write(getattr(module, name).with_args(**arguments))
        assert message in str(error.value)


def test_unknown_arguments_are_refused_at_once():
    for call in (names.MinMaxObserver.with_args, names.default_observer.with_args):
        with pytest.raises(octet.InputError, match="MinMaxObserver has no argument 'width'; its arguments are dtype, is_dynamic, qscheme"):
            call(width=3)
    with pytest.raises(octet.InputError, match="MinMaxObserver has no argument 'width'"):
        names.MinMaxObserver.with_callable_args(width=int)
    with pytest.raises(octet.InputError, match="MinMaxObserver has no argument 'width'"):
        write(ao.MinMaxObserver.with_args(width=3))


class Own(ao.MinMaxObserver):
    pass


@pytest.mark.parametrize("description, message", [
    (Own, "Own is no observer that Octet has; use one of MinMaxObserver"),
    (3, "expected an observer class, or what its with_args returns, but got 3"),
    (functools.partial(names.MinMaxObserver, torch.qint8), "expected arguments by name; use with_args"),
])
def test_what_is_no_observer_is_refused(description, message):
    with pytest.raises(octet.InputError) as error:
        write(description)
    assert message in str(error.value)


@pytest.mark.parametrize("instance", (names.MinMaxObserver(), names.FakeQuantize(), ao.MinMaxObserver()))
def test_qconfig_wants_classes(instance):
    with pytest.raises(octet.InputError, match="QConfig: weight: expected a class, but got an instance of"):
        names.QConfig(activation=names.MinMaxObserver, weight=instance)


@pytest.mark.parametrize("description, remedy", [(names.MinMaxObserver(), "prepare_fx"), (names.FakeQuantize(), "prepare_qat_fx")])
def test_descriptions_see_no_data(description, remedy):
    for use in (description, description.forward, description.calculate_qparams):
        with pytest.raises(octet.InputError, match=f"{remedy} returns"):
            use()


@pytest.mark.parametrize("function", (names.get_default_qconfig, names.get_default_qat_qconfig))
def test_other_engines_are_refused(function):
    with pytest.raises(octet.InputError, match="backend: expected 'x86', 'fbgemm', 'qnnpack', 'onednn', but got 'cuda'"):
        function("cuda")
    with pytest.raises(octet.InputError, match="version: expected .*, but got 7"):
        function("x86", 7)


def test_qconfigs_differ_by_what_they_say():
    assert not qconfig.qconfig_equals(names.default_qconfig, names.default_qat_qconfig)
    assert not qconfig.qconfig_equals(None, names.default_qconfig) and qconfig.qconfig_equals(None, None)


def test_switches_reach_modules_that_have_them():
    module = torch.nn.Sequential(ao.FakeQuantize(), torch.nn.ReLU())
    module.apply(names.disable_observer).apply(names.disable_fake_quant)
    assert module[0].observer_enabled[0] == module[0].fake_quant_enabled[0] == 0
    module.apply(names.enable_observer).apply(names.enable_fake_quant)
    assert module[0].observer_enabled[0] == module[0].fake_quant_enabled[0] == 1

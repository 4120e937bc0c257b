# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FX's recorded scenarios (docs/scenarios.md), live: PyTorch's own prepare and convert beside those of octet.torch, on the same module.

The modules are those of the program that made the records, spec/golden-2.13/gen_fx.py, which runs here with another `case`.
"""
import copy
import re
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
theirs = pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
pytest.importorskip("octet")
import torch_graphs  # noqa: E402
import torch_weights  # noqa: E402
from octet.torch import quantize_fx as ours  # noqa: E402
from octet.torch.front.trace import Tracer, trace  # noqa: E402

ENGINE = "x86"
SCENARIOS = (
    "linear linear_relu linear_linear_relu_perchannel conv_bn_relu conv_bn_relu_qat linear_bn convtranspose_bn bn_relu bn1d_alone "
    "conv_two_users_no_fuse functional_linear_relu functional_linear_kwargs functional_conv2d add_two add_same add_scalar "
    "scalar_add_left add_relu mul_relu_scalar sub_not_supported matmul cat cat_of_inputs cat_same_value_twice maxpool_between_convs "
    "maxpool_only reshape_chain reshape_default_mapping flatten_linear size_view relu_standalone sigmoid_default_mapping "
    "sigmoid_plain_minmax tanh_softmax_default leaky_elu_hardswish layernorm_default groupnorm_functional groupnorm_module interpolate "
    "avgpool_mean dropout embedding_weight_only dynamic_linear dynamic_functional_linear dynamic_conv_not_lowered fp16_dynamic_linear "
    "fp16_static_linear gru_dynamic input_quantized output_quantized module_name_none module_name_none_first fork_two_consumers "
    "input_two_consumers_different_obs same_module_twice masked_fill getattr_shape stack_unsqueeze chunk_not_in_config "
    "tutorial_conv_relu tutorial_conv_bn_relu_not_in_backend tutorial_default_mapping_violates_constraints "
    "x_residual_conv_bn_add_relu_module x_residual_conv_add_relu_functional x_conv_add_left x_conv_add_right x_two_convs_add_relu "
    "x_linear_leaky_relu x_linear_bn_leaky_relu x_linear_tanh x_flinear_tanh x_f_conv_transpose2d x_conv_transpose2d x_prelu_default "
    "x_pixel_shuffle x_narrow x_gru_dynamic x_lstmcell_dynamic x_embeddingbag_weight_only x_matmul_op x_sub x_default_linear "
    "x_default_conv1d x_default_conv3d x_silu_unsupported x_mha x_symmetric_qnnpack_linear"
).split()
#: Not compared: the reason.
SKIPPED = {
    "input_quantized": "the quantized interface is a type of the function here: test_fx_graphs.py has it",
    "output_quantized": "the quantized interface is a type of the function here: test_fx_graphs.py has it",
}
#: What differs on purpose: the row of docs/deviations.md or docs/fx.md.
DIFFERENT = {
    "tutorial_conv_bn_relu_not_in_backend": "batch norm is folded where the backend has the pattern",
    "conv_bn_relu_qat": "fake-quantize modules of `prepare_qat` begin with scale 1 and measure while the network is trained",
}


@pytest.fixture(scope="module")
def scenarios(shared_spec):
    """{name: module, inputs and arguments} of the program's cases."""
    path, found = shared_spec / "golden-2.13" / "gen_fx.py", {}
    head, body = path.read_text().split("class Fn(nn.Module):", 1)
    space = {"__file__": str(path), "__name__": "scenarios"}

    def case(name, make, inputs, mapping, pcc=None, bc=None, qat=False, **_):
        space["SEED"][0] = 1000 + 37 * len(found)
        module = space["det"](make()).train(qat)
        tensors = [space["gen"]({"seed": 5000 + i, "shape": shape, "kind": "uniform", "lo": -1.0, "hi": 2.0}) for i, shape in enumerate(inputs)]
        found[name] = SimpleNamespace(module=module, inputs=tuple(tensors), mapping=mapping, custom=pcc, backend=bc, is_trained=qat)

    before = torch.backends.quantized.engine, torch.get_num_threads(), sys.argv, list(sys.path)
    sys.argv = [str(path), ENGINE]
    try:
        exec(compile(head, str(path), "exec"), space)
        space["case"] = case
        exec(compile("class Fn(nn.Module):" + re.sub(r"^(json\.dump|print)\(.*$", "", body, flags=re.M), str(path), "exec"), space)
    finally:
        torch.backends.quantized.engine, sys.argv, sys.path[:] = before[0], before[2], before[3]
        torch.set_num_threads(before[1])
    return found


def convert(quantization, case):
    """The reference model by PyTorch's functions or by Octet's, which have the same names."""
    prepare = quantization.prepare_qat_fx if case.is_trained else quantization.prepare_fx
    prepared = prepare(copy.deepcopy(case.module), case.mapping, case.inputs, prepare_custom_config=case.custom, backend_config=case.backend)
    with torch.no_grad():
        prepared(*(x.clone() for x in case.inputs))
    arguments = {} if quantization is ours else {"backend_config": case.backend}
    return quantization.convert_to_reference_fx(prepared.eval(), **arguments)


def find_difference(case):
    reference, converted = convert(theirs, case), convert(ours, case)
    traced = trace(case.module, Tracer())
    names = torch_graphs.list_names(traced, torch_graphs.find_aliases(traced, reference))
    mine = torch_graphs.rename(torch_graphs.read_text(converted.code), names)
    return (torch_graphs.differ(mine, torch_graphs.read_module(reference, case.inputs), is_histogram=True)
            or torch_weights.differ(torch_weights.read_ours(converted._converted.bytecode), torch_weights.read_theirs(reference)))


def test_all_scenarios_are_here(scenarios):
    assert list(scenarios) == SCENARIOS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_is_pytorchs(compiler, scenarios, name):
    if name in SKIPPED:
        pytest.skip(SKIPPED[name])
    assert bool(find_difference(scenarios[name])) == (name in DIFFERENT)


def test_reasons_are_in_the_tables(source):
    text = "".join((source / "docs" / name).read_text() for name in ("deviations.md", "fx.md"))
    assert [row for row in DIFFERENT.values() if row not in text] == []

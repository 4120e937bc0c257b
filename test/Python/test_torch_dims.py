# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of torch.export with open sizes: one library with buckets."""
import io
import pickle
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
from octet.torch import compile_program
from octet.torch.front import make_graph
from octet.torch.quantize_fx import convert_fx, prepare_fx
from torch import nn
from torch.export import Dim

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.inner, self.head = nn.Embedding(50, 32), nn.Linear(32, 64), nn.Linear(64, 8)

    def forward(self, ids, mask):
        y = torch.relu(self.inner(self.table(ids) * mask.unsqueeze(-1)))
        return {"each": self.head(y), "all": (y * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)}


def make_inputs(length, batch=1):
    return torch.randint(0, 50, (batch, length)), torch.ones(batch, length)


def export(module, inputs, *dims):
    shapes = {name: dict(enumerate(dims, 2 - len(dims))) for name in ("ids", "mask")}
    return torch.export.export(module, inputs, dynamic_shapes=shapes)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval()


@pytest.fixture(scope="module")
def program(network):
    return export(network, make_inputs(10), Dim("seq", min=2, max=64))


def is_near(found, expected, part=1e-5):
    return all(found[name].shape == expected[name].shape and (found[name] - expected[name]).abs().max() <= part * expected[name].abs().max() for name in expected)


@torch.no_grad()
def test_float_library(network, program, tmp_path):
    module = compile_program(program, buckets={"seq": [8, 32, 16]}, pad={"ids": 0, "mask": 0})
    assert [bucket.inputs[0].shape for bucket in module.model.buckets] == [(1, 32), (1, 16), (1, 8)]
    for length in (32, 16, 8, 11):
        inputs = make_inputs(length)
        assert is_near(module(*inputs), network(*inputs))
    again = pickle.loads(pickle.dumps(module))
    assert torch.equal(again(*inputs)["all"], module(*inputs)["all"])
    module.save(tmp_path / "net.so")
    ids, mask = (x.numpy() for x in inputs)
    np.testing.assert_array_equal(octet.load(tmp_path / "net.so").run({"ids": ids, "mask": mask})["output0"], module(*inputs)["each"].numpy())
    with pytest.raises(octet.InputError, match="no bucket holds the inputs"):
        module(*make_inputs(33))


@torch.no_grad()
def test_int8_library_has_the_numbers_of_each_shape(network, program):
    prepared = prepare_fx(program, "x86_default_mapping", make_inputs(10), backend_config="x86")
    for length in (8, 32, 32, 16):
        prepared(*make_inputs(length))
    module, each = convert_fx(prepared, buckets={"seq": [8, 32]}), convert_fx(prepared)
    for length in (8, 32):
        inputs = make_inputs(length)
        found, expected = module(*inputs), each(*inputs)
        assert all(torch.equal(found[name], expected[name]) for name in found) and is_near(found, network(*inputs), 0.1)
    assert {row.name: row.verdict for row in module.report}["inner"] == "int8" and "octet.quantize" in module.code


@torch.no_grad()
def test_two_dims(network):
    batch = Dim("batch", max=8)
    module = compile_program(export(network, make_inputs(10, 2), batch, Dim("seq")), buckets={"batch": [4], "seq": [8, 16]})
    assert [bucket.inputs[0].shape for bucket in module.model.buckets] == [(4, 16), (4, 8)]
    inputs = make_inputs(16, 4)
    assert is_near(module(*inputs), network(*inputs))


class Halves(nn.Module):
    def forward(self, x):
        return x[:, ::2] + 1, torch.cat([x, x], 1)


def test_sizes_that_are_multiples():
    program = torch.export.export(Halves(), (torch.randn(1, 6),), dynamic_shapes={"x": {1: 2 * Dim("half", max=20)}})
    module, x = compile_program(program, buckets={"half": [2, 5]}), torch.randn(1, 10)
    assert torch.equal(module(x)[1], torch.cat([x, x], 1)) and [bucket.inputs[0].shape for bucket in module.model.buckets] == [(1, 10), (1, 4)]


def test_dims_without_names(network, program):
    """Those of Dim.AUTO, and of programs from files, are called by their place."""
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    automatic = export(network, make_inputs(10), Dim.AUTO)
    assert make_graph(torch.export.load(file)).octet_dims.describe() == '"ids.1" (2 to 64)'
    assert make_graph(automatic).octet_dims.describe() == '"ids.1" (2 or more)'
    assert len(compile_program(automatic, buckets={"ids.1": [4, 8]}).model.buckets) == 2


@pytest.mark.parametrize("buckets, message", [
    (None, r'the program\'s sizes "seq" \(2 to 64\) are open: give the lengths to compile for, as in buckets='),
    ({"length": [8]}, r"buckets: there is no Dim 'length'; the program's Dims are \"seq\" \(2 to 64\)"),
    ({}, "buckets: give lengths of 'seq'"),
    ({"seq": [8, 65]}, "buckets: the program does not take 65 as 'seq'"),
    ({"seq": [1]}, "buckets: the program does not take 1 as 'seq'"),
    ({"seq": []}, "buckets: 'seq' has 0 lengths"),
    ([8], r"buckets: expected a dict from the names of Dims to lists of lengths, but got \[8\]"),
])
def test_refusals(program, buckets, message):
    with pytest.raises(octet.InputError, match=message):
        compile_program(program, buckets=buckets)


def test_other_refusals(network, program):
    fixed = torch.export.export(network, make_inputs(10))
    with pytest.raises(octet.InputError, match="the program's sizes are fixed; export it with dynamic_shapes"):
        compile_program(fixed, buckets={"seq": [8]})
    with pytest.raises(octet.InputError, match="expected a torch.export.ExportedProgram, or its module, but got Network; see prepare_fx"):
        compile_program(network)
    prepared = prepare_fx(network, "x86_default_mapping", make_inputs(10), backend_config="x86")
    prepared(*make_inputs(10))
    with pytest.raises(octet.InputError, match="only programs of torch.export have open sizes"):
        convert_fx(prepared, buckets={"seq": [8]})
    for make in (lambda: compile_program(fixed, pad={"ids": 0}), lambda: convert_fx(prepared, pad={"ids": 0})):
        with pytest.raises(octet.InputError, match="pad: fills inputs up to a bucket, and there are none; give buckets, or omit it"):
            make()
    batches = export(network, make_inputs(10, 2), Dim("batch"), Dim("seq"))
    with pytest.raises(octet.InputError, match="'batch' has 2 lengths, but another Dim 3; give one for each bucket, or one for all"):
        compile_program(batches, buckets={"batch": [1, 2], "seq": [8, 16, 32]})


def test_one_shape_of_several(program, tmp_path):
    """compile_program takes example inputs for one; a library of an open program says what it lacks."""
    module = compile_program(program, make_inputs(12))
    with pytest.warns(octet.CompileWarning, match=r'sizes "seq" \(2 to 64\) are open, but the library is for \(1, 12\), \(1, 12\) alone: give convert_fx buckets'):
        module.save(tmp_path / "net.so")
    with warnings.catch_warnings():
        warnings.simplefilter("error", octet.CompileWarning)
        compile_program(program, buckets={"seq": [12]}).save(tmp_path / "net.so")


def test_files_of_a_float_program(network, tmp_path):
    inputs = make_inputs(10)
    module = compile_program(torch.export.export(network, inputs))
    arrays = {"ids": inputs[0].numpy(), "mask": inputs[1].numpy()}
    for suffix in ("onnx", "mlir", "mlirbc", "so"):
        module.save(tmp_path / f"net.{suffix}")
    for suffix in ("onnx", "mlirbc"):
        found = octet.compile(tmp_path / f"net.{suffix}").run(arrays)
        np.testing.assert_allclose(found["output0"], module(*inputs)["each"].numpy(), atol=1e-6)
    assert "nn.linear" in (tmp_path / "net.mlir").read_text()


class Sized(nn.Module):
    def forward(self, x):
        return x * 2, x.shape[1]


def test_returned_sizes_are_refused():
    program = torch.export.export(Sized(), (torch.randn(1, 6),), dynamic_shapes={"x": {1: Dim("n")}})
    with pytest.raises(octet.InputError, match="returns sizes as numbers, which are not the same in all buckets; return tensors"):
        compile_program(program, buckets={"n": [4, 8]})

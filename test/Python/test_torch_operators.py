# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of random modules on the integers of PyTorch's reference models; `torch_fuzz.py 0 500 x86` takes other seeds."""
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
pytest.importorskip("octet")
import torch_fuzz  # noqa: E402
import torch_operators  # noqa: E402

MODULES = 40
# PyTorch's kernels for CPUs with AVX2 and without VNNI add two products of u8 by i8 in i16, which saturates.
HAS_VNNI = "_vnni" in Path("/proc/cpuinfo").read_text()


@pytest.mark.parametrize("engine", ["x86", "qnnpack"])
def test_operators_give_pytorchs_integers(compiler, engine):
    counts, faults, _ = torch_fuzz.run_operators(range(MODULES), engine)
    assert not faults
    if engine == "x86" and not HAS_VNNI:
        counts = {key: numbers for key, numbers in counts.items() if not (key[0] == "lowered" and key[1].lower().startswith(("conv", "linear")))}
    total = torch_operators.total(counts)
    assert not total["reference", "farther"] and not total["lowered", "farther"]
    # The reference model adds biases in floats, as x86 does. With the int32 biases of qnnpack, which round otherwise, it agrees with that.
    model = "int32 bias" if engine == "qnnpack" else "reference"
    assert total["int32 bias", "elements"] == total["reference", "elements"]
    assert not total["int32 bias", "farther"]
    unfolded = torch_operators.total(counts, with_norm=False)
    assert unfolded[model, "elements"] > 2000 and unfolded[model, "one"] <= 0.0001 * unfolded[model, "elements"]
    assert total["reference", "elements"] > 2000 and total["reference", "one"] <= 0.002 * total["reference", "elements"]
    assert total["lowered", "elements"] > 1000 and total["lowered", "one"] <= 0.002 * total["lowered", "elements"]


def test_a_wrong_integer_is_seen():
    a, b = torch.tensor([1, 2, 3]), torch.tensor([1, 3, 5])
    assert torch_operators.count_steps(a, b) == (3, 1, 1)

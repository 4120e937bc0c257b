# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that Python packages contain (tools/dev/setup --networks): float code against onnxruntime, or the reason of the refusal.

`tools/bench/survey.py --packaged` prints the same as a table, with int8 and times.
"""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))
octet = pytest.importorskip("octet")
pytest.importorskip("onnxruntime")
import onnx_files  # noqa: E402
import packaged  # noqa: E402
import survey  # noqa: E402
import tables  # noqa: E402

# What no compiler can know before it runs the network.
REFUSED = {"piper_joe": ["NonZero", "RandomNormalLike"]}


@pytest.fixture(params=packaged.NETWORKS, ids=lambda network: network.name)
def network(request):
    if not request.param.path.is_file():
        pytest.skip(f"{request.param.name} is not installed (tools/dev/setup --networks)")
    return request.param


def test_float_library_is_that_of_onnxruntime(network):
    shapes = {"input_shapes": network.shapes or None, "input_values": network.constants}
    if network.name in REFUSED:
        with pytest.raises(octet.CompileError) as refusal:
            octet.compile(network.path, **shapes)
        assert all(operator in str(refusal.value) for operator in REFUSED[network.name])
        return
    task = onnx_files.make_task(network.path, network.shapes, network.integers, network.name, network.constants)
    model = octet.compile(network.path, **shapes)
    for feed in task.samples(2):
        own = {name: array for name, array in feed.items() if name not in network.constants}
        for output, expected in zip(model.run(own).values(), task.session.run(None, feed)):
            assert tables.get_error(output, expected) <= survey.TOLERANCE or np.abs(output - expected).max() <= survey.DIFFERENCE

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The whole way on real networks: float golden match, int8 with default settings, accuracy on the evaluation split.

`tools/bench/accuracy.py` prints the same as a table. Here the costly networks are evaluated on their first samples only.
"""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))
import networks  # noqa: E402

octet = pytest.importorskip("octet")
if networks.load_evaluate() is None:
    pytest.skip(f"the networks are not here ({networks.SHARED}/models; set OCTET_SHARED)", allow_module_level=True)
for module in ("onnxruntime", "cv2"):
    pytest.importorskip(module, reason="evaluate.py needs it")
import accuracy  # noqa: E402

LIMITS = {"yolox_nano": 100}


@pytest.fixture(scope="module", params=list(networks.BARS))
def task(request):
    return networks.get_tasks([request.param])[0]


def test_float_library_matches_golden_outputs(task):
    model = octet.compile(task.onnx, input_shapes=networks.get_input_shapes(task))
    assert accuracy.get_golden_error(task, accuracy.make_run(model)) <= networks.GOLDEN_TOLERANCE


def test_int8_library_is_as_accurate_as_asked(task):
    samples = networks.as_arrays(task.calib())
    model = octet.compile(task.onnx, calibration_data=samples, input_shapes=networks.get_input_shapes(task))
    result = accuracy.evaluate(task, accuracy.make_run(model), LIMITS.get(task.name))
    assert result["finite"]
    assert result["value"] >= networks.BARS[task.name], result
    assert model.report.int8_share >= networks.INT8_SHARES[task.name], str(model.report)

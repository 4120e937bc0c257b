# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's engines on real networks: their backends run in integers wherever the CPU backend does."""
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(ROOT / "test" / "Integration")]
import networks  # noqa: E402

# Backends of signed activations with their mappings; those of tensorrt have weights of -128.
POLICIES = {"qnnpack": "qnnpack_symmetric_mapping", "tensorrt": "tensorrt_default_mapping"}
NETWORKS = ["mlperf_resnet8_cifar10", "mlperf_kws_dscnn", "mobilenet_v1_025_224_imagenet"]


@pytest.fixture(scope="module", params=NETWORKS)
def network(request, tmp_path_factory):
    """An ONNX file, its samples, the options for its shape."""
    if networks.load_evaluate() is None:
        pytest.skip(f"the networks are not here ({networks.SHARED}/models; set OCTET_SHARED)")
    for module in ("onnxruntime", "cv2"):
        pytest.importorskip(module, reason="evaluate.py needs it")
    task = networks.get_tasks([request.param])[0]
    samples = tmp_path_factory.mktemp("samples") / "samples.npz"
    np.savez(samples, **networks.as_arrays(task.calib()))
    shapes = networks.get_input_shapes(task) or {}
    return task.onnx, samples, [f"--input-shape={name}={'x'.join(map(str, shape))}" for name, shape in shapes.items()]


def list_floats(tool, network, folder, backend, mapping):
    """Names of the operators that stay float."""
    path, samples, shapes = network
    tool("octet-compile", path, *shapes, f"--backend={backend}", f"--qconfig-mapping={mapping}", f"--calibration-data={samples}",
         f"--report={folder / 'report.json'}", "-o", folder / "model.so")
    rows = json.loads((folder / "report.json").read_text())["operators"]
    assert any(row["verdict"] == "int8" for row in rows)
    return {row["name"] for row in rows if row["verdict"] == "float"}


@pytest.mark.slow
@pytest.mark.parametrize("backend", POLICIES)
def test_what_the_cpu_backend_lowers_is_lowered(tool, network, tmp_path, backend):
    floats = list_floats(tool, network, tmp_path, "cpu", "cpu_default_mapping")
    assert list_floats(tool, network, tmp_path, backend, POLICIES[backend]) <= floats

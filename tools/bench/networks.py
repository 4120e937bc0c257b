# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks of the benchmarks: their places, their order, and the bars of each."""
from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("OCTET_SHARED", ROOT.parent / "shared"))

# Least value of the network's own measure (evaluate.py: task.evaluate(run)["value"]; rates are fractions there).
BARS = {
    "mlperf_resnet8_cifar10": 0.746,
    "mnist_cntk": 0.988,
    "mlperf_kws_dscnn": 0.910,
    "resnet20_cifar10": 0.800,
    "resnet56_cifar10": 0.828,
    "mobilenet_v1_025_224_imagenet": 0.550,
    "mobilenet_v2_050_128_person": 0.992,
    "mlperf_vww_mobilenetv1_025_96": 0.995,
    "mlperf_streaming_wakeword": 0.911,
    "mlperf_ad01_autoencoder": 40.0,
    "super_resolution_10": 34.0,
    "ppocr_cls": 0.880,
    "yolox_nano": 0.85,
    "kwt1_encoder_mfcc98x40": 0.96,
    "silero_vad_openvino_16k": 0.995,
}
# The default networks of benchmarks: all but the transformer and the recurrent one.
NAMES = list(BARS)[:-2]

# Least share of the multiply-adds in int8.
INT8_SHARES = {name: 0.99 for name in BARS}

# Largest error of the float network, relative to the golden output's largest magnitude.
GOLDEN_TOLERANCE = 1e-4


def load_evaluate():
    """The module evaluate.py beside the networks, or None where they are absent."""
    path = SHARED / "models" / "evaluate.py"
    if not path.exists():
        return None
    if "octet_evaluate" not in sys.modules:
        spec = importlib.util.spec_from_file_location("octet_evaluate", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["octet_evaluate"] = module
        spec.loader.exec_module(module)
    return sys.modules["octet_evaluate"]


def get_tasks(names=None):
    """The tasks of evaluate.py for the given networks (by default NAMES), in the order of the bars."""
    evaluate = load_evaluate()
    if evaluate is None:
        raise SystemExit(f"no networks: {SHARED}/models/evaluate.py is missing (set OCTET_SHARED)")
    unknown = sorted(set(names or []) - set(BARS))
    if unknown:
        raise SystemExit(f"unknown network {', '.join(unknown)}; there are {', '.join(BARS)}")
    return [evaluate.task(name) for name in BARS if name in (names or NAMES)]


def as_arrays(feeds):
    """A list of feeds of batch 1 as one dict of arrays with a leading sample axis."""
    import numpy as np

    return {name: np.stack([feed[name] for feed in feeds]) for name in feeds[0]}


def get_input_shapes(task):
    """The shapes of inputs that the ONNX file does not fix."""
    return {name: tuple(shape) for name, shape in task.shapes.items() if shape}

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Octet: compiles float networks to exact int8 machine code, and runs them.

    import octet
    network = octet.compile("resnet8.onnx", calibration_data={"input_1": samples})
    print(network.report)
    network.save("resnet8.so")
    scores = network.run({"input_1": image})["output"]
    again = octet.load("resnet8.so", threads=2)
"""
from ._compiler import QuantizedModel, compile, quantize
from .errors import CompileError, CompileWarning, Error, InputError, LoadError, SaveError
from ._buckets import Bucket, TensorInfo
from .layers import LayerErrors, QConfigErrors, compare_layers, compare_qconfigs
from .model import BoundModel, Model, load
from .report import Report

__version__ = "0.1.0"
__all__ = [
    "BoundModel",
    "Bucket",
    "CompileError",
    "CompileWarning",
    "Error",
    "InputError",
    "LayerErrors",
    "LoadError",
    "Model",
    "QConfigErrors",
    "QuantizedModel",
    "Report",
    "SaveError",
    "TensorInfo",
    "compare_layers",
    "compare_qconfigs",
    "compile",
    "load",
    "quantize",
]

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's BackendConfigs, made from Octet's built-in files of the same names."""
from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from typing import Any, Dict

import torch

from ..._compiler import find_compiler
from ...errors import CompileError
from .._names import MatchAllNode, find_type
from .._policy import DTYPES
from .backend_config import BackendConfig, ObservationType
from .dtype_config import DTypeWithConstraints

_DTYPES = {text: dtype for dtype, text in DTYPES.items()}


def _find_translator() -> str:
    """The path of octet-translate, which is installed beside octet-compile."""
    path = os.path.join(os.path.dirname(find_compiler()), "octet-translate")
    found = path if os.access(path, os.X_OK) else shutil.which("octet-translate")
    if not found:
        raise CompileError("octet-translate is not installed: put it beside octet-compile, or on PATH")
    return found


@functools.lru_cache(maxsize=None)
def _export(name: str) -> str:
    """The dictionary of a built-in backend, in JSON."""
    text = f'octet.backend @{name} includes "{name}" {{\n}}\n'
    done = subprocess.run([_find_translator(), "-", "--export-backend-config"], input=text, capture_output=True, text=True)
    if done.returncode:
        raise CompileError(done.stderr.strip())
    return done.stdout


def _read_pattern(pattern: Any) -> Any:
    if isinstance(pattern, list):
        return tuple(map(_read_pattern, pattern))
    return MatchAllNode if pattern == "*" else find_type(pattern)


def _read_dtype(dtype: str) -> torch.dtype:
    return _DTYPES.get(dtype) or getattr(torch, dtype)


def _read_dtypes(members: Dict[str, Any]) -> Dict[str, Any]:
    result = {}
    for key, value in members.items():
        if isinstance(value, dict):
            value = DTypeWithConstraints(**{**value, "dtype": _read_dtype(value["dtype"])})
        result[key] = _read_dtype(value) if isinstance(value, str) else value
    return result


def _read_config(members: Dict[str, Any]) -> Dict[str, Any]:
    """A pattern's dictionary with classes, types and enumerations in place of their names."""
    result = {**members, "observation_type": ObservationType[members["observation_type"]],
              "dtype_configs": [_read_dtypes(dtypes) for dtypes in members["dtype_configs"]]}
    for key in {"pattern", "pattern_complex_format"} & set(members):
        result[key] = _read_pattern(members[key])
    numbers = members.get("num_tensor_args_to_observation_type")
    if numbers:
        result["num_tensor_args_to_observation_type"] = {int(number): ObservationType[name] for number, name in numbers.items()}
    return result


def _make(name: str) -> BackendConfig:
    members = json.loads(_export(name))
    return BackendConfig.from_dict({"name": name, "configs": [_read_config(config) for config in members["configs"]]})


def get_native_backend_config() -> BackendConfig:
    """What all of PyTorch's engines have. PyTorch: `get_native_backend_config`."""
    return _make("native")


def get_fbgemm_backend_config() -> BackendConfig:
    """PyTorch: `get_fbgemm_backend_config`."""
    return _make("fbgemm")


def get_x86_backend_config() -> BackendConfig:
    """PyTorch: `backend_config.x86.get_x86_backend_config`."""
    return _make("x86")


def get_qnnpack_backend_config() -> BackendConfig:
    """PyTorch: `get_qnnpack_backend_config`."""
    return _make("qnnpack")


def get_onednn_backend_config() -> BackendConfig:
    """PyTorch: `get_onednn_backend_config`."""
    return _make("onednn")


def get_tensorrt_backend_config() -> BackendConfig:
    """PyTorch: `get_tensorrt_backend_config`."""
    return _make("tensorrt")


def get_executorch_backend_config() -> BackendConfig:
    """PyTorch: `get_executorch_backend_config`."""
    return _make("executorch")


def get_native_backend_config_dict() -> Dict[str, Any]:
    """PyTorch: `get_native_backend_config_dict`."""
    return get_native_backend_config().to_dict()


def get_tensorrt_backend_config_dict() -> Dict[str, Any]:
    """PyTorch: `get_tensorrt_backend_config_dict`."""
    return get_tensorrt_backend_config().to_dict()

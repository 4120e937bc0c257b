# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a target quantizes, and with which types. PyTorch: `torch.ao.quantization.backend_config`; Octet: docs/backends.md."""
from .backend_config import BackendConfig, BackendPatternConfig, ObservationType  # noqa: F401
from .builtin import (  # noqa: F401
    get_executorch_backend_config, get_fbgemm_backend_config, get_native_backend_config, get_native_backend_config_dict,
    get_onednn_backend_config, get_qnnpack_backend_config, get_tensorrt_backend_config, get_tensorrt_backend_config_dict,
    get_x86_backend_config,
)
from .dtype_config import DTypeConfig, DTypeWithConstraints  # noqa: F401

__all__ = [
    "BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints", "ObservationType",
    "get_executorch_backend_config", "get_fbgemm_backend_config", "get_native_backend_config", "get_native_backend_config_dict",
    "get_onednn_backend_config", "get_qnnpack_backend_config", "get_tensorrt_backend_config", "get_tensorrt_backend_config_dict",
    "get_x86_backend_config",
]

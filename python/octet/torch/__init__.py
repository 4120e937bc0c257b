# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of `torch.ao.quantization`, for code that was written for it: change the import, keep the code.

    from octet.torch import QConfigMapping, get_default_qconfig_mapping
    from octet.torch.backend_config import get_native_backend_config

The objects describe a policy; Octet's passes carry it out. They need PyTorch, but not its `torch.ao`, whose own objects are
accepted wherever these are. docs/torch-names.md lists the names.
"""
try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("octet.torch needs PyTorch, which Octet does not install: pip install torch") from error

try:
    from .. import _ir as _unused  # noqa: F401
except ImportError as error:
    raise ImportError("octet.torch needs octet._ir, which Octet's own build makes and `pip install ./python` does not: put build/python on "
                      "PYTHONPATH") from error

from .fake_quantize import *  # noqa: E402, F403
from .observer import *  # noqa: E402, F403
from .qconfig import *  # noqa: E402, F403
from .qconfig_mapping import *  # noqa: E402, F403
from .quant_type import QuantType  # noqa: E402, F401
from .fuse_modules import fuse_modules, fuse_modules_qat  # noqa: E402, F401
from .program import compile_program  # noqa: E402, F401
from .quantize import *  # noqa: E402, F403
from .stubs import *  # noqa: E402, F403
from .statistics import get_observer_dict, get_observer_state_dict, load_observer_state_dict  # noqa: E402, F401
from .utils import MatchAllNode  # noqa: E402, F401
from .backend_config import BackendConfig, BackendPatternConfig, DTypeConfig, DTypeWithConstraints, ObservationType  # noqa: E402, F401
from .custom_configs import *  # noqa: E402, F403
from ._rounding import freeze_bn_stats, update_bn_stats  # noqa: E402, F401

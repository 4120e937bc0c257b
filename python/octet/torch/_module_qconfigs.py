# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QConfigs as attributes of modules, as the eager mode has them."""
from __future__ import annotations

import warnings
from typing import Any, Dict, Optional

from torch import nn

from .qconfig import qconfig_equals
from .qconfig_mapping import QConfigMapping


def propagate_qconfig_(module: nn.Module, qconfig_dict: Optional[Dict[Any, Any]] = None, prepare_custom_config_dict: Any = None) -> None:
    """Gives every module inside the QConfig of the one around it, or its own: by its name, by its class, or the one that it has."""
    given = qconfig_dict or {}

    def visit(part: nn.Module, around: Any, name: str) -> None:
        around = given.get(name, given.get(type(part), around))
        part.qconfig = around = getattr(part, "qconfig", around)
        for child_name, child in part.named_children():
            visit(child, around, f"{name}.{child_name}" if name else child_name)

    visit(module, None, "")


#: Octet's or PyTorch's, in which there are no operators.
_MARKS = ("QuantStub", "DeQuantStub")


def read_qconfigs(model: nn.Module) -> QConfigMapping:
    """The mapping that the attributes stand for: an entry for each module that has another QConfig than the one around it."""
    mapping = QConfigMapping()
    around: Dict[str, Any] = {}
    for name, module in model.named_modules():
        inherited = around.get(name.rpartition(".")[0]) if name else None
        around[name] = own = getattr(module, "qconfig", inherited)
        if not name:
            mapping.set_global(own)
        elif not qconfig_equals(own, inherited) and type(module).__name__ not in _MARKS:
            mapping.set_module_name(name, own)
    if all(qconfig is None for qconfig in around.values()):
        warnings.warn("no module has a QConfig, so that nothing is quantized: set model.qconfig, for instance to "
                      "get_default_qconfig('x86')", stacklevel=3)
    return mapping

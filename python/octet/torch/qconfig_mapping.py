# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QConfig mappings. PyTorch: `torch.ao.quantization.qconfig_mapping`; Octet: docs/mappings.md."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, Dict, Tuple, Union

import torch

from ..errors import InputError
from .fake_quantize import FixedQParamsFakeQuantize, default_weight_fake_quant
from .observer import (
    default_fixed_qparams_range_0to1_observer, default_fixed_qparams_range_neg1to1_observer, default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import (
    QConfig, QConfigAny, default_quint8_weight_qconfig, default_reuse_input_qconfig, default_symmetric_qnnpack_qat_qconfig,
    default_symmetric_qnnpack_qconfig, get_default_qat_qconfig, get_default_qconfig,
)

__all__ = ["QConfigMapping", "get_default_qat_qconfig_dict", "get_default_qat_qconfig_mapping", "get_default_qconfig_dict",
           "get_default_qconfig_mapping"]

ObjectType = Union[Callable[..., Any], str]

#: The keys of the dictionary form, in increasing precedence, and the attributes that have them.
_LEVELS = {"": "global_qconfig", "object_type": "object_type_qconfigs", "module_name_regex": "module_name_regex_qconfigs",
           "module_name": "module_name_qconfigs", "module_name_object_type_order": "module_name_object_type_order_qconfigs"}


class QConfigMapping:
    """Says which QConfig each operator gets; None means that it stays float. PyTorch: `QConfigMapping`.

    The levels in increasing precedence: `set_global`, `set_object_type`, `set_module_name_regex`, `set_module_name`,
    `set_module_name_object_type_order`. A key that is there already gets the new QConfig in its old place.
    """

    def __init__(self) -> None:
        self.global_qconfig: QConfigAny = None
        self.object_type_qconfigs: "OrderedDict[ObjectType, QConfigAny]" = OrderedDict()
        self.module_name_regex_qconfigs: "OrderedDict[str, QConfigAny]" = OrderedDict()
        self.module_name_qconfigs: "OrderedDict[str, QConfigAny]" = OrderedDict()
        self.module_name_object_type_order_qconfigs: "OrderedDict[Tuple[str, ObjectType, int], QConfigAny]" = OrderedDict()

    def set_global(self, global_qconfig: QConfigAny) -> "QConfigMapping":
        """The QConfig of operators that no other level names."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: ObjectType, qconfig: QConfigAny) -> "QConfigMapping":
        """That of a module class, a function, or a method by its name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: QConfigAny) -> "QConfigMapping":
        """That of the modules whose names match from their first character on; the first such entry counts."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: QConfigAny) -> "QConfigMapping":
        """That of a module and all inside it."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(self, module_name: str, object_type: ObjectType, index: int,
                                          qconfig: QConfigAny) -> "QConfigMapping":
        """That of one call: number `index`, from 0, of the calls of a function or class in a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def to_dict(self) -> Dict[str, Any]:
        """The dictionary that `from_dict` reads: lists of (key, QConfig) by level."""
        order = [(*key, qconfig) for key, qconfig in self.module_name_object_type_order_qconfigs.items()]
        lists = {key: list(getattr(self, name).items()) for key, name in _LEVELS.items() if key}
        return {"": self.global_qconfig, **lists, "module_name_object_type_order": order}

    @classmethod
    def from_dict(cls, qconfig_dict: Dict[str, Any]) -> "QConfigMapping":
        """A mapping from a dictionary with the keys "", "object_type", "module_name_regex", "module_name" and
        "module_name_object_type_order", each of which may be absent."""
        unknown = [key for key in qconfig_dict if key not in _LEVELS]
        if unknown:
            raise InputError(f"QConfigMapping: {unknown[0]!r} is no key of a mapping; the keys are {', '.join(map(repr, _LEVELS))}")
        mapping = cls().set_global(qconfig_dict.get(""))
        for key in list(_LEVELS)[1:]:
            for entry in qconfig_dict.get(key, ()):
                getattr(mapping, f"set_{key}")(*entry)
        return mapping

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for name in _LEVELS.values():
            level = getattr(self, name)
            lines.append(f" {name}")
            lines += [f"  {key}: {qconfig}" for key, qconfig in level.items()] if isinstance(level, dict) and level else [f"  {level}"]
        return "\n".join([*lines, ")"])


# ---- defaults ------------------------------------------------------------------------------------------------------------
_FROM_0_TO_1 = (torch.nn.Hardsigmoid, torch.nn.functional.hardsigmoid, "hardsigmoid", "hardsigmoid_", torch.nn.Sigmoid, torch.sigmoid,
                "sigmoid", "sigmoid_", torch.nn.Softmax)
_FROM_MINUS_1_TO_1 = (torch.nn.Tanh, torch.tanh, "tanh", "tanh_")
_TRANSPOSED = (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d, torch.nn.functional.conv_transpose1d,
               torch.nn.functional.conv_transpose2d, torch.nn.functional.conv_transpose3d)
_NORMS = (torch.nn.functional.layer_norm, torch.nn.LayerNorm)


def _set_all(mapping: QConfigMapping, types: Tuple[ObjectType, ...], qconfig: QConfigAny) -> None:
    for object_type in types:
        mapping.set_object_type(object_type, qconfig)


def _set_known_ranges(mapping: QConfigMapping, is_qat: bool) -> QConfigMapping:
    """Entries of functions whose results have a known range."""
    weight = default_weight_fake_quant if is_qat else default_weight_observer
    for types, observer in ((_FROM_0_TO_1, default_fixed_qparams_range_0to1_observer),
                            (_FROM_MINUS_1_TO_1, default_fixed_qparams_range_neg1to1_observer)):
        _set_all(mapping, types, QConfig(FixedQParamsFakeQuantize.with_args(observer=observer) if is_qat else observer, weight))
    return mapping


def _make_default(qconfig: QConfig, backend: str, is_qat: bool) -> QConfigMapping:
    mapping = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    weight = default_weight_fake_quant if is_qat else default_weight_observer
    # These engines have no kernel of transposed convolutions with a scale for each channel.
    _set_all(mapping, _TRANSPOSED, QConfig(qconfig.activation, weight) if backend in ("fbgemm", "x86") else qconfig)
    _set_all(mapping, _NORMS, QConfig(qconfig.activation, default_placeholder_observer))  # their weights stay float
    mapping.set_object_type(torch.nn.PReLU, default_quint8_weight_qconfig)
    return _set_known_ranges(mapping, is_qat)


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """The mapping of an engine: "x86", "fbgemm", "qnnpack" or "onednn". PyTorch: `get_default_qconfig_mapping`."""
    return _make_default(get_default_qconfig(backend, version), backend, is_qat=False)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The mapping of an engine for training. PyTorch: `get_default_qat_qconfig_mapping`."""
    return _make_default(get_default_qat_qconfig(backend, version), backend, is_qat=True)


def get_default_qconfig_dict(backend: str = "x86", version: int = 0) -> Dict[str, Any]:
    """The same as a dictionary. PyTorch: the function of this name, which is deprecated there."""
    return get_default_qconfig_mapping(backend, version).to_dict()


def get_default_qat_qconfig_dict(backend: str = "x86", version: int = 1) -> Dict[str, Any]:
    """The same as a dictionary. PyTorch: the function of this name, which is deprecated there."""
    return get_default_qat_qconfig_mapping(backend, version).to_dict()


def _make_symmetric(qconfig: QConfig, is_qat: bool) -> QConfigMapping:
    """All but known ranges by one QConfig."""
    mapping = QConfigMapping().set_global(qconfig)
    _set_all(mapping, ("reshape", *_TRANSPOSED, *_NORMS, torch.nn.PReLU), qconfig)
    return _set_known_ranges(mapping, is_qat)


def _get_symmetric_qnnpack_qconfig_mapping() -> QConfigMapping:
    """PyTorch: the function of this name."""
    return _make_symmetric(default_symmetric_qnnpack_qconfig, is_qat=False)


def _get_symmetric_qnnpack_qat_qconfig_mapping() -> QConfigMapping:
    """PyTorch: the function of this name."""
    return _make_symmetric(default_symmetric_qnnpack_qat_qconfig, is_qat=True)

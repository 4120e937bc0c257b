# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backends and their patterns. PyTorch: `BackendConfig`, `BackendPatternConfig`; Octet: `octet.backend`, `octet.pattern`."""
from __future__ import annotations

import enum
import json
from typing import Any, Callable, Dict, List, Optional

from ...errors import InputError
from .._policy import write_pattern
from .dtype_config import DTypeConfig


class ObservationType(enum.Enum):
    """Which observer a result has. PyTorch: `ObservationType`; Octet: `observation` of a pattern."""

    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1
    INPUT_OUTPUT_NOT_OBSERVED = 2


def _read_dtypes(given: Any) -> Any:
    if isinstance(given, dict):
        return DTypeConfig.from_dict(given)
    if not hasattr(given, "input_dtype_with_constraints"):
        raise InputError(f"BackendPatternConfig: dtype_configs: expected DTypeConfig or its dictionary, but got {given!r}")
    return given


#: The keys of the dictionary form without the two that are always there, and the attributes that have them.
_MEMBERS = {
    "pattern": "pattern", "root_module": "root_module", "qat_module": "qat_module",
    "reference_quantized_module_for_root": "reference_quantized_module", "fused_module": "fused_module",
    "fuser_method": "fuser_method", "root_node_getter": "_root_node_getter", "extra_inputs_getter": "_extra_inputs_getter",
    "num_tensor_args_to_observation_type": "_num_tensor_args_to_observation_type",
    "input_type_to_index": "_input_type_to_index", "pattern_complex_format": "_pattern_complex_format",
}


class BackendPatternConfig:
    """How a pattern of operators is quantized. PyTorch: `BackendPatternConfig`.

    Modules and functions that build PyTorch's own quantized modules are kept, and mean nothing here (docs/fx.md).
    """

    def __init__(self, pattern: Any = None) -> None:
        self.pattern = pattern
        self.observation_type: Any = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: List[Any] = []
        self.root_module: Optional[type] = None
        self.qat_module: Optional[type] = None
        self.reference_quantized_module: Optional[type] = None
        self.fused_module: Optional[type] = None
        self.fuser_method: Optional[Callable[..., Any]] = None
        self._root_node_getter: Optional[Callable[..., Any]] = None
        self._extra_inputs_getter: Optional[Callable[..., Any]] = None
        self._num_tensor_args_to_observation_type: Dict[int, Any] = {}
        self._input_type_to_index: Dict[str, int] = {}
        self._pattern_complex_format: Any = None

    def _set(self, name: str, value: Any) -> "BackendPatternConfig":
        setattr(self, name, value)
        if self.pattern is not None and self._pattern_complex_format is not None:
            raise InputError("BackendPatternConfig: expected one of pattern and pattern_complex_format, but got both; omit one")
        return self

    def set_pattern(self, pattern: Any) -> "BackendPatternConfig":
        """The operators: a class, function or method, or a sequence of them from the first to the last."""
        return self._set("pattern", pattern)

    def set_observation_type(self, observation_type: Any) -> "BackendPatternConfig":
        """Which observer the result has."""
        if not hasattr(ObservationType, getattr(observation_type, "name", "")):
            raise InputError(f"BackendPatternConfig: expected an ObservationType, but got {observation_type!r}")
        return self._set("observation_type", observation_type)

    def add_dtype_config(self, dtype_config: Any) -> "BackendPatternConfig":
        """One more combination of data types; the first that fits counts."""
        return self._set("dtype_configs", [*self.dtype_configs, _read_dtypes(dtype_config)])

    def set_dtype_configs(self, dtype_configs: List[Any]) -> "BackendPatternConfig":
        """All combinations of data types."""
        return self._set("dtype_configs", [_read_dtypes(dtypes) for dtypes in dtype_configs])

    def set_root_module(self, root_module: type) -> "BackendPatternConfig":
        """The module with the weight."""
        return self._set("root_module", root_module)

    def set_qat_module(self, qat_module: type) -> "BackendPatternConfig":
        """The module that trains."""
        return self._set("qat_module", qat_module)

    def set_reference_quantized_module(self, reference_quantized_module: type) -> "BackendPatternConfig":
        """The module of PyTorch's reference model."""
        return self._set("reference_quantized_module", reference_quantized_module)

    def set_fused_module(self, fused_module: type) -> "BackendPatternConfig":
        """The module that PyTorch makes of the pattern."""
        return self._set("fused_module", fused_module)

    def set_fuser_method(self, fuser_method: Callable[..., Any]) -> "BackendPatternConfig":
        """The function that makes it."""
        return self._set("fuser_method", fuser_method)

    def _set_root_node_getter(self, root_node_getter: Callable[..., Any]) -> "BackendPatternConfig":
        return self._set("_root_node_getter", root_node_getter)

    def _set_extra_inputs_getter(self, extra_inputs_getter: Callable[..., Any]) -> "BackendPatternConfig":
        return self._set("_extra_inputs_getter", extra_inputs_getter)

    def _set_num_tensor_args_to_observation_type(self, types: Dict[int, Any]) -> "BackendPatternConfig":
        return self._set("_num_tensor_args_to_observation_type", types)

    def _set_input_type_to_index(self, input_type_to_index: Dict[str, int]) -> "BackendPatternConfig":
        return self._set("_input_type_to_index", input_type_to_index)

    def _set_pattern_complex_format(self, pattern: Any) -> "BackendPatternConfig":
        """The operators from the last to the first, each with its operands: `(ReLU, (add, MatchAllNode, Conv2d))`."""
        return self._set("_pattern_complex_format", pattern)

    @classmethod
    def from_dict(cls, backend_pattern_config_dict: Dict[str, Any]) -> "BackendPatternConfig":
        """From a dictionary with the keys of `to_dict`, all optional."""
        config = cls()
        for key, value in backend_pattern_config_dict.items():
            if key == "observation_type":
                config.set_observation_type(value)
            elif key == "dtype_configs":
                config.set_dtype_configs(value)
            elif key in _MEMBERS:
                config._set(_MEMBERS[key], value)
            else:
                raise InputError(f"BackendPatternConfig: {key!r} is no key; the keys are observation_type, dtype_configs, {', '.join(_MEMBERS)}")
        return config

    def to_dict(self) -> Dict[str, Any]:
        """The dictionary that `from_dict` reads, without what is not given."""
        given = {key: getattr(self, name) for key, name in _MEMBERS.items()}
        return {"observation_type": self.observation_type, "dtype_configs": [dtypes.to_dict() for dtypes in self.dtype_configs],
                **{key: value for key, value in given.items() if value is not None and value != {}}}

    def __repr__(self) -> str:
        return f"BackendPatternConfig({ {key: value for key, value in vars(self).items() if value not in (None, [], {})} })"


def _get_key(config: Any) -> str:
    """What tells patterns apart: a sequence is the chain of its operators, innermost first."""
    members = config.to_dict()
    pattern = write_pattern(members.get("pattern_complex_format", members.get("pattern")))
    if "pattern" in members and isinstance(pattern, list):
        nested = pattern[0]
        for name in pattern[1:]:
            nested = [name, nested]
        pattern = nested
    return json.dumps(pattern)


class BackendConfig:
    """The patterns that a target quantizes. PyTorch: `BackendConfig`."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._configs: Dict[str, Any] = {}

    def set_name(self, name: str) -> "BackendConfig":
        """The name of the target."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: Any) -> "BackendConfig":
        """One more pattern; it replaces the config of the same pattern."""
        self._configs[_get_key(config)] = config
        return self

    def set_backend_pattern_configs(self, configs: List[Any]) -> "BackendConfig":
        """More patterns."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> List[Any]:
        """The patterns, in a list of its own."""
        return list(self._configs.values())

    @classmethod
    def from_dict(cls, backend_config_dict: Dict[str, Any]) -> "BackendConfig":
        """From a dictionary with a "name" and a list "configs"."""
        configs = backend_config_dict.get("configs", [])
        return cls(backend_config_dict.get("name", "")).set_backend_pattern_configs(
            [BackendPatternConfig.from_dict(config) if isinstance(config, dict) else config for config in configs])

    def to_dict(self) -> Dict[str, Any]:
        """The dictionary that `from_dict` reads."""
        return {"name": self.name, "configs": [config.to_dict() for config in self.configs]}

    def __repr__(self) -> str:
        return f"BackendConfig({self.name!r}, {self.configs!r})"

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies as texts of Octet's files, from the objects of this package or PyTorch's own: docs/mappings.md, docs/backends.md.

PyTorch's objects are read by their `to_dict()`; nothing here imports `torch.ao`.
"""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ..errors import InputError
from ._names import name_type
from ._observers import is_fixed, write_observer

LEVELS = ("object_type", "module_name_regex", "module_name", "module_name_object_type_order")


def read_members(policy: Any, what: str) -> Dict[str, Any]:
    members = policy.to_dict() if hasattr(policy, "to_dict") else policy
    if not isinstance(members, dict):
        raise InputError(f"expected a {what} or its dictionary, but got {type(policy).__name__}")
    return members


# ---- mappings ------------------------------------------------------------------------------------------------------------
class _MappingWriter:
    """Writes the entries of one mapping."""

    def __init__(self, mapping: Dict[str, Any], engine: str) -> None:
        self.engine = engine
        self.everything = mapping.get("")

    def _write_observer(self, observer: Any, place: str) -> str:
        try:
            return write_observer(observer, self.engine)
        except InputError as error:
            raise InputError(f"QConfig of {place}: {error}") from None

    def _get_values(self) -> Optional[str]:
        """What the values have whose range is not known."""
        values = getattr(self.everything, "activation", None)
        if values is None or is_fixed(values):
            return None
        return self._write_observer(values, "all operators: activation")

    def write(self, qconfig: Any, place: str, of_type: bool = False) -> Optional[Dict[str, str]]:
        if qconfig is None:
            return None
        activation = getattr(qconfig, "activation", None)
        if activation is None:
            raise InputError(f"QConfig of {place}: expected a QConfig with an activation, but got {qconfig!r}; "
                             "give None for operators that stay float")
        written = {"activation": self._write_observer(activation, f"{place}: activation")}
        if written["activation"] == "#octet.reuse_input":  # such operators have no weights
            return written
        if of_type and is_fixed(activation) and self._get_values():
            # The known range is that of the result.
            written = {"activation": self._get_values(), "result": written["activation"]}
        if getattr(qconfig, "weight", None) is not None:
            written["weight"] = self._write_observer(qconfig.weight, f"{place}: weight")
        return written


def _write_keys(level: str, entry: Any) -> List[Any]:
    """The keys of an entry without its QConfig, as Octet spells them."""
    if level == "object_type":
        return [name_type(entry[0])]
    if level == "module_name_object_type_order":
        return [entry[0], name_type(entry[1]), entry[2]]
    return [entry[0]]


def _spell_out(entries: List[Any], places: Sequence[Tuple[str, str]]) -> List[Any]:
    """Regular expressions as PyTorch applies them, to the paths of modules: one for each operator that the first match is for."""
    result, taken = [], set()
    for pattern, qconfig in entries:
        # A function and a module beside it may have one name.
        names = list(dict.fromkeys(name for name, path in places if re.match(pattern, path)))
        result += [[f"{re.escape(name)}$", qconfig] for name in names if name not in taken]
        if not any(re.match(pattern, name) for name, _ in places) and not names:
            result.append([pattern, qconfig])  # said to be idle when the network is compiled
        taken.update(names)
    return result


def _add_prefix(result: Dict[str, Any], prefix: str) -> None:
    """Entries about names become those of operators within a module."""
    for level in ("module_name", "module_name_object_type_order"):
        result[level] = [[f"{prefix}.{name}" if name else prefix, *rest] for name, *rest in result[level]]
    result["module_name_regex"] = [[f"{re.escape(prefix)}\\.{pattern.removeprefix('^')}", qconfig] for pattern, qconfig in result["module_name_regex"]]


def write_mapping(qconfig_mapping: Any, prepare_custom_config: Any = None, engine: Optional[str] = None,
                  places: Sequence[Tuple[str, str]] = (), prefix: str = "") -> str:
    """The text of a QConfig mapping, in JSON.

    Args:
      qconfig_mapping: a `QConfigMapping`, Octet's or PyTorch's, or the dictionary that it is made from.
      prepare_custom_config: a `PrepareCustomConfig`, whose indexes and names of modules go into the mapping.
      engine: PyTorch's engine, which decides about the ranges of values that are quantized in each run; by default that of
        `torch.backends.quantized`.
      prefix: the path of the module that the mapping is about, if that is a part of the network.
      places: the network's operators, each by its name and the path of its module; without them, expressions are matched with names.
    """
    members = read_members(qconfig_mapping, "QConfigMapping")
    writer = _MappingWriter(members, engine or torch.backends.quantized.engine)
    result: Dict[str, Any] = {"name": "torch", "": writer.write(writer.everything, "all operators")}
    for level in LEVELS:
        entries = {}
        for entry in members.get(level, ()):
            keys = _write_keys(level, entry)
            place = f"{level} {', '.join(map(repr, keys))}"
            entries[tuple(keys)] = [*keys, writer.write(entry[-1], place, level == "object_type")]
        result[level] = list(entries.values())
    result["module_name_regex"] = _spell_out(result["module_name_regex"], places)
    _add_custom(result, read_members(prepare_custom_config or {}, "PrepareCustomConfig"))
    if prefix:
        _add_prefix(result, prefix)
    return json.dumps({key: value for key, value in result.items() if value or not isinstance(value, list)}, indent=1)


def _add_custom(result: Dict[str, Any], custom: Dict[str, Any]) -> None:
    if custom.get("float_to_observed_custom_module_class"):
        raise InputError("PrepareCustomConfig: float_to_observed_custom_module_class has no counterpart; write a pattern on the operators of the module "
                         "in a backend file (docs/write-a-backend.md)")
    result["quantized_inputs"] = list(custom.get("input_quantized_idxs", ()))
    result["quantized_outputs"] = list(custom.get("output_quantized_idxs", ()))
    untraced = list(custom.get("non_traceable_module_name", ()))
    kept = [entry for entry in result["module_name"] if entry[0] not in untraced]
    result["module_name"] = kept + [[name, None] for name in untraced]
    types = [name_type(kind) for kind in custom.get("non_traceable_module_class", ())]
    kept = [entry for entry in result["object_type"] if entry[0] not in types]
    result["object_type"] = kept + [[name, None] for name in types]


# ---- backends ------------------------------------------------------------------------------------------------------------
#: How Octet spells those types that PyTorch spells otherwise.
DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def _write_dtype(dtype: Any) -> str:
    return DTYPES.get(dtype) or str(dtype).rpartition(".")[2]


def _write_value(value: Any) -> Any:
    """A member of a pattern as JSON: enumerations, types, functions and classes by their names."""
    if value is None or isinstance(value, (bool, int, float)) and not hasattr(value, "name"):
        return value
    if isinstance(value, torch.dtype):
        return _write_dtype(value)
    if hasattr(value, "quant_min_lower_bound"):  # DTypeWithConstraints
        return {key: _write_value(member) for key, member in vars(value).items() if member is not None}
    if isinstance(value, dict):
        return {str(key): _write_value(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_write_value(member) for member in value]
    if getattr(value, "__name__", "") == "MatchAllNode":
        return "*"
    return name_type(value) if callable(value) else getattr(value, "name", value)


def write_pattern(pattern: Any) -> Any:
    """A pattern with names in place of classes and functions."""
    if isinstance(pattern, (list, tuple)):
        return [write_pattern(part) for part in pattern]
    return "*" if getattr(pattern, "__name__", "") == "MatchAllNode" else name_type(pattern)


def write_config(config: Any) -> Dict[str, Any]:
    """A pattern's config, or its dictionary, with names in place of classes, functions, types and enumerations."""
    members = read_members(config, "BackendPatternConfig")
    patterns = ("pattern", "pattern_complex_format")
    return {key: write_pattern(value) if key in patterns else _write_value(value) for key, value in members.items()}


def _get_graph(config: Dict[str, Any]) -> str:
    """What two patterns have in common that differ by the side of a `MatchAllNode` only: they are one graph here."""
    def sort(pattern: Any) -> Any:
        return [pattern[0], *sorted(map(sort, pattern[1:]), key=str)] if isinstance(pattern, list) else pattern

    key = "pattern_complex_format"
    if key not in config:
        return json.dumps(config)
    decides = ("observation_type", "dtype_configs", "num_tensor_args_to_observation_type")
    return json.dumps([sort(config[key]), *(config.get(name) for name in decides)])


def _quantize_biases(config: Dict[str, Any]) -> None:
    """The biases of sums of integers become integers, too."""
    for types in config.get("dtype_configs", ()):
        if types.get("bias_dtype") == "f32" and not types.get("is_dynamic"):
            types["bias_dtype"] = "qint32"


def write_backend(backend_config: Any, engine: Optional[str] = None) -> str:
    """The text of a backend, in JSON.

    Args:
      backend_config: a `BackendConfig`, Octet's or PyTorch's, or the dictionary that it is made from.
      engine: PyTorch's engine, whose kernels decide about biases: those of qnnpack add integers, all others floats. By default that of
        `torch.backends.quantized`.
    """
    members = read_members(backend_config, "BackendConfig")
    configs = list(map(write_config, members.get("configs", ())))
    graphs = {_get_graph(config): config for config in reversed(configs)}
    kept = [config for config in configs if graphs[_get_graph(config)] is config]
    if (engine or torch.backends.quantized.engine) == "qnnpack":
        for config in kept:
            _quantize_biases(config)
    return json.dumps({"name": members.get("name") or "torch", "configs": kept}, indent=1)

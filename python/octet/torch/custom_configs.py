# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Further arguments of prepare, convert and fuse. PyTorch: `torch.ao.quantization.fx.custom_config`."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import InputError
from .quant_type import QuantType

__all__ = ["ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig", "StandaloneModuleConfigEntry"]


def _check_keys(kind: type, members: Dict[str, Any], keys: Iterable[str]) -> None:
    for key in members:
        if key not in keys:
            raise InputError(f"{kind.__name__}: {key!r} is no key; the keys are {', '.join(keys)}")


def _read_mapping(kind: type, members: Dict[str, Dict[type, type]]) -> Iterable[Tuple[type, type, QuantType]]:
    """The rows of a dictionary from kinds of quantization to dictionaries of classes."""
    for name, classes in members.items():
        if name.upper() not in QuantType.__members__:
            raise InputError(f"{kind.__name__}: {name!r} is no kind of quantization; expected static, dynamic, qat or weight_only")
        yield from ((key, value, QuantType[name.upper()]) for key, value in classes.items())


class _Config:
    """What all have: a representation without what is empty, and names of attributes of the model that are kept."""

    def __init__(self) -> None:
        self.preserved_attributes: List[str] = []

    def set_preserved_attributes(self, attributes: List[str]) -> Any:
        """Attributes that the model keeps although its `forward` does not read them."""
        self.preserved_attributes = attributes
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({ {key: value for key, value in vars(self).items() if len(value) > 0} })"


@dataclass
class StandaloneModuleConfigEntry:
    """The policy of a module that is prepared by itself. PyTorch: the class of this name."""

    qconfig_mapping: Any
    example_inputs: Tuple[Any, ...]
    prepare_custom_config: Optional["PrepareCustomConfig"]
    backend_config: Any


class PrepareCustomConfig(_Config):
    """PyTorch: `PrepareCustomConfig`. What Octet does of it is in docs/fx.md; `prepare_fx` refuses the rest."""

    _LISTS = {"non_traceable_module_name": "non_traceable_module_names", "non_traceable_module_class": "non_traceable_module_classes",
              "input_quantized_idxs": "input_quantized_indexes", "output_quantized_idxs": "output_quantized_indexes",
              "preserved_attributes": "preserved_attributes"}
    _STANDALONE = {"standalone_module_name": "standalone_module_names", "standalone_module_class": "standalone_module_classes"}
    _MAPPING = "float_to_observed_custom_module_class"

    def __init__(self) -> None:
        super().__init__()
        self.standalone_module_names: Dict[str, StandaloneModuleConfigEntry] = {}
        self.standalone_module_classes: Dict[type, StandaloneModuleConfigEntry] = {}
        self.float_to_observed_mapping: Dict[QuantType, Dict[type, type]] = {}
        self.non_traceable_module_names: List[str] = []
        self.non_traceable_module_classes: List[type] = []
        self.input_quantized_indexes: List[int] = []
        self.output_quantized_indexes: List[int] = []

    def set_standalone_module_name(self, module_name: str, qconfig_mapping: Any, example_inputs: Tuple[Any, ...],
                                   prepare_custom_config: Any, backend_config: Any) -> "PrepareCustomConfig":
        """A module, by its name, with a policy of its own."""
        entry = StandaloneModuleConfigEntry(qconfig_mapping, example_inputs, prepare_custom_config, backend_config)
        self.standalone_module_names[module_name] = entry
        return self

    def set_standalone_module_class(self, module_class: type, qconfig_mapping: Any, example_inputs: Tuple[Any, ...],
                                    prepare_custom_config: Any, backend_config: Any) -> "PrepareCustomConfig":
        """Modules, by their class, with a policy of their own."""
        entry = StandaloneModuleConfigEntry(qconfig_mapping, example_inputs, prepare_custom_config, backend_config)
        self.standalone_module_classes[module_class] = entry
        return self

    def set_float_to_observed_mapping(self, float_class: type, observed_class: type,
                                      quant_type: QuantType = QuantType.STATIC) -> "PrepareCustomConfig":
        """A class of one's own, and the class that observes in its place."""
        if quant_type != QuantType.STATIC:
            raise InputError(f"set_float_to_observed_mapping: expected QuantType.STATIC, but got {quant_type!r}")
        self.float_to_observed_mapping.setdefault(quant_type, {})[float_class] = observed_class
        return self

    def set_non_traceable_module_names(self, module_names: List[str]) -> "PrepareCustomConfig":
        """Modules, by name, that are not traced and stay float."""
        self.non_traceable_module_names = module_names
        return self

    def set_non_traceable_module_classes(self, module_classes: List[type]) -> "PrepareCustomConfig":
        """Modules, by class, that are not traced and stay float."""
        self.non_traceable_module_classes = module_classes
        return self

    def set_input_quantized_indexes(self, indexes: List[int]) -> "PrepareCustomConfig":
        """Inputs, by number, that come in as integers."""
        self.input_quantized_indexes = indexes
        return self

    def set_output_quantized_indexes(self, indexes: List[int]) -> "PrepareCustomConfig":
        """Outputs, by number, that leave as integers."""
        self.output_quantized_indexes = indexes
        return self

    @classmethod
    def from_dict(cls, prepare_custom_config_dict: Dict[str, Any]) -> "PrepareCustomConfig":
        """From a dictionary with the keys of `to_dict`, all optional."""
        config, members = cls(), prepare_custom_config_dict
        _check_keys(cls, members, (*cls._STANDALONE, cls._MAPPING, *cls._LISTS))
        for key in cls._STANDALONE:
            for name, mapping, inputs, custom, backend in members.get(key, ()):
                custom = cls.from_dict(custom) if isinstance(custom, dict) else custom
                getattr(config, f"set_{key}")(name, mapping, inputs, custom, backend)
        for float_class, observed_class, quant_type in _read_mapping(cls, members.get(cls._MAPPING, {})):
            config.set_float_to_observed_mapping(float_class, observed_class, quant_type)
        for key, name in cls._LISTS.items():
            setattr(config, name, members.get(key, []))
        return config

    def to_dict(self) -> Dict[str, Any]:
        """The dictionary that `from_dict` reads, without what is empty."""
        result: Dict[str, Any] = {}
        for key, name in self._STANDALONE.items():
            result[key] = [_list_entry(module, entry) for module, entry in getattr(self, name).items()]
        result[self._MAPPING] = {kind.name.lower(): classes for kind, classes in self.float_to_observed_mapping.items()}
        result.update((key, getattr(self, name)) for key, name in self._LISTS.items())
        return {key: value for key, value in result.items() if value}


def _list_entry(module: Any, entry: StandaloneModuleConfigEntry) -> Tuple[Any, ...]:
    as_dict = [part.to_dict() if part else None for part in (entry.qconfig_mapping, entry.prepare_custom_config)]
    return (module, as_dict[0], entry.example_inputs, as_dict[1], entry.backend_config)


class ConvertCustomConfig(_Config):
    """PyTorch: `ConvertCustomConfig`."""

    _MAPPING = "observed_to_quantized_custom_module_class"

    def __init__(self) -> None:
        super().__init__()
        self.observed_to_quantized_mapping: Dict[QuantType, Dict[type, type]] = {}

    def set_observed_to_quantized_mapping(self, observed_class: type, quantized_class: type,
                                          quant_type: QuantType = QuantType.STATIC) -> "ConvertCustomConfig":
        """A class that observes, and the class that is quantized in its place."""
        self.observed_to_quantized_mapping.setdefault(quant_type, {})[observed_class] = quantized_class
        return self

    @classmethod
    def from_dict(cls, convert_custom_config_dict: Dict[str, Any]) -> "ConvertCustomConfig":
        """From a dictionary with the keys of `to_dict`, all optional."""
        _check_keys(cls, convert_custom_config_dict, (cls._MAPPING, "preserved_attributes"))
        config = cls().set_preserved_attributes(convert_custom_config_dict.get("preserved_attributes", []))
        for row in _read_mapping(cls, convert_custom_config_dict.get(cls._MAPPING, {})):
            config.set_observed_to_quantized_mapping(*row)
        return config

    def to_dict(self) -> Dict[str, Any]:
        """The dictionary that `from_dict` reads, without what is empty."""
        mapping = {kind.name.lower(): classes for kind, classes in self.observed_to_quantized_mapping.items()}
        result = {self._MAPPING: mapping, "preserved_attributes": self.preserved_attributes}
        return {key: value for key, value in result.items() if value}


class FuseCustomConfig(_Config):
    """PyTorch: `FuseCustomConfig`."""

    @classmethod
    def from_dict(cls, fuse_custom_config_dict: Dict[str, Any]) -> "FuseCustomConfig":
        """From a dictionary with the key of `to_dict`."""
        _check_keys(cls, fuse_custom_config_dict, ("preserved_attributes",))
        return cls().set_preserved_attributes(fuse_custom_config_dict.get("preserved_attributes", []))

    def to_dict(self) -> Dict[str, Any]:
        """The dictionary that `from_dict` reads, without what is empty."""
        return {"preserved_attributes": self.preserved_attributes} if self.preserved_attributes else {}

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several QConfigs side by side. PyTorch: `prepare_n_shadows_model` of `torch.ao.ns._numeric_suite_fx`, `QConfigMultiMapping`."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

import torch

from ...layers import LayerErrors, QConfigErrors
from .._modules import PreparedModule
from ..qconfig import qconfig_equals
from ..qconfig_mapping import QConfigMapping
from ..quantize_fx import prepare_fx
from .compare import compare_layers


class QConfigMultiMapping:
    """Several QConfigs for each entry of a mapping. PyTorch: `torch.ao.ns.fx.qconfig_multi_mapping.QConfigMultiMapping`."""

    def __init__(self) -> None:
        self.qconfig_mappings_list = [QConfigMapping()]

    @classmethod
    def from_list_qconfig_mapping(cls, qconfig_mapping_list: List[QConfigMapping]) -> "QConfigMultiMapping":
        """From mappings that are compared as they are."""
        result = cls()
        result.qconfig_mappings_list = list(qconfig_mapping_list)
        return result

    def _set(self, level: str, key: Tuple[Any, ...], qconfigs: Iterable[Any]) -> "QConfigMultiMapping":
        """The n-th QConfig goes into the n-th mapping; None, which shadows weaker entries, into those without one."""
        different: List[Any] = []
        for qconfig in qconfigs:
            if qconfig is not None and not any(qconfig_equals(qconfig, other) for other in different):
                different.append(qconfig)
        mappings = self.qconfig_mappings_list
        while len(mappings) < len(different):
            mappings.append(_empty(mappings[0]))
        for mapping, qconfig in zip(mappings, [*different, *[None] * (len(mappings) - len(different))]):
            getattr(mapping, f"set_{level}")(*key, qconfig)
        return self

    def set_global(self, global_qconfig_list: List[Any]) -> "QConfigMultiMapping":
        """As `QConfigMapping.set_global`, with a list."""
        return self._set("global", (), global_qconfig_list)

    def set_object_type(self, object_type: Any, qconfig_list: List[Any]) -> "QConfigMultiMapping":
        """As `QConfigMapping.set_object_type`, with a list."""
        return self._set("object_type", (object_type,), qconfig_list)

    def set_module_name_regex(self, module_name_regex: str, qconfig_list: List[Any]) -> "QConfigMultiMapping":
        """As `QConfigMapping.set_module_name_regex`, with a list."""
        return self._set("module_name_regex", (module_name_regex,), qconfig_list)

    def set_module_name(self, module_name: str, qconfig_list: List[Any]) -> "QConfigMultiMapping":
        """As `QConfigMapping.set_module_name`, with a list."""
        return self._set("module_name", (module_name,), qconfig_list)

    def set_module_name_object_type_order(self, module_name: str, object_type: Any, index: int, qconfig_list: List[Any]) -> "QConfigMultiMapping":
        """As `QConfigMapping.set_module_name_object_type_order`, with a list."""
        return self._set("module_name_object_type_order", (module_name, object_type, index), qconfig_list)


def _empty(mapping: QConfigMapping) -> QConfigMapping:
    """A mapping with the entries of another, all None."""
    levels = mapping.to_dict()
    entries = {level: [(*entry[:-1], None) for entry in levels[level]] for level in levels if level}
    return QConfigMapping.from_dict(entries)


class _Shadows(torch.nn.Module):
    """A module prepared with several mappings, which are calibrated with the same inputs."""

    def __init__(self, prepared: List[PreparedModule]) -> None:
        super().__init__()
        self.prepared = torch.nn.ModuleList(prepared)
        self.is_enabled = True

    def forward(self, *inputs: Any) -> Any:
        results = [prepared(*inputs) if self.is_enabled else prepared.float_module(*inputs) for prepared in self.prepared]
        return results[0]


def prepare_n_shadows_model(model: torch.nn.Module, example_inputs: Tuple[Any, ...], qconfig_multi_mapping: Any, backend_config: Any = None) -> _Shadows:
    """A module to be called with representative inputs. PyTorch: the function of this name."""
    mappings = qconfig_multi_mapping.qconfig_mappings_list
    return _Shadows([prepare_fx(model, mapping, example_inputs, backend_config=backend_config) for mapping in mappings])


def loggers_set_enabled(model: _Shadows, enabled: bool) -> None:
    """Whether further calls count. PyTorch: the function of this name."""
    model.is_enabled = enabled


def convert_n_shadows_model(model: _Shadows) -> _Shadows:
    """The model itself: measuring converts. PyTorch: the function of this name."""
    return model


def extract_results_n_shadows_model(model: _Shadows) -> Dict[str, LayerErrors]:
    """The layers' figures under each mapping, by its number. PyTorch: the function of this name."""
    return {f"qconfigs {i}": compare_layers(prepared) for i, prepared in enumerate(model.prepared)}


def print_comparisons_n_shadows_model(results: Dict[str, LayerErrors]) -> None:
    """Prints a table: each layer's local signal-to-noise ratio, and which mapping is the best. PyTorch: the function of this name."""
    print(QConfigErrors({}, None, results))

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A float network and the quantized one, layer by layer. PyTorch: `torch.ao.ns._numeric_suite_fx`, `torch.ao.ns.fx.utils`.

The figures are those of the samples that the prepared module was called with. Values are not kept: results have figures alone, and
the functions that compare values stand for them.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import torch

from ...errors import InputError
from ...layers import LayerErrors
from .._modules import CompiledModule, PreparedModule, Source

#: {layer: {kind of result: {name of the model: [entry]}}}, as PyTorch's results.
Results = Dict[str, Dict[str, Dict[str, List[Dict[str, Any]]]]]


class OutputLogger:
    """Stands for what is logged. PyTorch: `OutputLogger`."""


def compare_layers(model: PreparedModule) -> LayerErrors:
    """Every quantized operator with its four figures, of the samples that the prepared module was called with."""
    if not isinstance(model, PreparedModule):
        raise InputError(f"expected a module that prepare_fx returned, but got {type(model).__name__}")
    return compare_source(model._source)


def compare_source(source: Source) -> LayerErrors:
    if not source.samples:
        raise InputError("the prepared module was never called: call it with representative inputs before its layers are compared")
    return source.compare_layers()


# ---- the figures, by the functions that stand for them ------------------------------------------------------------------
def _refuse(*_: Any) -> Any:
    raise InputError("values are not kept; give the function itself to extend_logger_results_with_comparison")


def compute_sqnr(x: Any, y: Any) -> Any:
    """The signal-to-noise ratio in decibels. PyTorch: the function of this name, of two tensors."""
    return _refuse(x, y)


def compute_normalized_l2_error(x: Any, y: Any) -> Any:
    """The norm of the error over that of the values. PyTorch: the function of this name, of two tensors."""
    return _refuse(x, y)


def compute_cosine_similarity(x: Any, y: Any) -> Any:
    """The cosine of both. PyTorch: the function of this name, of two tensors."""
    return _refuse(x, y)


_FIGURES = {"compute_sqnr": "sqnr", "compute_normalized_l2_error": "normalized_l2", "compute_cosine_similarity": "cosine"}


def extend_logger_results_with_comparison(results: Results, model_name_1: str, model_name_2: str, comparison_fn: Callable[..., Any],
                                          comparison_name: str) -> None:
    """Adds a figure to the entries of the second model. PyTorch: the function of this name."""
    field = _FIGURES.get(getattr(comparison_fn, "__name__", ""))
    if not field:
        raise InputError(f"comparison_fn: expected {', '.join(_FIGURES)}, but got {comparison_fn!r}; values are not kept")
    for kinds in results.values():
        for models in kinds.values():
            for name in (model_name_1, model_name_2):
                if name not in models:
                    raise InputError(f"{name!r} is no model of these results, which have {', '.join(map(repr, models))}")
            for entry in models[model_name_2]:
                entry[comparison_name] = [getattr(entry["distance"], field)]


def _make_results(model: PreparedModule, names: Tuple[str, str], kind: str, get: Callable[[Any], Any]) -> Results:
    results: Results = {}
    for layer in compare_layers(model):
        distance = get(layer)
        if distance is not None:
            entry = {"type": kind, "values": [], "fqn": layer.name, "prev_node_target_type": layer.operator, "index_within_arg": 0,
                     "index_of_arg": 0}
            results[layer.name] = {kind: {names[0]: [entry], names[1]: [{**entry, "distance": distance}]}}
    return results


# ---- two models -----------------------------------------------------------------------------------------------------------
def _check(model_a: Any, model_b: Any) -> None:
    if not isinstance(model_a, PreparedModule) or not isinstance(model_b, (PreparedModule, CompiledModule)):
        raise InputError("expected the module that prepare_fx returned, and what convert_fx made of it, but got "
                         f"{type(model_a).__name__} and {type(model_b).__name__}")


class _Logged(torch.nn.Module):
    """A model between `add_loggers` and `extract_logger_info`. A prepared one takes no more samples."""

    def __init__(self, model: Any, names: Tuple[str, str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Any) -> Any:
        return getattr(self.model, "float_module", self.model)(*inputs)


def extract_weights(model_name_a: str, model_a: PreparedModule, model_name_b: str, model_b: Any) -> Results:
    """What the weights lose as integers. PyTorch: the function of this name."""
    _check(model_a, model_b)
    return _make_results(model_a, (model_name_a, model_name_b), "weight", lambda layer: layer.weights)


def add_loggers(name_a: str, model_a: PreparedModule, name_b: str, model_b: Any, logger_cls: Any = OutputLogger,
                should_log_inputs: bool = False) -> Tuple[_Logged, _Logged]:
    """Both models for `extract_logger_info`. PyTorch: the function of this name."""
    _check(model_a, model_b)
    return _Logged(model_a, (name_a, name_b)), _Logged(model_b, (name_a, name_b))


def extract_logger_info(model_a: _Logged, model_b: _Logged, logger_cls: Any = OutputLogger, model_name_to_use_for_layer_names: str = "") -> Results:
    """What has come together up to each layer. PyTorch: the function of this name."""
    return _make_results(model_a.model, model_a.names, "node_output", lambda layer: layer.output)


def add_shadow_loggers(name_a: str, model_a: PreparedModule, name_b: str, model_b: Any, logger_cls: Any = OutputLogger,
                       should_log_inputs: bool = False) -> _Logged:
    """A model for `extract_shadow_logger_info`. PyTorch: the function of this name."""
    _check(model_a, model_b)
    return _Logged(model_a, (name_a, name_b))


def extract_shadow_logger_info(model_a_shadows_b: _Logged, logger_cls: Any = OutputLogger, model_name_to_use_for_layer_names: str = "") -> Results:
    """What each layer adds by itself. PyTorch: the function of this name."""
    return _make_results(model_a_shadows_b.model, model_a_shadows_b.names, "node_output", lambda layer: layer.alone)

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The eager mode: QConfigs as attributes of modules. PyTorch: `torch.ao.quantization.quantize`.

The attributes become a QConfig mapping, and the rest is that of `prepare_fx` and `convert_fx`. Modules are traced; they are compiled
when they are called, as the eager mode has no example inputs.
"""
from __future__ import annotations

import copy
import inspect
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple

import torch
from torch import nn

from ..errors import CompileError, InputError
from ._module_qconfigs import propagate_qconfig_, read_qconfigs
from ._modules import CompiledModule, PreparedModule, Source
from ._training import TrainingModule
from .qconfig import (
    default_dynamic_qconfig, float16_dynamic_qconfig, float_qparams_weight_only_qconfig, float_qparams_weight_only_qconfig_4bit,
)
from .qconfig_mapping import QConfigMapping
from .quantize_fx import _trace, convert_fx, make_policy

__all__ = ["convert", "default_eval_fn", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_dynamic", "quantize_qat",
           "swap_module"]


# ---- modules ---------------------------------------------------------------------------------------------------------------
class _Waiting(nn.Module):
    """A traced module that is prepared or compiled when it is called, for the shapes that come. `made`: what became of it."""

    def __init__(self, make: Callable[[Sequence[Any]], nn.Module]) -> None:
        super().__init__()
        self._make: Optional[Callable[[Sequence[Any]], nn.Module]] = make
        self.made: Any = None

    def forward(self, *inputs: Any) -> Any:
        if self.made is None:
            self.made = self._make(inputs)  # type: ignore[misc]
            if not self.training:
                self.made.eval()
        return self.made(*inputs)

    def __getstate__(self) -> Dict[str, Any]:
        if self.made is None:
            raise InputError("the module was not compiled yet: call it once before it is saved")
        return {**self.__dict__, "_make": None}


class _Calibrating(_Waiting):
    """What `prepare` and `prepare_qat` return; `kind` says what of."""

    def __init__(self, model: nn.Module, mapping: QConfigMapping, kind: Callable[..., nn.Module] = PreparedModule) -> None:
        graph = _trace(model, None)
        policy = make_policy(mapping, "native", graph=graph)
        super().__init__(lambda inputs: kind(graph, policy, inputs))
        self.graph, self.policy, self.is_training = graph, policy, kind is TrainingModule
        self.training = model.training


def _make_converted(source: Source) -> _Waiting:
    def make(inputs: Sequence[Any]) -> CompiledModule:
        try:
            return CompiledModule(source, inputs)
        except CompileError as error:
            if "--calibration-data" not in str(error):
                raise
            raise InputError("the prepared module was never called: call it with representative inputs before it is converted") from None

    return _Waiting(make)


class _Substitute:
    """What a module does in place of its own `forward`, in its mode of training or evaluation."""

    def __init__(self, model: nn.Module, module: nn.Module) -> None:
        self.model, self.module = model, module

    def forward(self, *inputs: Any) -> Any:
        if self.module.training != self.model.training:
            self.module.train(self.model.training)
        return self.module(*inputs)


def _install(model: nn.Module, replacement: nn.Module) -> nn.Module:
    """Lets a module behave as another one, for programs that go on with the module that they gave."""
    model.__dict__["forward"], model.__dict__["_octet"] = _Substitute(model, replacement).forward, replacement
    return model


def _evaluate(model: nn.Module, inplace: bool) -> nn.Module:
    return model if inplace and not model.training else copy.deepcopy(model).eval()


def prepare(model: nn.Module, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None,
            prepare_custom_config_dict: Any = None) -> nn.Module:
    """A module to be calibrated by calls, with the QConfigs that the modules inside have as the attribute `qconfig`."""
    if allow_list or observer_non_leaf_module_list or prepare_custom_config_dict:
        raise InputError("prepare: classes of modules are chosen by the backend: use prepare_fx with a backend_config and a PrepareCustomConfig")
    prepared = _Calibrating(_evaluate(model, inplace), read_qconfigs(model))
    return _install(model, prepared) if inplace else prepared


def prepare_qat(model: nn.Module, mapping: Any = None, inplace: bool = False) -> nn.Module:
    """A module to be trained, with the QConfigs that the modules inside have; `model` is in training mode."""
    if not model.training:
        raise InputError("model: is in evaluation mode; call train() first, or use prepare")
    if mapping:
        raise InputError("mapping: there are no modules to swap in; omit it")
    prepared = _Calibrating(model if inplace else copy.deepcopy(model), read_qconfigs(model), TrainingModule)
    return _install(model, prepared) if inplace else prepared


def convert(module: nn.Module, mapping: Any = None, inplace: bool = False, remove_qconfig: bool = True, is_reference: bool = False,
            convert_custom_config_dict: Any = None, use_precomputed_fake_quant: bool = False) -> nn.Module:
    """The calibrated module as compiled code."""
    calibrated = module.__dict__.get("_octet", module)
    if not isinstance(calibrated, _Calibrating):
        raise InputError(f"expected a module that prepare returned, but got {type(calibrated).__name__}")
    if mapping or convert_custom_config_dict:
        raise InputError("convert: there are no quantized modules to swap in: use prepare_fx with a backend_config")
    made = calibrated.made
    if calibrated.is_training and made is None:
        raise InputError("the prepared module was never trained: call it with training data before it is converted")
    converted = convert_fx(made) if made is not None else _make_converted(Source(calibrated.graph, calibrated.policy))
    return _install(module, converted) if inplace else converted


# ---- a program's own modules -------------------------------------------------------------------------------------------------
def swap_module(mod: nn.Module, mapping: Dict[Any, Any], custom_module_class_mapping: Dict[Any, Any],
                use_precomputed_fake_quant: bool = False) -> nn.Module:
    """What a program puts in place of a module with a QConfig, with the module's hooks; the module itself where it has nothing for its class.

    Args:
      mapping: classes of modules to classes of the program's with `from_float`; Octet has none of its own.
      custom_module_class_mapping: the same with `from_observed`, which goes first.
    """
    if getattr(mod, "qconfig", None) is None:
        return mod
    kind = nn.utils.parametrize.type_before_parametrizations(mod)
    if kind in custom_module_class_mapping:
        swapped = custom_module_class_mapping[kind].from_observed(mod)
    elif kind in mapping:
        make = mapping[kind].from_float
        takes_choice = "use_precomputed_fake_quant" in inspect.signature(make).parameters
        swapped = make(mod, use_precomputed_fake_quant=use_precomputed_fake_quant) if takes_choice else make(mod)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        swapped.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        swapped.register_forward_hook(hook)
    devices = {tensor.device for tensor in (*mod.parameters(), *mod.buffers())}
    return swapped.to(devices.pop()) if len(devices) == 1 else swapped


# ---- in one step -------------------------------------------------------------------------------------------------------------
def default_eval_fn(model: nn.Module, calib_data: Iterable[Tuple[Any, Any]]) -> None:
    """Calls the model with the data of pairs of data and targets."""
    for data, _ in calib_data:
        model(data)


def quantize(model: nn.Module, run_fn: Callable[..., Any], run_args: Sequence[Any], mapping: Any = None, inplace: bool = False) -> nn.Module:
    """`prepare`, a call of `run_fn` with the prepared model and `run_args`, and `convert`."""
    prepared = prepare(model, inplace)
    run_fn(prepared, *run_args)
    return convert(prepared, mapping, inplace)


def quantize_qat(model: nn.Module, run_fn: Callable[..., Any], run_args: Sequence[Any], inplace: bool = False) -> nn.Module:
    """`prepare_qat`, a call of `run_fn` with the prepared model and `run_args`, which trains it, and `convert`."""
    prepared = prepare_qat((model if inplace else copy.deepcopy(model)).train(), inplace=True)
    run_fn(prepared, *run_args)
    return convert(prepared, inplace=True)


_LINEAR = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
#: By the type of weights: the classes, and their QConfig.
_DYNAMIC = {torch.qint8: (_LINEAR, default_dynamic_qconfig), torch.float16: (_LINEAR, float16_dynamic_qconfig),
            torch.quint8: ((nn.EmbeddingBag, nn.Embedding), float_qparams_weight_only_qconfig),
            torch.quint4x2: ((nn.EmbeddingBag,), float_qparams_weight_only_qconfig_4bit)}


def quantize_dynamic(model: nn.Module, qconfig_spec: Any = None, dtype: torch.dtype = torch.qint8, mapping: Any = None,
                     inplace: bool = False) -> nn.Module:
    """A module whose weights are quantized now, and its values in each run.

    Args:
      qconfig_spec: classes or names of modules, or a dictionary from them to QConfigs; by default linear and recurrent layers, with
        `dtype` of quint8 or quint4x2 embeddings.
      dtype: of the weights.
    """
    if dtype not in _DYNAMIC:
        raise InputError(f"dtype: expected {', '.join(map(str, _DYNAMIC))}, but got {dtype}")
    if mapping:
        raise InputError("mapping: there are no quantized modules to swap in; omit it")
    types, qconfig = _DYNAMIC[dtype]
    spec = qconfig_spec if isinstance(qconfig_spec, dict) else {key: qconfig for key in (types if qconfig_spec is None else qconfig_spec)}
    result = QConfigMapping()
    for key, value in spec.items():
        (result.set_module_name if isinstance(key, str) else result.set_object_type)(key, value)
    calibrated = _Calibrating(_evaluate(model, inplace), result)
    converted = _make_converted(Source(calibrated.graph, calibrated.policy))
    return _install(model, converted) if inplace else converted

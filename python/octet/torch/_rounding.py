# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules for quantization-aware training: PyTorch trains them, Octet's observers choose scales and zero points.

Where values are rounded is what `octet-prepare` says of the network (`_insertion.py`); scales and zero points are chosen by the
code that the compiler has for them. PyTorch's part is the arithmetic of training: `torch.fake_quantize_per_tensor_affine` and its gradient.
"""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, Optional, Sequence

import torch
from torch import nn

from .._ir import Observer
from .front.net import Net, Value
from .front.table import MODULES, modules


class FakeQuantizeModule(nn.Module):
    """Observes what it is called with and rounds it. PyTorch: `torch.ao.quantization.FakeQuantize`."""

    is_mark = True  # for the front end: no operator, but a place where the compiler rounds

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self._shape = text, None
        self.observer_enabled = self.fake_quant_enabled = True
        self._observer: Optional[Observer] = None
        for name, dtype in (("scale", torch.float32), ("zero_point", torch.int32), ("range", torch.int64), ("state", torch.uint8)):
            self.register_buffer(name, torch.empty(0, dtype=dtype))

    def enable_observer(self, enabled: bool = True) -> None:
        self.observer_enabled = enabled

    def disable_observer(self) -> None:
        self.enable_observer(False)

    def enable_fake_quant(self, enabled: bool = True) -> None:
        self.fake_quant_enabled = enabled

    def disable_fake_quant(self) -> None:
        self.enable_fake_quant(False)

    def _get_observer(self, shape: Sequence[int]) -> Observer:
        if self._observer is None or list(shape) != self._shape:
            state = self._observer.state if self._observer else self.state.numpy().tobytes()
            self._observer, self._shape = Observer(self.text, list(shape)), list(shape)
            if state:
                self._observer.state = state
        return self._observer

    @property
    def has_statistics(self) -> bool:
        """Whether its range is found by observing."""
        return not self.text.startswith(("#octet.fixed", "#octet.placeholder"))

    def observe(self, x: torch.Tensor) -> None:
        observer = self._get_observer(x.shape)
        observer.update(x.detach().float().contiguous().numpy())
        scales, zeros, low, high, axis = observer.choose()
        self.scale, self.zero_point = torch.tensor(scales, dtype=torch.float32), torch.tensor(zeros, dtype=torch.int32)
        self.range = torch.tensor([low, high, axis])
        if observer.state:  # a known range has none
            self.state = torch.frombuffer(bytearray(observer.state), dtype=torch.uint8)

    def choose(self, x: torch.Tensor) -> str:
        """The quantized type of a tensor that is observed once more; nothing is kept of it."""
        observer = Observer(self.text, list(x.shape))
        if len(self.state):
            observer.state = self.state.numpy().tobytes()
        observer.update(x.detach().contiguous().numpy())
        scales, zeros, low, high, axis = observer.choose()
        numbers = ", ".join(f"{scale!r}:{zero}" for scale, zero in zip(scales, zeros))
        storage = f"{'i' if low < 0 else 'u'}8<{low}:{high}>:f32"
        return f"!quant.uniform<{storage}, {numbers}>" if axis < 0 else f"!quant.uniform<{storage}:{axis}, {{{numbers}}}>"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.observer_enabled:
            self.observe(x)
        if not self.fake_quant_enabled or not len(self.scale):
            return x
        low, high, axis = self.range.tolist()
        if axis >= 0:
            return torch.fake_quantize_per_channel_affine(x, self.scale, self.zero_point, axis, low, high)
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, low, high)

    def write_statistics(self, symbol: str) -> str:
        numbers = [number - 256 if number > 127 else number for number in self.state.tolist()]
        return f'octet.observer @"{symbol}" {self.text} statistics dense<{numbers}> : tensor<{len(numbers)}xi8>\n'

    def extra_repr(self) -> str:
        return self.text

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_observer": None}

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *args: Any) -> None:
        for name, buffer in list(self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if saved is not None and saved.shape != buffer.shape:
                setattr(self, name, torch.empty_like(saved))
        self._observer = None
        super()._load_from_state_dict(state_dict, prefix, *args)


def _column(x: torch.Tensor, rank: int, axis: int) -> torch.Tensor:
    return x.reshape([-1 if i == axis else 1 for i in range(rank)])


class LayerInTraining(nn.Module):
    """A layer with rounded weights, and the batch norm behind it, whose factor the rounded weights have.

    Krishnamoorthi, "Quantizing deep convolutional networks", 2018, section 3.2.2. PyTorch: `torch.ao.nn.qat`, `torch.ao.nn.intrinsic.qat`.
    """

    def __init__(self, layer: nn.Module, text: str, norm: Optional[nn.Module] = None) -> None:
        super().__init__()
        self.layer, self.norm, self.weight_fake_quant, self.is_frozen = layer, norm, FakeQuantizeModule(text), False

    @property
    def layer_in_training(self) -> nn.Module:
        """What this module stands for, in origins and mappings."""
        return self.layer

    def train(self, mode: bool = True) -> "LayerInTraining":
        super().train(mode)
        if self.is_frozen and self.norm is not None:
            self.norm.eval()
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.layer.weight
        if self.norm is None:
            return torch.func.functional_call(self.layer, {"weight": self.weight_fake_quant(weight)}, (x,))
        factor = self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)
        parameters = {"weight": self.weight_fake_quant(weight * _column(factor, weight.dim(), 0))}
        if self.layer.bias is not None:
            parameters["bias"] = torch.zeros_like(self.layer.bias)
        y = torch.func.functional_call(self.layer, parameters, (x,))
        y = y / _column(factor, y.dim(), 1)
        return self.norm(y if self.layer.bias is None else y + _column(self.layer.bias, y.dim(), 1))


@modules(FakeQuantizeModule)
def _pass(net: Net, module: Any, x: Value) -> Value:
    """The compiler puts the rounding there, with the statistics of training; parameters have the type that training has found."""
    return x if x.tensor is None else net.constant(x.tensor, x.name, module.module.choose(x.tensor))


@modules(LayerInTraining)
def _make_layer(net: Net, module: Any, x: Value) -> Value:
    """The layer with the batch norm in its weights and bias, and the type that training has found for the weights."""
    layer, norm = module.module.layer, module.module.norm
    weight, bias = layer.weight, getattr(layer, "bias", None)
    if norm is not None:
        factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        weight = weight * _column(factor, weight.dim(), 0)
        bias = ((0 if bias is None else bias) - norm.running_mean) * factor + norm.bias
    path = module.path
    rounded = net.constant(weight, f"{path}.weight", module.module.weight_fake_quant.choose(weight))
    folded = None if bias is None else net.constant(bias, f"{path}.bias")
    return MODULES[type(layer)](net, SimpleNamespace(**{**vars(layer), "weight": rounded, "bias": folded}), x)


def freeze_bn_stats(module: nn.Module) -> None:
    """For `Module.apply`: batch norms go on with the statistics that they have. PyTorch: `torch.ao.nn.intrinsic.qat.freeze_bn_stats`."""
    if isinstance(module, LayerInTraining) and module.norm is not None:
        module.norm.eval()
        module.is_frozen = True


def update_bn_stats(module: nn.Module) -> None:
    """For `Module.apply`: batch norms take the statistics of batches again."""
    if isinstance(module, LayerInTraining) and module.norm is not None:
        module.is_frozen = False
        module.norm.train(module.training)

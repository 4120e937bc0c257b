# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that run one library with buckets (docs/buckets.md)."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

import torch
from torch.utils import _pytree as pytree

from ..errors import InputError
from ..model import Model
from . import _compilation
from ._modules import CompiledModule, Source, get_key
from .front import Output, hold


class _BucketRun:
    """Runs the smallest bucket that holds the inputs."""

    def __init__(self, model: Model, names: Sequence[str], result: Any, types: Sequence[torch.dtype]) -> None:
        self.model, self.names, self.result, self.types = model, names, result, types

    def __call__(self, inputs: Sequence[torch.Tensor]) -> Any:
        arrays = self.model.run({name: hold(x).numpy() for name, x in zip(self.names, inputs)})
        outputs = [torch.from_numpy(array).to(dtype) for array, dtype in zip(arrays.values(), self.types)]
        return pytree.tree_map(lambda leaf: outputs[leaf] if isinstance(leaf, Output) else leaf, self.result)


class BucketModule(CompiledModule):
    """A compiled module for inputs of several shapes. Others run in the smallest bucket that holds them, filled up where `pad` says with what."""

    def __init__(self, source: Source, buckets: Sequence[Sequence[Any]], pad: Optional[Mapping[str, float]] = None, threads: int = 1) -> None:
        torch.nn.Module.__init__(self)
        networks = [source.get_network(inputs) for inputs in buckets]
        if any(network.result != networks[0].result for network in networks):
            raise InputError("buckets: the program returns sizes as numbers, which are not the same in all buckets; return tensors")
        self._source, self._threads, self._names = source, threads, source.names
        options = [f"--pad={name}={float(value)!r}" for name, value in (pad or {}).items()]
        self._converted = _compilation.convert_buckets(networks, source.policy, *source.choose_samples(buckets), options, threads)
        first = networks[0]
        self._signature, self._open = (first.result, first.input_types, first.output_types), ""
        self._run = _BucketRun(self.model, first.inputs, first.result, first.output_types)
        self._key, self._runs = get_key(buckets[0]), _Always(self._run)


class _Always(Dict[Any, Callable[..., Any]]):
    """One function for inputs of all shapes."""

    def __init__(self, run: Callable[..., Any]) -> None:
        super().__init__()
        self.run = run

    def __missing__(self, key: Any) -> Callable[..., Any]:
        return self.run

    def __reduce__(self) -> Any:
        return _Always, (self.run,)


def check_pad(buckets: Any, pad: Any) -> None:
    if pad and buckets is None:
        raise InputError("pad: fills inputs up to a bucket, and there are none; give buckets, or omit it")


def make_buckets(source: Source, lengths: Mapping[str, Sequence[int]], examples: Sequence[Any]) -> List[Any]:
    """Inputs of each bucket's shapes."""
    dims = getattr(source.graph, "octet_dims", None)
    if dims is None:
        raise InputError("buckets: only programs of torch.export have open sizes; give prepare_fx such a program, exported with dynamic_shapes")
    return dims.make_inputs(lengths, examples)

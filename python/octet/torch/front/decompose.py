# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators without a row, as PyTorch itself makes them of others."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Optional, Tuple

import torch
import torch.fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from .table import ATEN


@functools.lru_cache(maxsize=None)
def _decompositions() -> Dict[Any, Callable[..., Any]]:
    """PyTorch's own, but for operators that have rows."""
    table = torch._decomp.core_aten_decompositions()
    return {op: rule for op, rule in table.items() if op._schema.name.split("::")[1] not in ATEN}


def decompose(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[torch.fx.GraphModule]:
    """The ATen operators that a call executes, as a graph of the tensors in its arguments; None if PyTorch cannot tell."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def run(*tensors: torch.Tensor) -> Any:
        filled = list(leaves)
        for place, tensor in zip(places, tensors):
            filled[place] = tensor
        positional, named = pytree.tree_unflatten(filled, spec)
        return function(*positional, **named)

    try:
        graph = make_fx(torch.func.functionalize(run), decomposition_table=_decompositions())(*(leaves[place] for place in places))
        graph.graph.eliminate_dead_code()
        return graph
    except Exception:  # noqa: BLE001  (any failure of PyTorch's tracing means that it cannot tell)
        return None

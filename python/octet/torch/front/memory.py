# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators in place change: which tensors of a graph share memory."""
from __future__ import annotations

from typing import Any, Callable, Dict, List

import torch
import torch.fx

from .table import is_in_place


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two views of the same memory have an element in common."""
    if a.element_size() != b.element_size():
        return bool(a.numel() and b.numel())
    taken = torch.zeros(a.untyped_storage().nbytes() // a.element_size(), dtype=torch.bool)
    taken.as_strided(a.shape, a.stride(), a.storage_offset()).fill_(True)
    return bool(taken.as_strided(b.shape, b.stride(), b.storage_offset()).any())


class Memory:
    """The tensors that PyTorch computed, and which of them an operator has changed through another view."""

    def __init__(self, obstruct: Callable[[torch.fx.Node, str], None]) -> None:
        self.real: Dict[torch.fx.Node, Any] = {}
        self._stale: Dict[torch.fx.Node, str] = {}
        self._obstruct = obstruct

    def write(self, node: torch.fx.Node, module: Any) -> List[torch.fx.Node]:
        """The nodes whose tensor an operator is about to change, which get new memory. Reading a view of what was changed is an obstacle."""
        for read in node.all_input_nodes:
            if read in self._stale:
                self._obstruct(node, f"reads {read.name}, whose memory {self._stale[read]} has changed in place through another view; "
                               "use the operator that returns a new tensor")
        inplace = node.kwargs.get("inplace") or getattr(module, "inplace", False)
        if not node.args or not is_in_place(node.target, node.op, {**node.kwargs, "inplace": inplace}):
            return []
        first = node.args[0]
        before = self.real.get(first) if isinstance(first, torch.fx.Node) else None
        if not isinstance(before, torch.Tensor):
            return []
        if first.op == "get_attr":
            self._obstruct(node, f"changes {first.target} of the module; return the new value instead")
        after, same = before.clone(), []
        for other, real in self.real.items():
            if not isinstance(real, torch.Tensor) or real.untyped_storage().data_ptr() != before.untyped_storage().data_ptr():
                continue
            if (real.data_ptr(), real.shape, real.stride()) == (before.data_ptr(), before.shape, before.stride()):
                same.append(other)
            elif _overlap(real, before):
                self._stale[other] = node.name
        self.real.update(dict.fromkeys(same, after))
        return same

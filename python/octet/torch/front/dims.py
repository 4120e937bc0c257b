# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The open sizes of exported programs (`torch.export.Dim`), and inputs of given sizes."""
from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

from ...errors import InputError


class Dims:
    """The open sizes of a program's inputs by the names of their `Dim`s. One without a name, as of `Dim.AUTO` or in a program that was
    loaded, is called by its first place: "ids.1" is the input ids' second dimension."""

    def __init__(self, inputs: Sequence[torch.fx.Node], ranges: Mapping[Any, Any]) -> None:
        self._shapes = [getattr(node.meta.get("val"), "shape", ()) for node in inputs]
        self._symbols: Dict[str, Any] = {}
        for node, shape in zip(inputs, self._shapes):
            for axis, size in enumerate(shape):
                if isinstance(size, torch.SymInt):
                    self._add(size, node.name, axis)
        self._ranges = {str(symbol): limits for symbol, limits in ranges.items()}

    def _get_range(self, symbol: Any) -> Tuple[int, Optional[int]]:
        """The least and the greatest length; None where there is no greatest."""
        limits = self._ranges.get(str(symbol))
        if limits is None:
            return 1, None
        return max(int(limits.lower), 1), int(limits.upper) if getattr(limits.upper, "is_Integer", False) else None

    def _add(self, size: torch.SymInt, name: str, axis: int) -> None:
        given, sources = size.node.shape_env.source_name_to_debug_name, size.node.shape_env.var_to_sources
        for symbol in sorted(size.node.expr.free_symbols - set(self._symbols.values()), key=str):
            places = [f"L['{name}'].size()[{axis}]", *(source.name for source in sources.get(symbol, ()))]
            texts = [re.search(r"[A-Za-z_]\w*", given[place]) for place in places if place in given]  # "seq", or "2*seq"
            self._symbols[texts[0][0] if texts and texts[0] else f"{name}.{axis}"] = symbol

    def __bool__(self) -> bool:
        return bool(self._symbols)

    def describe(self) -> str:
        """`"batch" (1 to 8), "seq" (2 or more)`"""
        def limits(symbol: Any) -> str:
            low, high = self._get_range(symbol)
            return f"{low} or more" if high is None else f"{low} to {high}"
        return ", ".join(f'"{name}" ({limits(symbol)})' for name, symbol in self._symbols.items())

    def _check(self, buckets: Mapping[str, Sequence[int]]) -> int:
        """The number of buckets. Raises InputError for lengths that the program does not take."""
        if not self or not isinstance(buckets, Mapping):
            raise InputError("buckets: expected a dict from the names of Dims to lists of lengths, " + (
                f"but got {buckets!r}" if self else "but the program's sizes are fixed; export it with dynamic_shapes"))
        if missing := [name for name in (*buckets, *self._symbols) if name not in buckets or name not in self._symbols]:
            raise InputError(f"buckets: {'give lengths of' if missing[0] in self._symbols else 'there is no Dim'} {missing[0]!r}; the program's Dims are "
                             f"{self.describe()}")
        counts = {name: len(lengths) for name, lengths in buckets.items()}
        most = max(counts.values())
        for name, count in counts.items():
            if count not in (1, most) or not count:
                raise InputError(f"buckets: {name!r} has {count} lengths, but another Dim {most}; give one for each bucket, or one for all")
            low, high = self._get_range(self._symbols[name])
            for length in buckets[name]:
                if length < low or high is not None and length > high:
                    raise InputError(f"buckets: the program does not take {length} as {name!r}; its Dims are {self.describe()}")
        return most

    def make_inputs(self, buckets: Mapping[str, Sequence[int]], examples: Sequence[Any]) -> List[Tuple[Any, ...]]:
        """Inputs for each bucket, with the elements of the examples."""
        made = []
        for i in range(self._check(buckets)):
            sizes = {self._symbols[name]: lengths[i if len(lengths) > 1 else 0] for name, lengths in buckets.items()}
            made.append(tuple(_resize(x, [int(size.node.expr.subs(sizes)) if isinstance(size, torch.SymInt) else size for size in shape])
                              for x, shape in zip(examples, self._shapes)))
        return made


def make_zeros(graph: torch.fx.Graph) -> Tuple[torch.Tensor, ...]:
    """Inputs of the shapes that a graph was exported with."""
    values = [node.meta["val"] for node in graph.nodes if node.op == "placeholder"]
    # int() would close an open size.
    return tuple(torch.zeros([size.node.hint if isinstance(size, torch.SymInt) else size for size in x.shape], dtype=x.dtype) for x in values)


def _resize(x: Any, shape: Sequence[int]) -> Any:
    """The elements in another shape, repeated where it is larger: positions in tables stay in these."""
    for axis, size in enumerate(shape if isinstance(x, torch.Tensor) else ()):
        if x.shape[axis] != size:
            x = x.index_select(axis, torch.arange(size) % x.shape[axis])
    return x

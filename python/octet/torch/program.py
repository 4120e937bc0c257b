# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of torch.export as compiled code, without samples."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from ..errors import InputError
from ._bucket_module import BucketModule, check_pad, make_buckets
from ._compilation import Policy
from ._modules import CompiledModule, Source
from .front import make_graph, make_graph_of_module
from .front.dims import make_zeros

__all__ = ["compile_program"]


def _read(program: Any) -> Tuple[torch.fx.GraphModule, Any]:
    """The program's graph and its example inputs; those of a module of one have the shapes of the export."""
    if isinstance(program, torch.export.ExportedProgram):
        return make_graph(program), program.example_inputs
    if not isinstance(program, torch.fx.GraphModule) or not hasattr(program.graph._codegen, "pytree_info"):
        raise InputError(f"program: expected a torch.export.ExportedProgram, or its module, but got {type(program).__name__}; see prepare_fx for modules")
    return make_graph_of_module(program), make_zeros(program.graph)


def compile_program(program: Any, example_inputs: Optional[Sequence[Any]] = None, *,
                    buckets: Optional[Mapping[str, Sequence[int]]] = None, pad: Optional[Mapping[str, float]] = None,
                    threads: int = 1) -> CompiledModule:
    """A program in compiled code: float, or int8 where the program is quantized (docs/torch-export.md).

    Args:
      program: of `torch.export.export`, or its module, also as `convert_pt2e` returns it.
      example_inputs: inputs of the shapes to compile for, by default those of the export.
      buckets: lengths by the names of the program's `Dim`s, as in {"seq": [16, 64]}; lists are of one length, or of one element. One library
        has the code for all of them.
      pad: numbers by the names of inputs with which what is smaller than a bucket is filled up.

    Raises: InputError for open sizes without buckets, CompileError with all operators that are not supported, and their lines.
    """
    check_pad(buckets, pad)
    graph, examples = _read(program)
    source = Source(graph, Policy(precision="as-in-file"))
    given = tuple(pytree.tree_leaves(examples if example_inputs is None else tuple(example_inputs)))
    if buckets is not None:
        return BucketModule(source, make_buckets(source, buckets, given), pad, threads)
    dims = source.graph.octet_dims
    if dims and example_inputs is None:
        raise InputError(f"the program's sizes {dims.describe()} are open: give the lengths to compile for, as in "
                         'buckets={"seq": [16, 64]}, or example_inputs for one shape')
    return CompiledModule(source, given, threads=threads)

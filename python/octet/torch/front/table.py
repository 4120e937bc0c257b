# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of operators: which function translates a module, a function, a method or an ATen operator of PyTorch.

A row is a function of a `Net`, for modules of the module, and of the operator's own arguments; tensors among these are `Value`s.
It returns the results as PyTorch has them: a `Value`, or a tuple of such.
"""
from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Optional, Set

import torch

Row = Callable[..., Any]
MODULES: Dict[type, Row] = {}
#: By function; methods and ATen operators by name.
FUNCTIONS: Dict[Any, Row] = {}
METHODS: Dict[str, Row] = {}
ATEN: Dict[str, Row] = {}
#: Rows whose operators stay in the network where their operands are constants.
KEPT: Set[Row] = set()
#: Rows of complex numbers, by those of reals.
COMPLEX: Dict[Row, Row] = {}


def modules(*classes: type) -> Callable[[Row], Row]:
    """A row for modules: `row(net, module, *inputs)`."""
    def register(row: Row) -> Row:
        MODULES.update(dict.fromkeys(classes, row))
        return row
    return register


def _add(row: Row, name: str) -> None:
    """Under a name, an operator is a function of torch, its functional module and `operator`, a method and an ATen operator, if there is one."""
    METHODS.setdefault(name, row)
    ATEN.setdefault(name, row)
    for place in (torch, torch.nn.functional, torch._C._nn, torch.special):
        if callable(getattr(place, name, None)):
            FUNCTIONS.setdefault(getattr(place, name), row)


def operators(*names: Any) -> Callable[[Row], Row]:
    """A row for an operator in all its forms, given by names (and in-place forms by the same with _), or by functions themselves."""
    def register(row: Row) -> Row:
        for name in names:
            if not isinstance(name, str):
                FUNCTIONS[name] = row
                continue
            _add(row, name)
            _add(row, f"{name}_")
        return row
    return register


def methods(*names: str) -> Callable[[Row], Row]:
    """A row for methods whose arguments are in another order than the function's."""
    def register(row: Row) -> Row:
        for name in names:
            METHODS[name] = METHODS[f"{name}_"] = row
        return row
    return register


def find_row(target: Any, kind: str) -> Optional[Row]:
    """The row of an FX node's target; None if there is none."""
    if kind == "call_method":
        return METHODS.get(target)
    if isinstance(target, torch._ops.OpOverload):
        return ATEN.get(target._schema.name.removeprefix("aten::"))
    return FUNCTIONS.get(target)


#: Statements that write their first operand.
_IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.iand, operator.ior,
             operator.ixor, operator.setitem)


def is_in_place(target: Any, kind: str, kwargs: Dict[str, Any]) -> bool:
    """Whether an operator writes its first operand."""
    if getattr(target, "__module__", "") == "_operator":
        return target in _IN_PLACE
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    if isinstance(target, torch._ops.OpOverload):
        name = target._schema.name
    is_statement = name.startswith("__i") and name.endswith("__") and name[3:-2] in ("add", "sub", "mul", "truediv", "and", "or", "xor")
    return is_statement or name.endswith("_") and not name.endswith("__") or bool(kwargs.get("inplace"))

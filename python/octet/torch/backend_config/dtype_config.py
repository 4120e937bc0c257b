# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data types of a pattern. PyTorch: `DTypeConfig`, `DTypeWithConstraints`; Octet: `octet.dtypes`."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Union

import torch

from ...errors import InputError

_TYPES = ("input_dtype", "output_dtype", "weight_dtype")


@dataclass
class DTypeWithConstraints:
    """A data type, and which ranges, smallest scales or known scales it may have. PyTorch: `DTypeWithConstraints`."""

    dtype: Optional[torch.dtype] = None
    quant_min_lower_bound: Optional[Union[int, float]] = None
    quant_max_upper_bound: Optional[Union[int, float]] = None
    scale_min_lower_bound: Optional[Union[int, float]] = None
    scale_max_upper_bound: Optional[Union[int, float]] = None
    scale_exact_match: Optional[float] = None
    zero_point_exact_match: Optional[int] = None


def _constrain(name: str, dtype: Any) -> DTypeWithConstraints:
    if dtype is None or isinstance(dtype, torch.dtype):
        return DTypeWithConstraints(dtype)
    if not hasattr(dtype, "quant_min_lower_bound"):
        raise InputError(f"DTypeConfig: {name}: expected a torch.dtype or DTypeWithConstraints, but got {dtype!r}")
    return dtype


@dataclass(init=False)
class DTypeConfig:
    """Data types that go together. PyTorch: `DTypeConfig`."""

    input_dtype_with_constraints: DTypeWithConstraints
    output_dtype_with_constraints: DTypeWithConstraints
    weight_dtype_with_constraints: DTypeWithConstraints
    bias_dtype: Optional[torch.dtype]
    is_dynamic: Optional[bool]

    def __init__(self, input_dtype: Any = None, output_dtype: Any = None, weight_dtype: Any = None,
                 bias_dtype: Optional[torch.dtype] = None, is_dynamic: Optional[bool] = None) -> None:
        self.input_dtype_with_constraints = _constrain("input_dtype", input_dtype)
        self.output_dtype_with_constraints = _constrain("output_dtype", output_dtype)
        self.weight_dtype_with_constraints = _constrain("weight_dtype", weight_dtype)
        self.bias_dtype, self.is_dynamic = bias_dtype, is_dynamic

    @property
    def input_dtype(self) -> Optional[torch.dtype]:
        return self.input_dtype_with_constraints.dtype

    @property
    def output_dtype(self) -> Optional[torch.dtype]:
        return self.output_dtype_with_constraints.dtype

    @property
    def weight_dtype(self) -> Optional[torch.dtype]:
        return self.weight_dtype_with_constraints.dtype

    @classmethod
    def from_dict(cls, dtype_config_dict: Dict[str, Any]) -> "DTypeConfig":
        """From a dictionary with the names of the arguments, all optional."""
        unknown = set(dtype_config_dict) - {*_TYPES, "bias_dtype", "is_dynamic"}
        if unknown:
            raise InputError(f"DTypeConfig: {min(unknown)!r} is no key; the keys are {', '.join(_TYPES)}, bias_dtype and is_dynamic")
        return cls(**dtype_config_dict)

    def to_dict(self) -> Dict[str, Any]:
        """The dictionary that `from_dict` reads, without what is not given."""
        members = {name: getattr(self, f"{name}_with_constraints") for name in _TYPES if getattr(self, name) is not None}
        members.update((name, getattr(self, name)) for name in ("bias_dtype", "is_dynamic") if getattr(self, name) is not None)
        return members

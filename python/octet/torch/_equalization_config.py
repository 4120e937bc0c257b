# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers that an `_equalization_config` is for: docs/numeric-suite.md."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Sequence

import torch

from ..errors import InputError
from ._compilation import Policy, list_layers
from ._policy import LEVELS, read_members, write_mapping
from .front import translate
from .front.trace import list_places
from .qconfig import default_qconfig


def _stand_in(value: Any) -> Any:
    """A QConfig where there is an `EqualizationQConfig`, Octet's or PyTorch's: which layers entries are for is known of QConfigs."""
    if value is None:
        return None
    if not hasattr(value, "input_activation") or not hasattr(value, "weight"):
        raise InputError(f"_equalization_config: expected entries with an EqualizationQConfig or None, but got {value!r}")
    return default_qconfig


def add_equalization(policy: Policy, config: Any, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Policy:
    """The policy, which also equalizes the inputs of those layers that the config is for and the policy quantizes."""
    if policy.backend == "cpu":
        raise InputError('_equalization_config: the backend "cpu" equalizes channels where that gains; omit it, or choose another backend')
    members = read_members(config, "QConfigMapping")
    mapping = {"": _stand_in(members.get(""))}
    mapping.update((level, [(*entry[:-1], _stand_in(entry[-1])) for entry in members.get(level, ())]) for level in LEVELS)
    network = translate(graph, example_inputs)
    chosen = list_layers(network, Policy("native", write_mapping(mapping, places=list_places(graph))))
    quantized = list_layers(network, policy)
    # A layer that is called twice has two rows.
    return replace(policy, equalized=tuple(dict.fromkeys(name for name in chosen if name in quantized)))

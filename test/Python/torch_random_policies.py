# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random QConfigMappings and BackendConfigs, by seed, made with the names of PyTorch or with Octet's: `space` is the module that has them."""
import random

import torch
from octet.torch._policy import write_pattern
from torch import nn
from torch.nn import functional as F

ENGINES = ("x86", "fbgemm", "qnnpack", "onednn")


def _make_activation(rng, space):
    kind = rng.randrange(6)
    if kind == 0:
        return space.MovingAverageMinMaxObserver.with_args(dtype=torch.quint8, averaging_constant=0.25)
    if kind == 1:
        return space.MinMaxObserver.with_args(dtype=torch.quint8, qscheme=torch.per_tensor_symmetric)
    if kind == 2:
        return space.MinMaxObserver.with_args(dtype=torch.quint8, reduce_range=True)
    if kind == 3:
        return space.MinMaxObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=127, eps=2 ** -12)
    return space.MinMaxObserver.with_args(dtype=torch.quint8)


def _make_weight(rng, space):
    if rng.random() < 0.3:
        return space.MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127)
    return rng.choice((space.default_weight_observer, space.default_per_channel_weight_observer))


def make_qconfig(rng, space):
    """Static, dynamic or none."""
    kind = rng.random()
    if kind < 0.2:
        return None
    if kind < 0.35:
        return rng.choice((space.default_dynamic_qconfig, space.per_channel_dynamic_qconfig))
    return space.QConfig(activation=_make_activation(rng, space), weight=_make_weight(rng, space))


def _add_levels(rng, space, mapping, traced):
    """Entries of the four levels above the global one, for what the module has."""
    calls = [node for node in traced.graph.nodes if node.op.startswith("call")]
    names = [str(node.target) for node in calls if node.op == "call_module"]
    for _ in range(rng.randint(1, 4)):
        qconfig, node = make_qconfig(rng, space), rng.choice(calls)
        level = rng.randrange(4)
        if level == 0:
            kind = type(traced.get_submodule(node.target)) if node.op == "call_module" else node.target
            # Entries of a part of what is fused are mostly deviations.
            if kind not in (getattr, nn.ReLU, nn.BatchNorm1d, nn.BatchNorm2d) and (kind not in (F.relu, torch.relu, "relu", "relu_") or rng.random() < 0.1):
                mapping.set_object_type(kind, qconfig)
        elif level == 1 and names:
            name = rng.choice(names)
            mapping.set_module_name(name.split(".")[0] if rng.random() < 0.3 else name, qconfig)
        elif level == 2:
            mapping.set_module_name_regex(rng.choice((r"block\d+", "layer[0-3]", ".*linear.*", r"conv\d", r"block.*\.conv")), qconfig)
        elif names:
            name = rng.choice(names)
            kind = type(traced.get_submodule(name))
            if kind in (nn.Conv2d, nn.Linear):
                mapping.set_module_name_object_type_order(name.rpartition(".")[0], kind, rng.randrange(2), qconfig)
    return mapping


def _set_known(space, mapping, engine, activation):
    """Entries of the default mapping that operators of known range and layer norms need."""
    for kind, qconfig in space.get_default_qconfig_mapping(engine).object_type_qconfigs.items():
        if kind in (nn.LayerNorm, F.layer_norm):
            mapping.set_object_type(kind, space.QConfig(activation=activation, weight=qconfig.weight))
        elif kind != "reshape" and hasattr(qconfig.activation(), "scale") and type(qconfig.activation()).__name__ == "FixedQParamsObserver":
            mapping.set_object_type(kind, qconfig)
    return mapping


def make_mapping(seed, space, traced):
    """A mapping, and whether it has histograms. Embeddings, of which only weights are quantized, have entries of their own."""
    rng = random.Random(seed)
    mapping, is_histogram = _make_mapping(rng, space, traced)
    kinds = {type(module) for module in traced.modules()}
    for kind, choices in ((nn.Embedding, ("float_qparams_weight_only_qconfig", "float_qparams_weight_only_qconfig_4bit")),
                          (nn.EmbeddingBag, ("float_qparams_weight_only_qconfig",))):
        if kind in kinds and rng.random() < 0.7:
            mapping.set_object_type(kind, getattr(space, rng.choice(choices)))
    return mapping, is_histogram


def _make_mapping(rng, space, traced):
    kind, engine = rng.random(), rng.choice(ENGINES)
    if kind < 0.2:
        return space.get_default_qconfig_mapping(engine), True
    if kind < 0.35:
        qconfig = rng.choice((space.default_dynamic_qconfig, space.per_channel_dynamic_qconfig, space.float16_dynamic_qconfig))
        return space.QConfigMapping().set_global(qconfig), False
    activation = _make_activation(rng, space)
    mapping = space.QConfigMapping().set_global(space.QConfig(activation=activation, weight=_make_weight(rng, space)))
    _set_known(space, mapping, engine, activation)
    return (mapping if kind < 0.5 else _add_levels(rng, space, mapping, traced)), False


def make_backend(seed, space):
    """None for the default, an engine's own, or the default without some of its patterns."""
    rng = random.Random(~seed)
    kind = rng.random()
    if kind < 0.5:
        return None
    if kind < 0.75:
        return getattr(space, f"get_{rng.choice(ENGINES)}_backend_config")()
    full = space.get_native_backend_config()
    backend = space.BackendConfig("random")
    for config in full.configs:
        # By the pattern's name: the two lists are in different orders. What is fused stays, with the classes that fusion makes.
        name = write_pattern(config.pattern)
        is_plain = not isinstance(name, list) and not name.startswith("torch.ao.")
        own = random.Random(f"{seed} {name}")
        if is_plain and own.random() > 0.85:
            continue
        backend.set_backend_pattern_config(_change(own, space, config) if is_plain and kind > 0.87 else config)
    return backend


#: Constraints that some observers keep and others break.
NARROWER = {"quant_min_lower_bound": 0, "quant_max_upper_bound": 127}
FINER = {"scale_min_lower_bound": 2 ** -12}


def _change(rng, space, config):
    """The config with constraints on its data types, or another observation type if it only passes on values."""
    members = config.to_dict()
    different, shared = space.ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT, space.ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
    has_weights = any(dtypes.weight_dtype for dtypes in config.dtype_configs)
    if not has_weights and config.observation_type == shared and rng.random() < 0.25:
        members["observation_type"] = different
    # The inputs of operators whose results have a known range have that range's scale in PyTorch's backends, and none in Octet's.
    is_known = any(dtypes.output_dtype_with_constraints.scale_exact_match for dtypes in config.dtype_configs)
    if rng.random() < 0.1 and not is_known:
        bounds = rng.choice((NARROWER, FINER))
        members["dtype_configs"] = [_constrain(space, dtypes, bounds).to_dict() for dtypes in config.dtype_configs]
    return type(config).from_dict(members)


def _constrain(space, dtypes, bounds):
    def narrow(old):
        return space.DTypeWithConstraints(dtype=torch.quint8, **bounds) if old.dtype == torch.quint8 and old.scale_exact_match is None else old
    return space.DTypeConfig(input_dtype=narrow(dtypes.input_dtype_with_constraints), output_dtype=narrow(dtypes.output_dtype_with_constraints),
                             weight_dtype=dtypes.weight_dtype_with_constraints, bias_dtype=dtypes.bias_dtype, is_dynamic=dtypes.is_dynamic)

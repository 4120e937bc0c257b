# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which deviation of docs/deviations.md a module holds, read from what PyTorch makes of it."""
import operator
import re
from collections import Counter

import torch
from torch import nn
from torch.ao.nn.intrinsic import BNReLU2d
from torch.ao.nn.intrinsic.modules.fused import _FusedModule
from torch.ao.nn.intrinsic.qat import LinearBn1d
from torch.ao.quantization.fake_quantize import FixedQParamsFakeQuantize
from torch.ao.quantization.observer import FixedQParamsObserver
from torch.ao.quantization.qconfig import qconfig_equals
from torch.nn import functional as F

#: What PyTorch's fusion takes together: the first module, and what comes behind it.
FUSED = {nn.Conv2d, nn.ConvTranspose2d, nn.Linear, nn.BatchNorm2d}
FUSED_BEHIND = {nn.BatchNorm2d, nn.BatchNorm1d, nn.ReLU, F.relu}
KNOWN = (FixedQParamsObserver, FixedQParamsFakeQuantize)
RELUS = (F.relu, torch.relu, nn.ReLU)
#: The scales of operators whose results have a known range, by their names.
KNOWN_SCALES = {name: 1 / 256 for name in ("sigmoid", "hardsigmoid", "sigmoid_", "hardsigmoid_", "Sigmoid", "Hardsigmoid", "Softmax")}
KNOWN_SCALES |= {name: 2 / 256 for name in ("tanh", "tanh_", "Tanh")}


def get_kind(module, node):
    """The class of the module that a node calls, or its function or method."""
    return type(module.get_submodule(str(node.target))) if node.op == "call_module" else node.target


def get_operands(node):
    return [operand for operand in node.all_input_nodes if operand.op != "get_attr"]


def get_shared(backend):
    """The classes and functions whose results have the observer of their inputs."""
    return {config.pattern for config in backend.configs if config.observation_type.name == "OUTPUT_SHARE_OBSERVER_WITH_INPUT"}


def is_confused(traced):
    """Whether a module is called several times and one of its calls is fused: PyTorch then fuses it for the others as well."""
    calls = Counter(str(node.target) for node in traced.graph.nodes if node.op == "call_module")
    for node in traced.graph.nodes:
        if node.op == "call_module" and calls[str(node.target)] > 1 and len(node.users) == 1:
            if get_kind(traced, node) in FUSED and get_kind(traced, next(iter(node.users))) in FUSED_BEHIND:
                return True
    return False


def is_observer(module, node):
    return node.op == "call_module" and "activation_post_process" in str(node.target)


def list_cut(prepared, backend):
    """Names of values to which PyTorch gives the known range of another: inputs of a sigmoid, what a sigmoid is joined with, all that share the observer."""
    qconfigs, patterns = prepared.meta["_observed_graph_module_attrs"].node_name_to_qconfig, [config.pattern for config in backend.configs]
    names, cut = {}, set()
    for node in prepared.graph.nodes:
        observer = prepared.get_submodule(str(node.target)) if is_observer(prepared, node) else None
        if not isinstance(observer, KNOWN):
            continue
        source = node.args[0]
        # A part of a tuple goes by the name of the operator that gives it.
        names.setdefault(id(observer), set()).update([source.name, *(operand.name for operand in get_operands(source) if get_kind(prepared, source) is operator.getitem)])
        while not _knows(prepared, source, float(observer.scale), qconfigs, patterns):
            kind, operands = get_kind(prepared, source), get_operands(source)
            if len(operands) != 1 or not (kind in get_shared(backend) or is_observer(prepared, source)):
                cut.add(id(observer))
                break
            source = operands[0]
    return set().union(*(names[observer] for observer in cut))


def _knows(prepared, node, scale, qconfigs, patterns):
    """Whether a unit has results of this known scale."""
    kind, qconfig = get_kind(prepared, node), qconfigs.get(node.name)
    has_scale = KNOWN_SCALES.get(getattr(kind, "__name__", str(kind))) == scale
    return has_scale and kind in patterns and qconfig and isinstance(qconfig.activation(), KNOWN)


def lacks_moves(traced, backend):
    """Whether a backend has no pattern for what a transposed convolution with a stride is computed by here: a shuffle and a slice."""
    patterns = {config.pattern for config in backend.configs}
    has_moves = torch.narrow in patterns and patterns & {nn.PixelShuffle, nn.PixelUnshuffle, F.pixel_shuffle, F.pixel_unshuffle}
    return not has_moves and any(isinstance(module, nn.ConvTranspose2d) and module.stride != (1, 1) for module in traced.modules())


def is_torn(prepared, shared):
    """Whether an operator that shares its input's observer has another in the end.

    PyTorch gives the operands of a concatenation the observer of the first one; operators in front that share theirs keep what they had.
    """
    for node in prepared.graph.nodes:
        kind, operands, readers = get_kind(prepared, node), get_operands(node), list(node.users)
        one = sum(isinstance(argument, torch.fx.Node) for argument in node.args) == 1 and kind in (operator.add, operator.mul, torch.add, torch.mul)
        if one and len(readers) == 1 and get_kind(prepared, readers[0]) in RELUS:
            readers = list(readers[0].users)
        observers = {id(prepared.get_submodule(str(near.target))) for near in (*operands, *readers) if is_observer(prepared, near)}
        if (kind in shared or one) and len(observers) > 1:
            return True
    return False


def has_split_group(prepared):
    """Whether an activation behind the operator that it is one pattern with has a QConfig of its own: the result's, for PyTorch."""
    qconfigs = prepared.meta["_observed_graph_module_attrs"].node_name_to_qconfig
    for node in prepared.graph.nodes:
        if get_kind(prepared, node) in RELUS and not is_observer(prepared, node.args[0]) and node.args[0].name in qconfigs:
            if not qconfig_equals(qconfigs[node.name], qconfigs[node.args[0].name]):
                return True
    return False


def _find_by_name(mapping, name):
    """The entry for a module by its name or that of a module around it, else by an expression, or the mapping itself."""
    parts = name.split(".")
    around = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    for module in around:
        if module in mapping.module_name_qconfigs:
            return mapping.module_name_qconfigs[module]
    return next((qconfig for pattern, qconfig in mapping.module_name_regex_qconfigs.items() if re.match(pattern, name)), mapping)


def ignores_entry(traced, prepared, mapping):
    """Whether the mapping says none for a fused module's part, by name or class, or something for a function in it: PyTorch looks elsewhere."""
    entries, called = mapping.object_type_qconfigs, {str(node.target) for node in prepared.graph.nodes}
    for node in traced.graph.nodes:
        if node.op == "call_module" and str(node.target) not in called and _find_by_name(mapping, str(node.target)) is None:
            return True
    for node in prepared.graph.nodes:
        module = prepared.get_submodule(str(node.target)) if node.op == "call_module" else None
        if isinstance(module, _FusedModule):
            if any(type(part) in entries and entries[type(part)] is None for part in module.children()) or F.relu in entries:
                return True
    return False


def reuses_floats(reference):
    """Whether a reshape that reuses the observer of its input reads a value that has none: PyTorch takes the result for quantized."""
    return any(node.op == "call_method" and node.target == "reshape" and node.args[0].target != "dequantize" for node in reference.graph.nodes)


def has_second_norm(reference):
    """Whether a batch norm stands behind a convolution or linear layer that has taken one in: the pattern takes it, too, the fusion does not.

    The fusion leaves none behind a layer that nothing else reads.
    """
    norms, layers = (nn.BatchNorm1d, nn.BatchNorm2d, BNReLU2d), (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
    for node in reference.graph.nodes:
        source = get_operands(node)[0] if get_kind(reference, node) in norms else None
        while source is not None and "quantize" in str(source.target):  # as layers that are trained have it in between
            source = get_operands(source)[0]
        if source is not None and source.op == "call_module" and len(source.users) == 1 and isinstance(reference.get_submodule(str(source.target)), layers):
            return True
    return False


def splits_trained_norm(prepared):
    """Whether a relu stands behind a linear layer that is trained with a batch norm: it is no part of the unit."""
    return any(get_kind(prepared, node) in RELUS and get_kind(prepared, source) is LinearBn1d for node in prepared.graph.nodes
               for observer in get_operands(node) for source in (observer, *get_operands(observer)))


def keeps_norm(reference):
    """Whether a batch norm behind a transposed convolution forms a unit with its relu."""
    for node in reference.graph.nodes:
        if get_kind(reference, node) is BNReLU2d:
            source = node.args[0]
            while source.op not in ("call_module", "placeholder"):
                source = get_operands(source)[0]
            module = reference.get_submodule(str(source.target)) if source.op == "call_module" else None
            if isinstance(module, nn.ConvTranspose2d):
                return True
    return False


def is_dynamic_unit(node):
    """Whether a unit is quantized in each run."""
    return any(operand.target == "dequantize" and "dynamic" in str(operand.args[0].target) for operand in node.all_input_nodes)


def is_dynamic(reference):
    """Whether a unit of the model is."""
    return any(is_dynamic_unit(node) for node in reference.graph.nodes)


def list_dynamic_layers(prepared):
    """Linear layers whose QConfig is dynamic, and the observer that it asks for."""
    qconfigs = prepared.meta["_observed_graph_module_attrs"].node_name_to_qconfig
    for node in prepared.graph.nodes:
        qconfig = qconfigs.get(node.name) if get_kind(prepared, node) in (nn.Linear, F.linear) else None
        observer = qconfig and qconfig.activation()
        if getattr(observer, "is_dynamic", False):
            yield node, observer


def has_lost_dynamic(prepared):
    """Whether a layer whose QConfig is dynamic has a static observer in front: that of a concatenation behind it."""
    observers = (prepared.get_submodule(str(operand.target)) for node, _ in list_dynamic_layers(prepared)
                 for operand in get_operands(node) if is_observer(prepared, operand))
    return any(not getattr(observer, "is_dynamic", False) for observer in observers)


def exceeds_reduced(prepared, backend):
    """Whether the range of a dynamic observer lies outside of that of the backend, though the kernels of x86 and fbgemm quantize to half of it."""
    most = {config.pattern: min((kind.input_dtype_with_constraints.quant_max_upper_bound or 255 for kind in config.dtype_configs if kind.is_dynamic), default=255)
            for config in backend.configs}
    return any(observer.quant_max > most.get(get_kind(prepared, node), 255) for node, observer in list_dynamic_layers(prepared) if observer.dtype == torch.quint8)


def reads_dynamic(reference, mapping):
    """Whether more than an output reads the float result of a dynamic unit where others are static: PyTorch takes it for quantized."""
    def is_further(user):
        return user.op != "output" and "dynamic" not in str(user.target)

    qconfigs = [mapping.global_qconfig, *mapping.object_type_qconfigs.values(), *mapping.module_name_qconfigs.values()]
    has_static = any(qconfig and not getattr(qconfig.activation(), "is_dynamic", False) for qconfig in qconfigs)
    return has_static and any(is_dynamic_unit(node) and any(map(is_further, node.users)) for node in reference.graph.nodes)


def find_in_prepared(traced, prepared, backend, mapping):
    """The name of a deviation, or None."""
    rows = {"torn": lambda: is_torn(prepared, get_shared(backend)), "split": lambda: has_split_group(prepared),
            "lost dynamic": lambda: has_lost_dynamic(prepared),
            "exceeds reduced": lambda: exceeds_reduced(prepared, backend),
            "moves without patterns": lambda: lacks_moves(traced, backend),
            "trained norm and relu": lambda: splits_trained_norm(prepared), "ignored entry": lambda: ignores_entry(traced, prepared, mapping)}
    return next((name for name, holds in rows.items() if holds()), None)


def find_in_reference(reference, mapping):
    rows = {"reused floats": lambda: reuses_floats(reference),
            "norm with relu": lambda: keeps_norm(reference), "second norm": lambda: has_second_norm(reference),
            "behind dynamic": lambda: reads_dynamic(reference, mapping)}
    return next((name for name, holds in rows.items() if holds()), None)

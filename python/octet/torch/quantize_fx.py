# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`prepare_fx`, `convert_fx` and their like. PyTorch: `torch.ao.quantization.quantize_fx`."""
from __future__ import annotations

import copy
import warnings
from typing import Any, Optional, Tuple

import torch

from ..errors import CompileError, InputError
from ._bucket_module import BucketModule, check_pad, make_buckets
from ._compilation import Policy
from ._equalization_config import add_equalization
from ._fused import FusedModule
from ._modules import CompiledModule, PreparedModule, Source
from ._policy import write_backend, write_mapping
from ._preserved import get_members, preserve_attributes
from ._settled import check_settled
from ._standalone import add_standalone, list_standalone
from ._training import TrainingModule
from .backend_config import get_native_backend_config
from .front.export import make_graph
from .front.trace import Tracer, describe_line, list_places, trace

__all__ = ["convert_fx", "convert_to_reference_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"]


def _trace(model: Any, custom: Any) -> torch.fx.GraphModule:
    if isinstance(model, torch.export.ExportedProgram):
        return make_graph(model)
    if isinstance(model, FusedModule):
        return model.float_module
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model: expected a torch.nn.Module or a torch.export.ExportedProgram, but got {type(model).__name__}")
    members = get_members(custom)
    names, classes = list_standalone(custom)
    tracer = Tracer([*members.get("non_traceable_module_name", ()), *names], [*members.get("non_traceable_module_class", ()), *classes])
    try:
        return trace(model, tracer)
    except Exception as error:  # of FX, and of the user's program, which did not get tensors
        raise InputError(f"{type(model).__name__} cannot be traced{describe_line(error)}: {error}; give the module that has the line to "
                         "PrepareCustomConfig.set_non_traceable_module_classes, or use torch.export") from error


def _name_backend(backend_config: Any) -> str:
    """The name of a built-in backend, or a backend's text."""
    if backend_config is None and torch.backends.quantized.engine == "qnnpack":
        backend_config = get_native_backend_config()  # with that engine's biases
    return "native" if backend_config is None else backend_config if isinstance(backend_config, str) else write_backend(backend_config)


def make_policy(qconfig_mapping: Any, backend_config: Any, prepare_custom_config: Any = None,
                graph: Optional[torch.fx.GraphModule] = None) -> Policy:
    backend = _name_backend(backend_config)
    places = list_places(graph) if graph is not None else ()
    mapping = qconfig_mapping if isinstance(qconfig_mapping, str) else write_mapping(qconfig_mapping, prepare_custom_config, places=places)
    return Policy(backend, mapping)


def _evaluate(model: Any) -> Any:
    """PyTorch takes models in training mode, and so programs do not always call eval()."""
    if not isinstance(model, torch.nn.Module) or not model.training:
        return model
    warnings.warn("model: is in training mode, and a copy in evaluation mode is taken; call eval() first", stacklevel=3)
    return copy.deepcopy(model).eval()


def fuse_fx(model: Any, fuse_custom_config: Any = None, backend_config: Any = None) -> FusedModule:
    """The float module with its batch norms in the weights and the patterns of the backend as groups, in compiled code. `code` and `print`
    show the network once it was called. `prepare_fx` fuses by itself. Arguments and errors as of `prepare_fx`."""
    graph = _trace(_evaluate(model), None)
    fused = FusedModule(graph, Policy(_name_backend(backend_config)))
    preserve_attributes(model, fused, fuse_custom_config)
    return fused


def prepare_fx(model: Any, qconfig_mapping: Any, example_inputs: Tuple[Any, ...], prepare_custom_config: Any = None,
               _equalization_config: Any = None, backend_config: Any = None) -> PreparedModule:
    """A module to be calibrated: call it with representative inputs, then give it to `convert_fx`.

    Args:
      model: a module, which should be in evaluation mode, or a program of `torch.export`.
      qconfig_mapping: a `QConfigMapping`, Octet's or PyTorch's, or the name of a built-in one ("x86_default_mapping").
      example_inputs: inputs of the shapes that the module will mostly be called with.
      prepare_custom_config: a `PrepareCustomConfig`.
      _equalization_config: a mapping whose entries are `EqualizationQConfig`s of `octet.torch.fx._equalize`: which layers have inputs whose channels
        get equal ranges. They are calibrated with inputs of one shape.
      backend_config: a `BackendConfig`, or the name of a built-in backend ("x86", "cpu"); by default "native".

    Raises: InputError for modules that cannot be traced, CompileError with all operators that are not supported, and their lines.
    """
    model = _evaluate(model)
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    graph = _trace(model, prepare_custom_config)
    add_standalone(graph, prepare_custom_config, _name_backend(backend_config), _trace, _name_backend)
    policy = make_policy(qconfig_mapping, backend_config, prepare_custom_config, graph)
    if _equalization_config is not None:
        policy = add_equalization(policy, _equalization_config, graph, example_inputs)
    prepared = PreparedModule(graph, policy, example_inputs)
    preserve_attributes(model, prepared, prepare_custom_config)
    return prepared


def prepare_qat_fx(model: torch.nn.Module, qconfig_mapping: Any, example_inputs: Tuple[Any, ...], prepare_custom_config: Any = None,
                   backend_config: Any = None) -> TrainingModule:
    """A module to be trained: it rounds weights and values as the converted one will, and learns their ranges. Its parameters are those of
    `model`, which is in training mode. Arguments and errors as of `prepare_fx`."""
    if isinstance(model, torch.export.ExportedProgram):
        raise InputError("model: exported programs hold no layers to be trained; give the module")
    if isinstance(model, torch.nn.Module) and not model.training:
        raise InputError("model: is in evaluation mode; call train() first, or use prepare_fx")
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    if any(list_standalone(prepare_custom_config)):
        raise InputError("PrepareCustomConfig: standalone modules are not trained by themselves; give their names entries in the QConfigMapping")
    graph = _trace(model, prepare_custom_config)
    training = TrainingModule(graph, make_policy(qconfig_mapping, backend_config, prepare_custom_config, graph), example_inputs)
    preserve_attributes(model, training, prepare_custom_config)
    return training


def _check_arguments(prepared: Any, custom: Any, qconfig_mapping: Any, backend_config: Any) -> None:
    members = get_members(custom)
    if members.get("observed_to_quantized_custom_module_class"):
        raise InputError("ConvertCustomConfig: observed_to_quantized_custom_module_class has no counterpart; write a pattern on the operators of "
                         "the module in a backend file (docs/write-a-backend.md)")
    if qconfig_mapping is not None or backend_config is not None:
        settled, graph = (prepared._policy, prepared.module) if isinstance(prepared, TrainingModule) else (prepared._source.policy, prepared.float_module)
        given = make_policy({} if qconfig_mapping is None else qconfig_mapping, backend_config, None, graph)
        check_settled(settled, given, qconfig_mapping is not None, backend_config is not None)


def _convert(prepared: Any, is_compiled: bool, custom: Any, *policy: Any, buckets: Any = None, pad: Any = None) -> CompiledModule:
    if isinstance(prepared, (PreparedModule, TrainingModule)):
        _check_arguments(prepared, custom, *policy)
    check_pad(buckets, pad)
    converted = _compile(prepared, is_compiled, buckets, pad)
    preserve_attributes(prepared, converted, custom)
    return converted


def _compile(prepared: Any, is_compiled: bool, buckets: Any, pad: Any) -> CompiledModule:
    if isinstance(prepared, TrainingModule):
        return CompiledModule(prepared.make_source(), prepared.example_inputs, is_compiled)
    if not isinstance(prepared, PreparedModule):
        raise InputError(f"expected a module that prepare_fx returned, but got {type(prepared).__name__}")
    source: Source = prepared._source.copy()
    inputs = [torch.empty(shape, dtype=dtype) for shape, dtype in next(iter(source.samples), ())] or prepared.example_inputs
    try:
        if buckets is not None:
            return BucketModule(source, make_buckets(source, buckets, prepared.example_inputs), pad)
        return CompiledModule(source, inputs, is_compiled)
    except CompileError as error:
        if source.samples or "--calibration-data" not in str(error):
            raise
        raise InputError("the prepared module was never called: call it with representative inputs before it is converted") from None


def convert_fx(graph_module: PreparedModule, convert_custom_config: Any = None, _remove_qconfig: bool = True, qconfig_mapping: Any = None,
               backend_config: Any = None, *, buckets: Any = None, pad: Any = None) -> CompiledModule:
    """The calibrated module as compiled code. `code` and `print` show its reference model, `report` what became of each operator.

    `qconfig_mapping` and `backend_config` say nothing new: other ones than those of `prepare_fx` are refused. `buckets` and `pad`, for exported
    programs with open sizes, are those of `compile_program`: one library for several shapes.
    """
    return _convert(graph_module, True, convert_custom_config, qconfig_mapping, backend_config, buckets=buckets, pad=pad)


def convert_to_reference_fx(graph_module: PreparedModule, convert_custom_config: Any = None, _remove_qconfig: bool = True,
                            qconfig_mapping: Any = None, backend_config: Any = None) -> CompiledModule:
    """As `convert_fx`, whose code gives the numbers of its reference model (Octet has one law for both), compiled at the first call."""
    return _convert(graph_module, False, convert_custom_config, qconfig_mapping, backend_config)

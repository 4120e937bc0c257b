# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that calibrate, and modules that run compiled code."""
from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch
from torch.utils import _pytree as pytree

from ..errors import CompileWarning, InputError
from ..layers import LayerErrors
from ..model import Model, write_file
from ..report import Report
from . import _compilation
from ._compilation import Converted, Policy, Sample
from .front import Network, Output, hold, translate

#: The shapes and types of tensors.
Key = Tuple[Tuple[Tuple[int, ...], torch.dtype], ...]


def get_key(tensors: Sequence[torch.Tensor]) -> Key:
    return tuple([(x.shape, x.dtype) for x in tensors])


def _check_tensors(tensors: Sequence[Any]) -> None:
    for i, x in enumerate(tensors):
        if not isinstance(x, torch.Tensor):
            raise InputError(f"input {i}: expected a tensor, but got {type(x).__name__}")
        if x.device.type != "cpu":
            raise InputError(f"input {i}: is on {x.device}; compiled code runs on the CPU: move it there with .cpu()")


class Source:
    """A traced module, its policy and what it was calibrated with; networks for the shapes of inputs that come."""

    def __init__(self, graph: torch.fx.GraphModule, policy: Policy) -> None:
        self.graph, self.policy = graph, policy
        #: The arguments of the module.
        self.names = [str(node.target) for node in graph.graph.nodes if node.op == "placeholder"]
        self.samples: Dict[Key, List[Sample]] = {}
        self.statistics: Optional[List[str]] = None
        self.loaded: List[str] = []
        self._networks: Dict[Key, Network] = {}

    def copy(self) -> "Source":
        """With the samples that there are, for a module that later ones do not change."""
        other = Source(self.graph, self.policy)
        other.__dict__.update({**self.__dict__, "samples": {key: list(samples) for key, samples in self.samples.items()},
                               "_networks": dict(self._networks)})
        return other

    def get_network(self, inputs: Sequence[Any]) -> Network:
        key = get_key(inputs)
        if key not in self._networks:
            self._networks[key] = translate(self.graph, inputs)
        return self._networks[key]

    def record(self, inputs: Sequence[Any]) -> None:
        names = self.get_network(inputs).inputs
        sample = {name: hold(x).numpy().copy() for name, x in zip(names, inputs)}
        self.samples.setdefault(get_key(inputs), []).append(sample)

    def measure(self, but: Optional[Key] = None) -> List[str]:
        """The statistics that were loaded, and those of the samples of each shape."""
        return [*self.loaded, *(_compilation.convert(self._networks[key], self.policy, samples, [], is_compiled=False).statistics
                                for key, samples in self.samples.items() if key != but)]

    def compare_layers(self) -> LayerErrors:
        """The error of every quantized operator, on the samples of the shape that most of them have."""
        key = max(self.samples, key=lambda key: len(self.samples[key]))
        return _compilation.compare_layers(self._networks[key], self.policy, self.samples[key], self.measure(but=key))

    def choose_samples(self, buckets: Sequence[Sequence[Any]]) -> Tuple[int, List[Sample], List[str]]:
        """The number of the bucket that most samples have the shapes of, these, and the statistics of all others."""
        keys = [get_key(inputs) for inputs in buckets]
        number = max(range(len(keys)), key=lambda i: len(self.samples.get(keys[i], ())))
        return number, self.samples.get(keys[number], []), self.measure(but=keys[number]) if self.samples else self.statistics or self.loaded

    def convert(self, inputs: Sequence[Any], threads: int = 1, is_compiled: bool = True) -> Tuple[Converted, Network]:
        """Compiled code for inputs of these shapes. All shapes share the statistics of all samples."""
        network, key = self.get_network(inputs), get_key(inputs)
        if self.policy.equalized and (self.samples or self.loaded):
            # The factors come from the samples, and statistics are of values that were multiplied by them.
            if set(self.samples) != {key} or self.loaded:
                raise InputError(f"inputs of shapes {_compilation.describe(inputs)}: a module whose inputs are equalized is calibrated by calls with "
                                 "these shapes alone; prepare it for them, or omit _equalization_config")
            return _compilation.convert(network, self.policy, self.samples[key], [], threads, is_compiled), network
        if self.statistics is None and set(self.samples) == {key} and not self.loaded:
            converted = _compilation.convert(network, self.policy, self.samples[key], [], threads, is_compiled)
            self.statistics = [converted.statistics]
            return converted, network
        if self.statistics is None:
            self.statistics = self.measure()
        return _compilation.convert(network, self.policy, [], self.statistics, threads, is_compiled), network


def _order(names: Sequence[str], inputs: Sequence[Any], named: Dict[str, Any]) -> Tuple[Any, ...]:
    """Inputs that are given by position and by name, in the order of the module's."""
    rest = names[len(inputs):]
    for name in named:
        if name not in rest:
            raise InputError(f"input {name!r}: {'is given twice' if name in names else 'there is none'}; the inputs are {', '.join(names)}")
    wanted = rest[:max(rest.index(name) for name in named) + 1]
    if missing := [name for name in wanted if name not in named]:
        raise InputError(f"input {missing[0]!r}: is missing; give it in front of those behind it")
    return (*inputs, *(named[name] for name in wanted))


class PreparedModule(torch.nn.Module):
    """What `prepare_fx` returns: computes as the float module does, and keeps what it is called with for calibration."""

    def __init__(self, graph: torch.fx.GraphModule, policy: Policy, example_inputs: Sequence[Any]) -> None:
        super().__init__()
        self.float_module, self.example_inputs = graph, tuple(example_inputs)
        self._source = Source(graph, policy)
        #: The network with its observers, as text.
        self.code, _ = _compilation.prepare(self._source.get_network(self.example_inputs), policy)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        inputs = _order(self._source.names, inputs, named) if named else inputs
        _check_tensors(inputs)
        self._source.record(inputs)
        return self.float_module(*inputs)

    def extra_repr(self) -> str:
        return f"calibrated with {sum(map(len, self._source.samples.values()))} inputs"


class _Run:
    """A compiled network for inputs of one shape."""

    def __init__(self, model: Model, result: Any) -> None:
        self.model, self.result = model, result
        self._run = model._network.run_at
        self._outputs = [(tuple(output.shape), getattr(torch, output.dtype.name)) for output in model.outputs]

    def __call__(self, inputs: Sequence[torch.Tensor]) -> Any:
        """The inputs have the shapes and types that were compiled, and are contiguous."""
        outputs = [torch.empty(shape, dtype=dtype) for shape, dtype in self._outputs]
        self._run([x.data_ptr() for x in inputs], [y.data_ptr() for y in outputs])
        if type(self.result) is Output:
            return outputs[0]
        return pytree.tree_map(lambda leaf: outputs[leaf] if isinstance(leaf, Output) else leaf, self.result)

    def __reduce__(self) -> Any:
        return _Run, (self.model, self.result)


class _WideRun(_Run):
    """The same for tensors of types that programs hold as f32: taken and returned in their own."""

    def __init__(self, model: Model, result: Any, types: Sequence[torch.dtype]) -> None:
        super().__init__(model, result)
        self.types = types

    def __call__(self, inputs: Sequence[torch.Tensor]) -> Any:
        result = super().__call__([hold(x) for x in inputs])
        leaves, spec = pytree.tree_flatten(result)
        types = iter(self.types)
        return pytree.tree_unflatten([leaf.to(next(types)) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec)

    def __reduce__(self) -> Any:
        return _WideRun, (self.model, self.result, self.types)


def make_run(converted: Converted, network: Network) -> Callable[..., Any]:
    return _make_run(converted.model, network.result, network.input_types, network.output_types)


def _make_run(model: Model, result: Any, input_types: Sequence[torch.dtype], output_types: Sequence[torch.dtype]) -> Callable[..., Any]:
    if all(dtype == torch.float32 or not dtype.is_floating_point for dtype in (*input_types, *output_types)):
        return _Run(model, result)
    return _WideRun(model, result, output_types)


def tidy(inputs: Sequence[Any]) -> List[torch.Tensor]:
    """Inputs as compiled code reads them. Raises InputError for those that it cannot take."""
    _check_tensors(inputs)
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        raise InputError("compiled code has no gradients: call it under torch.no_grad(), or detach() its inputs")
    return [x.detach().contiguous() for x in inputs]


class CompiledModule(torch.nn.Module):
    """What `convert_fx` returns: runs compiled code on tensors of the CPU, which it neither copies nor changes.

    It was compiled for the shapes of the inputs that it was calibrated with (a reference model is so when it is called first); for
    others it is compiled when they come, with the same statistics. A module that was pickled only has the shapes that it had then.
    """

    def __init__(self, source: Source, example_inputs: Sequence[Any], is_compiled: bool = True, threads: int = 1) -> None:
        super().__init__()
        self._source: Optional[Source] = source
        self._key, self._threads, self._names = get_key(example_inputs), threads, source.names
        self._converted, network = source.convert(example_inputs, threads, is_compiled)
        dims = getattr(source.graph, "octet_dims", None)
        #: Sizes that the program leaves open, and files do not.
        self._open = dims.describe() if dims else ""
        self._signature = (network.result, network.input_types, network.output_types)
        self._runs: Dict[Any, Callable[..., Any]] = {}
        if is_compiled:
            self._runs[self._key] = make_run(self._converted, network)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        inputs = _order(self._names, inputs, named) if named else inputs
        try:
            run = self._runs[get_key(inputs)]
        except (KeyError, AttributeError):
            run = self._add(inputs)
        for x in inputs:
            if x.requires_grad or not x.is_cpu or not x.is_contiguous():
                inputs = tidy(inputs)
                break
        return run(inputs)

    def _add(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        _check_tensors(inputs)
        if get_key(inputs) == self._key:
            run = self._runs[self._key] = _make_run(self.model, *self._signature)
            return run
        if self._source is None:
            shapes = "; ".join(_compilation.describe([torch.empty(shape, device="meta") for shape, _ in key]) for key in self._runs)
            raise InputError(f"inputs of shapes {_compilation.describe(inputs)}: this module was compiled for {shapes}, and loaded without its "
                             "source; call it with these shapes before it is saved")
        run = self._runs[get_key(inputs)] = make_run(*self._source.convert(inputs, self._threads))
        return run

    @property
    def code(self) -> str:
        """The reference model as text: float operators between octet.quantize and octet.dequantize."""
        return self._converted.text

    @property
    def report(self) -> Optional[Report]:
        """Every operator with its verdict, int8 or float, and the reason."""
        return self._converted.report

    @property
    def model(self) -> Model:
        """The compiled network for the shapes of calibration."""
        if self._converted.model is None:
            self._converted.model = _compilation.build(self._converted.bytecode)
        return self._converted.model

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the network: a library (.so), the reference model as ONNX (.onnx) or as MLIR (.mlir, .mlirbc)."""
        suffix = os.path.splitext(os.fspath(path))[1]
        if suffix == ".onnx":
            write_file(path, _compilation.save_onnx(self._converted.bytecode))
        elif suffix == ".mlir":
            write_file(path, self._converted.text.encode())
        elif suffix == ".mlirbc":
            write_file(path, self._converted.bytecode)
        elif suffix == ".so":
            if self._open:
                shapes = _compilation.describe([torch.empty(shape, device="meta") for shape, _ in self._key])
                warnings.warn(f"{os.fspath(path)}: the program's sizes {self._open} are open, but the library is for {shapes} alone: give convert_fx "
                              "buckets", CompileWarning, stacklevel=2)
            self.model.save(path)
        else:
            raise InputError(f"{os.fspath(path)}: expected a name that ends in .so, .onnx, .mlir or .mlirbc")

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_source": None}

    def extra_repr(self) -> str:
        return self._converted.text

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PT2E: a `Quantizer` that annotates programs as a backend and a QConfig mapping say. It needs torchao.

    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), BackendQuantizer("x86"))
    prepared(*inputs)
    compiled = compile_program(convert_pt2e(prepared))

Where observers stand is what `octet-prepare` says of the network; scales and zero points are chosen by its observers.
"""
from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

import torch

try:
    from torchao.quantization.pt2e.observer import ObserverBase
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer, SharedQuantizationSpec
except ImportError as error:
    raise ImportError("octet.torch.pt2e needs torchao, which Octet does not install: pip install torchao") from error

from ..errors import InputError
from . import _compilation
from ._listing import Listing
from ._rounding import FakeQuantizeModule
from .front import make_graph_of_module, translate
from .front.dims import make_zeros
from .quantize_fx import make_policy

__all__ = ["BackendObserver", "BackendQuantizer"]


class BackendObserver(ObserverBase):
    """An observer of a QConfig mapping, for PT2E's prepared modules; `text` describes it."""

    def __init__(self, text: str, dtype: torch.dtype, **_: Any) -> None:
        super().__init__(dtype, False)
        self.observer = FakeQuantizeModule(text)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.observer.observe(x)
        return x

    def calculate_qparams(self) -> Tuple[torch.Tensor, torch.Tensor]:
        if not len(self.observer.scale):
            raise InputError("the prepared module was never called: call it with representative inputs before it is converted")
        return self.observer.scale, self.observer.zero_point.long()

    # As in FX, a range says how the scale is chosen, and integers beyond it are kept.
    quant_min = property(lambda self: torch.iinfo(self.dtype).min)
    quant_max = property(lambda self: torch.iinfo(self.dtype).max)

    @property
    def ch_axis(self) -> int:
        """-1 for one scale."""
        self.calculate_qparams()
        return int(self.observer.range[2])

    @property
    def qscheme(self) -> torch.qscheme:
        return torch.per_channel_affine if self.ch_axis >= 0 else torch.per_tensor_affine


def _get_dtype(text: str) -> Optional[torch.dtype]:
    """The integers that an observer is for; None for those of floats, and for values that are quantized in each run."""
    found = re.search(r"\b([us])i8\b", text)
    return None if found is None or "dynamic" in text else torch.uint8 if found[1] == "u" else torch.int8


class _Annotator:
    """Writes what a prepared network says into the annotations of a graph's nodes."""

    def __init__(self, graph: torch.fx.Graph, listing: Listing) -> None:
        self.nodes = {node.name: node for node in graph.nodes}
        self.output = next(node for node in graph.nodes if node.op == "output")
        self.listing = listing
        self.specs: Dict[str, Any] = {}  # by the symbols of observers
        self.annotations: Dict[torch.fx.Node, QuantizationAnnotation] = {}

    def run(self) -> None:
        for operator in self.listing.operators:
            reader = self.output if operator["op"] == "func.return" else self.find_node(operator)
            if reader is None or operator["op"] == "octet.observe":
                continue
            for operand in operator["operands"]:
                self.annotate(reader, operator, *self.look_behind(operand, operator))
        for node, annotation in self.annotations.items():
            node.meta["quantization_annotation"] = annotation

    def find_node(self, operator: Dict[str, Any]) -> Optional[torch.fx.Node]:
        return self.nodes.get(self.listing.find_node(operator) or "")

    def look_behind(self, value: int, reader: Dict[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
        """What makes a value, in front of moves that are the reader's own, and the observers in between, first to last."""
        symbols: List[str] = []
        while True:
            maker = self.listing.makers[value]
            if maker["op"] == "octet.observe":
                symbols.insert(0, maker["observer"])
            elif maker["op"] != "nn.reshape" or maker["class"] or maker["name"] != reader["name"]:
                return maker, list(dict.fromkeys(symbols))
            value = maker["operands"][0]

    def annotate(self, reader: torch.fx.Node, operator: Dict[str, Any], maker: Dict[str, Any], symbols: List[str]) -> None:
        """One value that an operator reads through observers."""
        producer = self.find_weight(reader, maker["name"]) if maker["op"] == "nn.constant" else self.find_node(maker)
        symbols = [symbol for symbol in symbols if _get_dtype(self.listing.observers[symbol])]
        if producer is None or producer is reader or not symbols:
            return
        if len(symbols) > 1 or reader is self.output:
            self.get(producer).output_qspec = self.use(symbols[0], producer)
        if reader is not self.output and producer not in self.get(reader).input_qspec_map:
            self.get(reader).input_qspec_map[producer] = self.use(symbols[-1], (producer, reader))

    @staticmethod
    def find_weight(reader: torch.fx.Node, name: str) -> Optional[torch.fx.Node]:
        return next((node for node in reader.all_input_nodes if node.op == "get_attr" and node.target == name), None)

    def get(self, node: torch.fx.Node) -> QuantizationAnnotation:
        return self.annotations.setdefault(node, QuantizationAnnotation(input_qspec_map={}, _annotated=True))

    def use(self, symbol: str, place: Any) -> Any:
        """The spec of an observer at its first place, which all others share."""
        if symbol in self.specs:
            return self.specs[symbol]
        self.specs[symbol] = SharedQuantizationSpec(place)
        dtype = _get_dtype(self.listing.observers[symbol])
        return QuantizationSpec(dtype, BackendObserver.with_args(text=self.listing.observers[symbol], dtype=dtype))


class BackendQuantizer(Quantizer):
    """Annotates what a backend quantizes.

    Args:
      backend_config, qconfig_mapping: as of `prepare_fx`; names of built-in ones, or objects. Without a mapping the backend's own.
    """

    def __init__(self, backend_config: Any = "x86", qconfig_mapping: Any = "") -> None:
        self._backend, self._mapping = backend_config, qconfig_mapping

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        graph = make_graph_of_module(model)
        network = translate(graph, make_zeros(graph.graph))
        _, bytecode = _compilation.prepare(network, make_policy(self._mapping, self._backend))
        _Annotator(model.graph, Listing(network, bytecode)).run()
        return model

    def validate(self, model: torch.fx.GraphModule) -> None:
        """The compiler has checked what it said."""

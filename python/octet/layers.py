# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of every quantized operator: of its output, of what it adds, of its weights; of several QConfigs side by side."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Dict, List, NamedTuple, Optional

from ._compiler import Source, _temporary_folder, quantize
from .calibration import CalibrationData
from .errors import InputError
from .model import write_file
from .report import show


class Distance(NamedTuple):
    """How far computed numbers are from wanted ones [N.stat.distance]."""

    sqnr: float  # signal-to-noise ratio in decibels; infinite if all are equal
    normalized_l2: float
    cosine: float


class Layer(NamedTuple):
    """An operator, or a group, that runs quantized."""

    name: str
    operator: str
    output: Distance  # from the float network's values, with the errors of all operators in front of it
    local: Distance  # from a float twin that reads its inputs in front of their quantization
    alone: Distance  # from a float twin that reads the same dequantized inputs
    weights: Optional[Distance]  # as integers; None without weights


def _distance(figures: Mapping[str, Any]) -> Distance:
    return Distance(*(float(figures[field]) for field in Distance._fields))


def _decibels(distance: Optional[Distance]) -> str:
    if distance is None:
        return ""
    return "exact" if distance.sqnr == float("inf") else f"{distance.sqnr:.1f} dB"


def _print_table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


class LayerErrors(Sequence):  # type: ignore[type-arg]
    """The quantized operators of a network in the order in which they run: a sequence of `Layer`s that prints as a table."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._layers = [
            Layer(row["name"], row["operator"], _distance(row["output"]), _distance(row["local"]), _distance(row["alone"]),
                  _distance(row["weights"]) if "weights" in row else None) for row in rows
        ]

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: Any) -> Any:
        return self._layers[index]

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._layers)

    def worst(self, count: int) -> List[Layer]:
        """The layers with the least local signal-to-noise ratio, the worst first."""
        return sorted(self._layers, key=lambda layer: layer.local.sqnr)[:count]

    def __str__(self) -> str:
        lines = [("layer", "operator", "output", "local", "alone", "weights", "cosine")]
        for layer in self._layers:
            lines.append((show(layer.name), show(layer.operator), _decibels(layer.output), _decibels(layer.local),
                          _decibels(layer.alone), _decibels(layer.weights), f"{layer.output.cosine:.5f}"))
        return _print_table(lines)

    def __repr__(self) -> str:
        return f"<octet.LayerErrors of {len(self)} operators>"


def compare_layers(model: Source, *, calibration_data: CalibrationData, **options: Any) -> LayerErrors:
    """Measures the error of every quantized operator on up to 50 of the samples, with the float network and the reference model
    side by side. Arguments, warnings and errors as those of `quantize`."""
    report = quantize(model, calibration_data=calibration_data, compare_layers=True, **options).report
    return LayerErrors(report.data.get("layers", []))


class QConfigErrors:
    """The layers of a network under several QConfigs; prints as a table of each layer's local signal-to-noise ratio.

    `errors` holds the `LayerErrors` by the names of the QConfigs.
    """

    def __init__(self, qconfigs: Mapping[str, Mapping[str, str]], base: Optional[str], errors: Mapping[str, LayerErrors]) -> None:
        self.errors = dict(errors)
        self._qconfigs, self._base = dict(qconfigs), base
        self._by_layer: Dict[str, Dict[str, Layer]] = {}
        for name, layers in self.errors.items():
            for layer in layers:
                self._by_layer.setdefault(layer.name, {})[name] = layer

    @property
    def best(self) -> Dict[str, str]:
        """The name of the QConfig with the highest ratio, by the layer; of equal ones the first."""
        return {layer: max(rows, key=lambda name: rows[name].local.sqnr) for layer, rows in self._by_layer.items()}

    def save_mapping(self, path: "str | os.PathLike[str]") -> None:
        """Writes a QConfig mapping in which every layer has the best of the QConfigs; the first one is for all others. Raises as
        `Model.save`."""
        chosen = [[layer, self._qconfigs[name]] for layer, name in self.best.items() if layer]
        mapping = _make_mapping(self._base, next(iter(self._qconfigs.values())))
        write_file(path, json.dumps({**mapping, "module_name": chosen}, indent=2).encode())

    def __str__(self) -> str:
        lines = [("layer", *self.errors, "best")]
        for layer, rows in self._by_layer.items():
            cells = [_decibels(rows[name].local) if name in rows else "float" for name in self.errors]
            lines.append((show(layer), *cells, self.best[layer]))
        return _print_table(lines)

    def __repr__(self) -> str:
        return f"<octet.QConfigErrors of {len(self._by_layer)} operators, {len(self.errors)} QConfigs>"


def _make_mapping(base: Optional[str], qconfig: Mapping[str, str]) -> Dict[str, Any]:
    return {**({"includes": base} if base else {}), "": dict(qconfig)}


def compare_qconfigs(model: Source, qconfigs: Mapping[str, Mapping[str, str]], *, calibration_data: CalibrationData,
                     base: Optional[str] = "cpu_default_mapping", **options: Any) -> QConfigErrors:
    """Measures every quantized operator under several QConfigs.

    Args:
      qconfigs: by any name, observers as a QConfig mapping in JSON has them: {"minmax": {"activation":
        "#octet.min_max<dtype = ui8>", "weight": "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>"}}.
      base: a QConfig mapping, whose global QConfig is replaced; None if there is none.
      Others, warnings and errors as those of `quantize`; the samples are read once for each QConfig, so an iterator will not do.
    """
    if not isinstance(qconfigs, Mapping) or not qconfigs:
        raise InputError(f"qconfigs: expected a dict from names to QConfigs, but got {qconfigs!r}")
    if isinstance(calibration_data, Iterator):
        raise InputError("calibration_data: expected a dict or a list, which can be read several times, but got an iterator")
    errors = {}
    with _temporary_folder() as folder:
        for name, qconfig in qconfigs.items():
            path = folder / "mapping.json"
            path.write_text(json.dumps(_make_mapping(base, qconfig)))
            errors[str(name)] = compare_layers(model, calibration_data=calibration_data, qconfig_mapping=str(path), **options)
    return QConfigErrors({str(name): qconfig for name, qconfig in qconfigs.items()}, base, errors)

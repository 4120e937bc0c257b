# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of traced modules through octet-compile: calibrated, converted, compiled; what it says is said about the user's lines."""
from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .._compiler import _run_compiler, _temporary_folder, _write_temporary
from ..calibration import write_calibration_data
from ..errors import CompileError
from ..layers import LayerErrors
from ..model import Model
from ..report import Report
from .front import Network

#: One sample by the names of inputs.
Sample = Dict[str, np.ndarray]


def _is_text(policy: str) -> bool:
    return policy.lstrip().startswith("{")


def _write_policy(folder: Path, name: str, policy: str) -> str:
    """The path of a policy's text, or a name as it is."""
    if not _is_text(policy):
        return policy
    _write_temporary(folder / f"{name}.json", policy.encode())
    return str(folder / f"{name}.json")


@dataclass(frozen=True)
class Policy:
    """A backend and a QConfig mapping: names of built-in ones, or texts in JSON. They are for the precision "int8"; others are "float", and
    "as-in-file": int8 where the network is quantized. `equalized`: the layers of `octet-equalize-inputs`."""

    backend: str = "native"
    mapping: str = ""
    precision: str = "int8"
    equalized: Tuple[str, ...] = ()

    def write(self, folder: Path) -> List[str]:
        if self.precision != "int8":
            return [f"--{self.precision}"]
        backend, mapping = (_write_policy(folder, name, text) for name, text in (("backend", self.backend), ("qconfig-mapping", self.mapping)))
        if self.equalized:
            backend = self._write_recipe(folder, backend)
        return ["--keep-operators", f"--backend={backend}", *([f"--qconfig-mapping={mapping}"] if mapping else [])]

    def _write_recipe(self, folder: Path, backend: str) -> str:
        """The path of a backend that is the given one, a name or a file in the folder, and equalizes."""
        path, recipe = folder / "equalizing.mlir", f"octet-equalize-inputs{{layers={','.join(self.equalized)}}}"
        name, included = (json.loads(self.backend)["name"], Path(backend).name) if _is_text(self.backend) else (backend, backend)
        _write_temporary(path, f'octet.backend @{json.dumps(name)} includes {json.dumps(included)} {{ octet.recipe before_prepare "{recipe}" }}'.encode())
        return str(path)


@dataclass
class Converted:
    """A network behind octet-convert, compiled if it was asked for: `text` is the reference model, `statistics` those of its observers."""

    model: Optional[Model]
    text: str = ""
    bytecode: bytes = b""
    statistics: str = ""
    report: Optional[Report] = field(default=None, repr=False)


def _quote_lines(error: CompileError, network: Network) -> CompileError:
    """The error with the lines of the user's program that its operators come from."""
    places = []
    for node in dict.fromkeys(diagnostic.node for diagnostic in error.diagnostics):
        file, line, text = network.lines.get(node, ("", 0, ""))
        places += [f"{file}:{line}: {node}: {text}"] if file else []
    return CompileError("\n  ".join([str(error), *places]), error.diagnostics)


def _run(network: Network, source: Path, options: Sequence[str], folder: Path) -> None:
    try:
        _run_compiler(source, options, folder)
    except CompileError as error:
        raise _quote_lines(error, network) from None


def prepare(network: Network, policy: Policy) -> Tuple[str, bytes]:
    """The prepared network as text and bytecode. Raises CompileError for what the policy does not allow."""
    policy = replace(policy, equalized=())  # there are no samples yet
    with _temporary_folder() as folder:
        source, output = folder / "model.mlirbc", folder / "prepared.mlirbc"
        _write_temporary(source, network.bytecode)
        _run(network, source, [*policy.write(folder), "--stop-after=prepare", "-o", str(output)], folder)
        return output.with_suffix(".mlir").read_text("utf-8", "backslashreplace"), output.read_bytes()


def list_layers(network: Network, policy: Policy) -> List[str]:
    """The convolutions and linear layers that a policy quantizes, by their names."""
    with _temporary_folder() as folder:
        source, report = folder / "model.mlirbc", folder / "report.json"
        _write_temporary(source, network.bytecode)
        _run(network, source, [*policy.write(folder), f"--report={report}", "--stop-after=prepare", "-o", str(folder / "prepared.mlirbc")], folder)
        rows = Report.parse(report.read_text("utf-8"))
        return [row.name for row in rows if row.operator.split("+")[0] in ("nn.conv", "nn.linear") and row.verdict.startswith("int8")]


def _write_calibration(folder: Path, samples: Sequence[Sample], statistics: Sequence[str]) -> List[str]:
    """Options for what a network is calibrated with."""
    options = []
    if samples:
        options += [f"--calibration-data={write_calibration_data(iter(samples), folder / 'samples')}"]
        options += [f"--save-statistics={folder / 'saved.mlir'}"]
    for i, text in enumerate(statistics):
        _write_temporary(folder / f"statistics{i}.mlir", text.encode())
        options.append(f"--load-statistics={folder / f'statistics{i}.mlir'}")
    return options


def compare_layers(network: Network, policy: Policy, samples: Sequence[Sample], statistics: Sequence[str]) -> LayerErrors:
    """The error of every quantized operator on the samples, calibrated with them and with the statistics of others."""
    with _temporary_folder() as folder:
        source, report = folder / "model.mlirbc", folder / "report.json"
        _write_temporary(source, network.bytecode)
        options = [*policy.write(folder), *_write_calibration(folder, samples, statistics), "--compare-layers"]
        _run(network, source, [*options, f"--report={report}", "--stop-after=convert", "-o", str(folder / "converted.mlirbc")], folder)
        return LayerErrors(Report.parse(report.read_text("utf-8")).data.get("layers", []))


def convert(network: Network, policy: Policy, samples: Sequence[Sample], statistics: Sequence[str],
            threads: int = 1, is_compiled: bool = True) -> Converted:
    """The network calibrated with samples, with statistics of earlier calibrations, or with none where it needs none."""
    with _temporary_folder() as folder:
        source, output, library = folder / "model.mlirbc", folder / "converted.mlirbc", folder / "model.so"
        _write_temporary(source, network.bytecode)
        options = [*policy.write(folder), *_write_calibration(folder, samples, statistics)]
        report = folder / "report.json"
        if policy.precision != "int8":
            _run(network, source, [*options, f"--report={report}", "-o", str(library)], folder)
            return Converted(Model(library.read_bytes(), "model.so", threads=threads), network.text, network.bytecode, "",
                             Report.parse(report.read_text("utf-8")))
        _run(network, source, [*options, f"--report={report}", "--stop-after=convert", "-o", str(output)], folder)
        if is_compiled:
            _run(network, output, ["-o", str(library)], folder)
        saved = folder / "saved.mlir"
        return Converted(Model(library.read_bytes(), "model.so", threads=threads) if is_compiled else None,
                         output.with_suffix(".mlir").read_text("utf-8", "backslashreplace"), output.read_bytes(),
                         saved.read_text("utf-8") if saved.exists() else "", Report.parse(report.read_text("utf-8")))


def convert_buckets(networks: Sequence[Network], policy: Policy, number: int, samples: Sequence[Sample], statistics: Sequence[str],
                    pad: Sequence[str], threads: int) -> Converted:
    """One library for several shapes, calibrated with samples of the shapes of the network with this number. Its text is that network's."""
    with _temporary_folder() as folder:
        files, library = [folder / f"model{i}.mlirbc" for i in range(len(networks))], folder / "model.so"
        for file, network in zip(files, networks):
            _write_temporary(file, network.bytecode)
        first, report = networks[number], folder / "report.json"
        options = [*policy.write(folder), *_write_calibration(folder, samples, statistics), f"--report={report}"]
        text, bytecode = first.text, first.bytecode
        if policy.precision == "int8":
            output = folder / "converted.mlirbc"
            _run(first, files[number], [*options, "--stop-after=convert", "-o", str(output)], folder)
            text, bytecode = output.with_suffix(".mlir").read_text("utf-8", "backslashreplace"), output.read_bytes()
        further = [f"--bucket={file}" for file in files[1:]]
        _run(first, files[0], [*options, *further, *pad, "-o", str(library)], folder)
        return Converted(Model(library.read_bytes(), "model.so", threads=threads), text, bytecode, "", Report.parse(report.read_text("utf-8")))


def fuse(network: Network, policy: Policy) -> Tuple[str, Model]:
    """The float network behind octet-fuse, as text and compiled."""
    with _temporary_folder() as folder:
        source, output, library = folder / "model.mlirbc", folder / "fused.mlirbc", folder / "model.so"
        _write_temporary(source, network.bytecode)
        _run(network, source, [*policy.write(folder), "--float", "--stop-after=fuse", "-o", str(output)], folder)
        _run(network, output, ["--float", "-o", str(library)], folder)
        return output.with_suffix(".mlir").read_text("utf-8", "backslashreplace"), Model(library.read_bytes(), "model.so")


def build(bytecode: bytes) -> Model:
    """The library of a reference model."""
    with _temporary_folder() as folder:
        source, library = folder / "model.mlirbc", folder / "model.so"
        _write_temporary(source, bytecode)
        _run_compiler(source, ["-o", str(library)], folder)
        return Model(library.read_bytes(), "model.so")


def save_onnx(bytecode: bytes) -> bytes:
    """A reference model as an ONNX file with QuantizeLinear and DequantizeLinear."""
    with _temporary_folder() as folder:
        source, output = folder / "model.mlirbc", folder / "model.onnx"
        _write_temporary(source, bytecode)
        _run_compiler(source, ["--as-in-file", "--emit=onnx", "-o", str(output)], folder)
        return output.read_bytes()


def describe(inputs: Sequence[Any]) -> str:
    return ", ".join(f"{tuple(x.shape)}" for x in inputs)

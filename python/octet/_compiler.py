# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling networks. The compiler is a separate process, `octet-compile`, so that LLVM and its memory stay out of this
one; its diagnostics become exceptions and warnings. Only this file depends on that."""
from __future__ import annotations

import math
import operator
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, List, Optional, Union

from ._diagnostics import parse_diagnostics
from .calibration import CalibrationData, cannot_write, describe_refusal, write_calibration_data
from .errors import CompileError, CompileWarning, InputError, check_text, show_path
from .model import Model, check_threads, write_file
from .report import Report

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
Shape = Sequence[int]
Shapes = Mapping[str, Union[Shape, Sequence[Shape]]]
Values = Mapping[str, float]
States = Union[str, Mapping[str, str]]
Levels = Union[str, Sequence[str]]


# ---- temporary files ----------------------------------------------------------------------------------------------------
class _Terminated(BaseException):
    """Raised by a signal that ends Python."""


@contextmanager
def _signals_clean_up() -> Iterator[None]:
    """SIGTERM and SIGHUP end Python at once, unless it has handlers for them. In this context they first raise an exception,
    so that the compiler ends and temporary files are removed, and then end Python. Only the main thread can do so."""
    signals = [signal.SIGTERM, signal.SIGHUP] if threading.current_thread() is threading.main_thread() else []
    signals = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    come = []

    def handle(number: int, frame: Any) -> None:
        come.append(number)
        if len(come) == 1:
            raise _Terminated

    try:
        for number in signals:
            signal.signal(number, handle)
        yield
    except _Terminated:
        pass
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
        if come:
            os.kill(os.getpid(), come[0])


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A temporary folder that is always removed."""
    with _signals_clean_up():
        try:
            folder = tempfile.TemporaryDirectory(prefix="octet-")
        except OSError as error:
            raise cannot_write(error) from None
        with folder:
            yield Path(folder.name)


def _write_temporary(path: Path, content: Any) -> None:
    try:
        path.write_bytes(bytes(content))
    except OSError as error:
        raise cannot_write(error) from None


# ---- the process ---------------------------------------------------------------------------------------------------------
def find_compiler() -> str:
    """The path of octet-compile: $OCTET_COMPILE, else the one installed with the package, else the one on PATH."""
    here = Path(__file__).resolve().parent
    # A package that is used from a build tree has its compiler there.
    build = Path(__file__).parent.parent.parent / "bin" / "octet-compile"
    candidates = [os.environ.get("OCTET_COMPILE"), here / "bin" / "octet-compile", build]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return os.fspath(candidate)
    found = shutil.which("octet-compile")
    if not found:
        raise CompileError("octet-compile is not installed: put it on PATH, or its path into the variable OCTET_COMPILE")
    return found


def _run_compiler(network: Path, options: Sequence[str], folder: "os.PathLike[str]") -> None:
    """Runs octet-compile and turns its diagnostics into an exception or warnings."""
    path = str(network)
    command = [find_compiler(), "--diagnostics=json", os.path.join(".", path) if path.startswith("-") else path, *options]
    command.append(f"--parent={os.getpid()}")  # or it would go on when this process is killed
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except OSError as error:
        raise CompileError(f"'{show_path(command[0])}' cannot be run: {error.strerror}") from None
    diagnostics, rest = parse_diagnostics(result.stderr.decode(errors="replace"), os.path.join(folder, ""))
    if result.returncode == 0:
        for diagnostic in diagnostics:
            warnings.warn(str(diagnostic), CompileWarning, stacklevel=3)  # at the caller of compile or quantize
        return
    for diagnostic in diagnostics:
        if diagnostic.samples:
            raise InputError(describe_refusal(diagnostic))
    lines = [*map(str, diagnostics), rest]
    if result.returncode < 0:
        lines.append(f"octet-compile ended with signal {-result.returncode}")
    message = "\n".join(filter(None, lines))
    raise CompileError(message or f"octet-compile ended with code {result.returncode}", diagnostics)


def _find_network(path: str) -> Path:
    """The path of a network, if there is a file."""
    if os.path.isfile(path):
        return Path(path)
    if os.path.isdir(path):
        raise CompileError(f"{show_path(path)}: error: is a folder; give the path of an ONNX file")
    problem = "is not a regular file" if os.path.exists(path) else "no such file"
    raise CompileError(f"{show_path(path)}: error: {problem}")


@contextmanager
def _work_folder(model: Source) -> Iterator[tuple]:
    """A folder for the files of one compilation, and the path of the network."""
    with _temporary_folder() as folder:
        if isinstance(model, (bytes, bytearray, memoryview)):
            path = folder / "model.onnx"
            _write_temporary(path, model)
        elif isinstance(model, (str, os.PathLike)):
            path = _find_network(os.fsdecode(model))
        else:
            raise InputError(f"model: expected a path or the bytes of an ONNX file, but got {type(model).__name__}")
        yield folder, path


# ---- options -------------------------------------------------------------------------------------------------------------
def _path_option(argument: str, path: Any, expected: str) -> str:
    """`--backend=<path>` for the argument `backend`."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"{argument}: expected {expected}, but got {path!r}")
    return f"--{argument.replace('_', '-')}={check_text(argument, os.fsdecode(path))}"


def _get_sizes(shape: Any) -> List[int]:
    try:
        return [operator.index(size) for size in shape]
    except TypeError:
        return []


def _shape_option(name: str, given: Any) -> str:
    is_list = isinstance(given, Sequence) and len(given) > 0 and all(isinstance(shape, Sequence) for shape in given)
    shapes = [_get_sizes(shape) for shape in (given if is_list else [given])]
    least = 1 if is_list else 0  # a past before there is one has no elements
    if not all(shapes) or min(map(min, shapes)) < least:
        raise InputError(f"input_shapes: '{name}': expected positive integers as in (1, 3, 224, 224), or a list of such shapes, "
                         f"but got {given!r}")
    if len({len(shape) for shape in shapes}) > 1:
        raise InputError(f"input_shapes: '{name}': expected shapes of one rank, but got {given!r}")
    axes = [[str(size) for size in sizes] for sizes in zip(*shapes)]
    is_same = all(shape == shapes[0] for shape in shapes)  # which the compiler refuses, if there are several
    texts = [sizes[0] if len(set(sizes)) == 1 and not (is_same and len(shapes) > 1) else f"{{{','.join(sizes)}}}" for sizes in axes]
    return f"--input-shape={name}={'x'.join(texts)}"


def _number(argument: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{argument}: '{name}': expected a number, but got {value!r}")
    return number


def _value_option(name: str, value: Any) -> str:
    return f"--input-value={name}={_number('input_values', name, value)!r}"


def _pad_option(name: str, value: Any) -> str:
    return f"--pad={name}={_number('pad', name, value)!r}"


def _by_name(argument: str, values: Any, make: Callable[[str, Any], str]) -> List[str]:
    """An option for each item of a dict by the names of inputs."""
    if values is not None and not isinstance(values, Mapping):
        raise InputError(f"{argument}: expected a dict by the names of inputs, but got {type(values).__name__}")
    return [make(check_text(argument, str(name)), value) for name, value in (values or {}).items()]


def _state_options(states: Optional[States]) -> List[str]:
    if states is None or states == "auto":
        return ["--state=auto"] if states else []
    if not isinstance(states, Mapping) or not all(isinstance(name, str) for pair in states.items() for name in pair):
        raise InputError(f'states: expected "auto" or a dict from the names of inputs to those of outputs, but got {states!r}')
    return [f"--state={check_text('states', f'{name}={output}')}" for name, output in states.items()]


def _policy_options(backend: str, qconfig_mapping: Optional[str], input_shapes: Optional[Shapes], input_values: Optional[Values],
                    states: Optional[States], strict: bool, quantized_io: bool) -> List[str]:
    options = [_path_option("backend", backend, 'the name "cpu" or the path of a backend file')]
    if qconfig_mapping is not None:
        options.append(_path_option("qconfig_mapping", qconfig_mapping, "the path of a file"))
    options += _by_name("input_shapes", input_shapes, _shape_option) + _by_name("input_values", input_values, _value_option)
    options += _state_options(states)
    if strict:
        options.append("--strict")
    if quantized_io:
        options.append("--quantized-io")
    return options


def _level_options(cpu_level: Optional[Levels]) -> List[str]:
    if cpu_level is None:
        return []
    levels = [cpu_level] if isinstance(cpu_level, str) else list(cpu_level) if isinstance(cpu_level, Iterable) else []
    if not levels or not all(isinstance(level, str) for level in levels):
        raise InputError(f"cpu_level: expected the name of a level or several names, but got {cpu_level!r}")
    return [f"--cpu-level={check_text('cpu_level', ','.join(levels))}"]


# ---- the interface -------------------------------------------------------------------------------------------------------
def compile(
    model: Source,
    *,
    calibration_data: Optional[CalibrationData] = None,
    backend: str = "cpu",
    qconfig_mapping: Optional[str] = None,
    input_shapes: Optional[Shapes] = None,
    input_values: Optional[Values] = None,
    pad: Optional[Values] = None,
    states: Optional[States] = None,
    cpu_level: Optional[Levels] = None,
    threads: int = 1,
    strict: bool = False,
    quantized_io: bool = False,
) -> Model:
    """Compiles an ONNX network to machine code for this machine's architecture.

    Args:
      model: path or bytes of an ONNX file.
      calibration_data: representative samples: a dict of arrays with a leading sample axis, or an iterable of dicts of arrays
        (one sample each, in the network's shapes), which is streamed. With `states` the leading axis is time, and an
        iterable gives one such dict for each sequence, which begins from zeros. Without samples the result is float,
        unless the file is quantized already, or the backend quantizes in each run, and needs none.
      backend: the operators and types that can be quantized: "cpu", "cpu_dynamic" for products without samples, or the
        path of a backend file.
      qconfig_mapping: path of a file that chooses the observers of each layer; by default the backend's own mapping.
      input_shapes: shapes by name of inputs whose shapes the file does not fix. A list of shapes makes one network for all of
        them, its buckets (`Model.buckets`): {"ids": [(1, 16), (1, 64)], "mask": [(1, 16), (1, 64)]} has two. They share weights,
        code, states and calibration, whose samples have the shapes of one of them.
      input_values: numbers by name of inputs that are constants, such as a sample rate: every element is the number, and the
        compiled network does not have the input.
      pad: numbers by name of inputs with which `Model.run` fills up what is smaller than a bucket, behind its ends.
      states: outputs by the names of inputs, as in {"h": "hn"}, that the compiled network keeps from run to run (`Model.reset`)
        instead of taking and giving them; "auto" finds them by their names (`report.data["states"]` lists them).
      cpu_level: the CPU level to compile for, or several; by default the architecture's default levels, which
        `octet-compile --list-cpu-levels` lists. Loading picks the best one that the CPU runs.
      threads: the number of threads of a run of the returned model, 256 at most.
      strict: make it an error if an operator with a QConfig cannot be quantized, unless the backend keeps it float on purpose.
      quantized_io: inputs and outputs are integers where the network quantizes them; `Model.inputs` and `Model.outputs` have
        their scales and zero points. By default all are float32.

    Warns:
      CompileWarning: the compiler did not do all that was asked, for example an operator stays float.

    Raises:
      CompileError: the compiler's message. InputError: arguments or samples are not of the form above, or samples do not fit
        the network. LoadError: this machine cannot run the result, for example because its CPU lacks the given level.
    """
    count = check_threads(threads)
    options = _policy_options(backend, qconfig_mapping, input_shapes, input_values, states, strict, quantized_io) + _level_options(cpu_level)
    options += _by_name("pad", pad, _pad_option)
    with _work_folder(model) as (folder, path):
        if calibration_data is None:
            options.append("--as-in-file")
        else:
            options.append(f"--calibration-data={write_calibration_data(calibration_data, folder / 'samples', bool(states))}")
        output = folder / f"{path.stem}.so"
        _run_compiler(path, [*options, "-o", str(output)], folder)
        return Model(output.read_bytes(), output.name, threads=count)


class QuantizedModel:
    """A quantized network that is not yet compiled: the reference model. Created by `octet.quantize`."""

    def __init__(self, bytecode: bytes, text: str, onnx: bytes, report: str, name: str) -> None:
        self._bytecode, self._text, self._onnx, self._report, self._name = bytecode, text, onnx, report, name

    @property
    def mlir(self) -> str:
        """The reference model as text (float operators between octet.quantize and octet.dequantize), weights elided."""
        return self._text

    @property
    def report(self) -> Report:
        """Every operator with its verdict, int8 or float, and the reason. Models returned by `compile` have it, too."""
        return Report.parse(self._report)

    def save_onnx(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the reference model as an ONNX file with QuantizeLinear and DequantizeLinear. Raises as `Model.save`."""
        write_file(path, self._onnx)

    def compile(self, *, cpu_level: Optional[Levels] = None, threads: int = 1) -> Model:
        """Compiles to machine code. The model computes the same as that of `octet.compile` for the same samples, whose arguments
        apply."""
        count, options = check_threads(threads), _level_options(cpu_level)
        with _temporary_folder() as folder:
            path, output = folder / f"{self._name}.mlirbc", folder / f"{self._name}.so"
            _write_temporary(path, self._bytecode)
            _run_compiler(path, [*options, "-o", str(output)], folder)
            return Model(output.read_bytes(), output.name, threads=count)

    def __repr__(self) -> str:
        return f"<octet.QuantizedModel {self._name}>"


def quantize(
    model: Source,
    *,
    calibration_data: CalibrationData,
    backend: str = "cpu",
    qconfig_mapping: Optional[str] = None,
    input_shapes: Optional[Shapes] = None,
    input_values: Optional[Values] = None,
    states: Optional[States] = None,
    strict: bool = False,
    quantized_io: bool = False,
    compare_layers: bool = False,
) -> QuantizedModel:
    """Quantizes an ONNX network without compiling it to machine code. Arguments as in `compile`; with `compare_layers`, the
    report has the figures of `octet.compare_layers`. All scales are static, as the ONNX file needs it (`--static-scales`)."""
    options = _policy_options(backend, qconfig_mapping, input_shapes, input_values, states, strict, quantized_io)
    if compare_layers:
        options.append("--compare-layers")
    with _work_folder(model) as (folder, path):
        options.append(f"--calibration-data={write_calibration_data(calibration_data, folder / 'samples', bool(states))}")
        bytecode, onnx, report = folder / f"{path.stem}.mlirbc", folder / "quantized.onnx", folder / "report.json"
        _run_compiler(path, [*options, "--static-scales", "--stop-after=convert", f"--report={report}", "-o", str(bytecode)], folder)
        _run_compiler(bytecode, ["--emit=onnx", "-o", str(onnx)], folder)
        text = bytecode.with_suffix(".mlir").read_text("utf-8", "backslashreplace")
        return QuantizedModel(bytecode.read_bytes(), text, onnx.read_bytes(), report.read_text("utf-8"), path.stem)


# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing observers as attributes of Octet's files, such as `#octet.min_max<dtype = ui8>`."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

import torch

from ..errors import InputError
from ._arguments import describe

#: What PyTorch's classes are here (docs/mappings.md).
_RANGES = {
    "MinMaxObserver": "min_max",
    "MovingAverageMinMaxObserver": "moving_average_min_max",
    "PerChannelMinMaxObserver": "per_channel_min_max",
    "MovingAveragePerChannelMinMaxObserver": "moving_average_per_channel_min_max",
    "HistogramObserver": "histogram",
}
_OTHERS = ("FixedQParamsObserver", "PlaceholderObserver", "NoopObserver", "RecordingObserver", "ReuseInputObserver", "Identity")
KNOWN = (*_RANGES, *_OTHERS)

_INTEGERS = {
    torch.quint8: "ui8", torch.qint8: "si8", torch.quint4x2: "ui4", torch.qint32: "si32", torch.uint8: "ui8", torch.int8: "si8",
    torch.uint16: "ui16", torch.int16: "si16", torch.int32: "si32",
}
_FLOATS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_SCHEMES = {"affine": None, "symmetric": "symmetric", "affine_float_qparams": "affine_float_qparams"}
#: Dynamic ranges of these engines leave out one bit. PyTorch: `convert` reads the engine, too.
_REDUCING_ENGINES = ("fbgemm", "x86")


def _write_dtype(dtype: Any, *tables: Dict[Any, str]) -> str:
    types = {key: text for table in tables for key, text in table.items()}
    if dtype not in types:
        raise InputError(f"dtype: expected {', '.join(map(str, types))}, but got {dtype}")
    return types[dtype]


def _write_float(number: float) -> str:
    """A number as MLIR reads it, which wants a point."""
    mantissa, _, exponent = repr(float(number)).partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + (f"e{exponent}" if exponent else "") + " : f32"


def _write_range(arguments: Dict[str, Any], is_centred: bool) -> List[str]:
    """The given range; nothing if it is the type's own. Where zero is in its middle, 127 is that of a given range of bytes."""
    low, high, dtype = arguments.get("quant_min"), arguments.get("quant_max"), arguments["dtype"]
    if low is None and high is None:
        return []
    if low is None or high is None:
        raise InputError(f"quant_min and quant_max: expected both or none, but got {low} and {high}; give both")
    limits = torch.iinfo(dtype)
    if not limits.min <= low < high <= limits.max:
        raise InputError(f"quant_min and quant_max: expected {limits.min} <= quant_min < quant_max <= {limits.max} for {dtype}, "
                         f"but got {low} and {high}")
    is_own = (low, high) == (limits.min, limits.max) and not (is_centred and limits.min == 0)
    return [] if is_own else [f"range = [{low}, {high}]"]


def _write_placeholder(arguments: Dict[str, Any], engine: str) -> str:
    if arguments.get("compute_dtype"):
        raise InputError("compute_dtype is no longer read; give is_dynamic=True and the type as dtype")
    dtype, is_dynamic = arguments["dtype"], arguments.get("is_dynamic", False)
    parts = [f"dtype = {_write_dtype(dtype, _FLOATS, _INTEGERS)}"]
    if dtype in _FLOATS:
        return f"#octet.placeholder<{', '.join([*parts, *(['dynamic = true'] if is_dynamic else [])])}>"
    if not is_dynamic:
        raise InputError(f"a placeholder of {dtype} quantizes nothing; give it is_dynamic=True, or use MinMaxObserver")
    if str(arguments.get("qscheme") or torch.per_tensor_affine) != str(torch.per_tensor_affine):
        raise InputError(f"qscheme: expected torch.per_tensor_affine for values quantized in each run, but got {arguments['qscheme']}")
    parts += ["dynamic = true", *_write_range(arguments, is_centred=False)]
    if engine in _REDUCING_ENGINES:
        parts.append("reduce_range = true")
    return f"#octet.placeholder<{', '.join(parts)}>"


def _write_scheme(name: str, qscheme: Any) -> Optional[str]:
    wanted = "per_channel" if "PerChannel" in name else "per_tensor"
    text = str(qscheme).rpartition(".")[2]
    if not text.startswith(f"{wanted}_") or text[len(wanted) + 1:] not in _SCHEMES:
        raise InputError(f"qscheme: expected torch.{wanted}_affine or torch.{wanted}_symmetric for {name}, but got {qscheme}")
    return _SCHEMES[text[len(wanted) + 1:]]


def _write_ranging(name: str, arguments: Dict[str, Any], engine: str) -> str:
    """An observer that derives scale and zero point from a range. Arguments that have the default are left out."""
    scheme = _write_scheme(name, arguments["qscheme"])
    if arguments.get("is_dynamic"):
        if name == "MinMaxObserver" or (name == "MovingAverageMinMaxObserver" and arguments["averaging_constant"] == 1):
            return _write_placeholder(arguments, engine)
        raise InputError(f"is_dynamic: {name} cannot see one run alone; use PlaceholderObserver, or an averaging_constant of 1")
    parts = [f"dtype = {_write_dtype(arguments['dtype'], _INTEGERS)}"]
    if scheme:
        parts.append(f"scheme = {scheme}")
    parts += _write_range(arguments, scheme == "symmetric")
    if arguments["eps"] != torch.finfo(torch.float32).eps:
        parts.append(f"eps = {_write_float(arguments['eps'])}")
    if arguments["reduce_range"]:
        parts.append("reduce_range = true")
    if "ch_axis" in arguments:
        parts.append(f"axis = {arguments['ch_axis']}")
    if arguments.get("averaging_constant", 0.01) != 0.01:
        parts.append(f"constant = {_write_float(arguments['averaging_constant'])}")
    if "bins" in arguments:
        parts.append(f"bins = {arguments['bins']}")
    return f"#octet.{_RANGES[name]}<{', '.join(parts)}>"


def _write_fixed(arguments: Dict[str, Any]) -> str:
    dtype, low, high = arguments["dtype"], arguments["quant_min"], arguments["quant_max"]
    # PyTorch's default of 0 to 255 stands beside every type.
    if (low, high) != (0, 255) and _write_range(arguments, is_centred=False):
        raise InputError(f"quant_min and quant_max: expected the limits of {dtype} beside a known scale, but got {low} and {high}; omit them")
    return (f"#octet.fixed_qparams<{_write_dtype(dtype, _INTEGERS)}, scale = {_write_float(arguments['scale'])}, "
            f"zero_point = {int(arguments['zero_point'])}>")


def is_fixed(factory: Callable[..., Any]) -> bool:
    """Whether scale and zero point are known beforehand."""
    return describe(factory, KNOWN)[0] == "FixedQParamsObserver"


def write_observer(factory: Callable[..., Any], engine: str) -> str:
    """The attribute that a description stands for. `engine` is that of PyTorch, which decides about dynamic ranges."""
    name, arguments = describe(factory, KNOWN)
    if name in _RANGES:
        return _write_ranging(name, arguments, engine)
    if name == "FixedQParamsObserver":
        return _write_fixed(arguments)
    if name in ("PlaceholderObserver", "NoopObserver"):
        return _write_placeholder(arguments, engine)
    if name == "Identity":  # PyTorch's way to say that nothing is observed
        return "#octet.placeholder<dtype = f32>"
    return {"RecordingObserver": "#octet.recording", "ReuseInputObserver": "#octet.reuse_input"}[name]

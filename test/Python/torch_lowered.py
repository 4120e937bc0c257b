# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which layers with weights PyTorch runs in int8, and which Octet does, with the same mapping and backend (x86).

    python test/Python/torch_lowered.py [NAME...]    a line for each of torch_architectures and way, what Octet lacks, and what it has more with the reason

PyTorch's are the modules and calls of quantized operators in its converted FX model (`quantize_dynamic` for recurrent networks), and for networks that
FX does not trace, layers of PT2E's program that read dequantized values and weights, which Inductor lowers. Layers go by the name of their module.
"""
import sys
import warnings

import torch
from torch import nn

import torch_architectures as architectures
import torch_compare as compare
from octet.torch.quantize import quantize_dynamic
from octet.torch.quantize_fx import convert_fx, prepare_fx

RECURRENT = (nn.LSTM, nn.GRU)


# ---- int8 of one module, by either ------------------------------------------------------------------------------------------
def has_recurrence(module):
    return any(isinstance(part, RECURRENT) for part in module.modules())


def calibrate(prepared, samples):
    for sample in samples:
        prepared(*compare.copy_of(sample))
    return prepared


def quantize_theirs(module, samples):
    """PyTorch's converted module."""
    from torch.ao.quantization import get_default_qconfig_mapping, quantize_dynamic as quantize, quantize_fx
    from torch.ao.quantization.backend_config.x86 import get_x86_backend_config
    if has_recurrence(module):
        return quantize(module, {nn.Linear, *RECURRENT})
    backend = get_x86_backend_config()
    prepared = quantize_fx.prepare_fx(module, get_default_qconfig_mapping("x86"), tuple(samples[0]), backend_config=backend)
    return quantize_fx.convert_fx(calibrate(prepared, samples), backend_config=backend)


def quantize_program(module, samples, is_strict):
    """PT2E's converted program, which Inductor compiles. Its quantizer finds residual sums only where the export was strict."""
    import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    program = torch.export.export(module, tuple(compare.copy_of(samples[0])), strict=is_strict)
    return convert_pt2e(calibrate(prepare_pt2e(program.module(), quantizer), samples))


def quantize_ours(module, samples, way, backend="x86"):
    """Octet's converted module or program."""
    inputs = tuple(compare.copy_of(samples[0]))
    source = module if way == "fx" else torch.export.export(module, inputs)
    return convert_fx(calibrate(prepare_fx(source, f"{backend}_default_mapping", inputs, backend_config=backend), samples))


def quantize_dynamic_ours(module, samples):
    quantized = quantize_dynamic(module, {nn.Linear, *RECURRENT})
    return calibrate(quantized, samples[:1]).made


# ---- layers --------------------------------------------------------------------------------------------------------------------
def list_modules(converted):
    """Names of the quantized modules with weights, and of calls of quantized functions with weights."""
    parts = {name: part for name, part in converted.named_modules() if type(part).__module__.startswith("torch.ao.nn")}
    names = [name for name, part in parts.items() if hasattr(part, "_packed_params") or hasattr(part, "_all_weight_values")]
    calls = [node.name for node in getattr(converted, "graph", torch.fx.Graph()).nodes
             if str(node.target).startswith("quantized.") and any(word in str(node.target) for word in ("linear", "conv"))]
    return [*(name for name in names if not any(name.startswith(f"{other}.") for other in names)), *calls]


def list_layers(program):
    """Names of modules whose layer reads a dequantized value and dequantized weights, and operators of other modules."""
    calls = [node for node in program.graph.nodes if node.op == "call_function" and node.meta.get("nn_module_stack")]
    is_layer = lambda node: str(node.target).startswith(("aten.linear", "aten.conv"))  # noqa: E731
    is_dequantized = lambda node: isinstance(node, torch.fx.Node) and "dequantize" in str(node.target)  # noqa: E731
    find_module = lambda node: list(node.meta["nn_module_stack"].values())[-1][0]  # noqa: E731
    names = [find_module(node) for node in calls if is_layer(node) and all(map(is_dequantized, node.args[:2]))]
    return names, {find_module(node): str(node.target) for node in sorted(calls, key=is_layer)}  # layers rather than what is beside them


def compare_layers(name, way):
    """PyTorch's names, classes or operators by names of modules, and Octet's rows of products."""
    module, inputs = architectures.build(name)
    samples, is_traced = [inputs], (name, "fx") not in architectures.NOT_TRACED
    with torch.no_grad():
        if way == "fx":
            kinds = {name: type(part).__name__ for name, part in module.named_modules()}
            theirs = list_modules(quantize_theirs(module, samples))
        else:
            theirs, kinds = list_layers(quantize_program(module, samples, is_traced))
        ours = quantize_dynamic_ours(module, samples) if has_recurrence(module) else quantize_ours(module, samples, way)
        return theirs, kinds, [row for row in ours.report if row.macs]


def find_missing(theirs, rows):
    """PyTorch's layers that Octet leaves float, even in part. PyTorch's programs name a function by the module that calls it."""
    verdicts = {}
    for row in rows:
        if row.operator.startswith(("nn.linear", "nn.conv")):
            name = row.name if row.name in theirs else row.name.rpartition(".")[0]
            verdicts.setdefault(name, []).append(row.verdict.startswith("int8"))
    return [name for name in theirs if not all(verdicts.get(name, [False]))]


def find_kind(kinds, row):
    """What PyTorch has in place of an operator of Octet's: the innermost module that it knows."""
    name = row.name
    while name and name not in kinds:
        name = name.rpartition(".")[0]
    return kinds.get(name, row.operator)


def main(names):
    warnings.simplefilter("ignore")
    for name in names or architectures.ARCHITECTURES:
        for way in ("fx", "export"):
            if (name, way) in architectures.NOT_TRACED:
                continue
            try:
                theirs, kinds, rows = compare_layers(name, way)
            except Exception as error:  # noqa: BLE001  (a table of what fails)
                print(f"{name:20} {way:7} {type(error).__name__}: {' | '.join(str(error).strip().splitlines())[:300]}", flush=True)
                continue
            missing = find_missing(theirs, rows)
            more = {row.name: row for row in rows if row.verdict.startswith("int8") and not {row.name, row.name.rpartition(".")[0]} & set(theirs)}
            print(f"{name:20} {way:7} PyTorch {len(theirs)}, Octet lacks {len(missing)} and has {len(more)} more", flush=True)
            for text in [*(f"lacks {row.name}: {row.code} {row.reason}" for row in rows if row.name in missing),
                         *(f"lacks {name}" for name in missing if name not in {row.name for row in rows}),
                         *(f"more {row.name}: {row.pattern}; PyTorch leaves {find_kind(kinds, row)} float" for row in more.values())]:
                print(f"  {text}")


if __name__ == "__main__":
    main(sys.argv[1:])

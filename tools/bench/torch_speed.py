#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of converted modules beside PyTorch's own, one thread, on architectures with random weights at the size that people use.

    torch_speed.py [--rounds N] [--compile] [NAME...]     names of test/Python/torch_architectures.py, or timm's

Columns, in ms: PyTorch's float, PyTorch's FX int8 (engine x86, default mapping; `quantize_dynamic` for recurrent networks, which FX does not quantize
otherwise), with --compile torch.compile of the program that PT2E quantized with torchao's X86InductorQuantizer; octet.torch with the policy of the second
column and with the backend `cpu`; how many times as fast the better of Octet's is as the best of PyTorch's in int8. The least of interleaved rounds, in
time of the one thread's CPU, so that other programs on the machine count little. What cannot run has a dash, and a line says why.
Octet takes modules that FX traces, and programs of torch.export of the others. Needs torch and the packages of the architectures; --compile also
torchao and a C++ compiler.
"""
import argparse
import pathlib
import sys
import time
import warnings

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "build" / "python"), str(SOURCE / "test" / "Python")]

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch_architectures as architectures  # noqa: E402
import torch_lowered as lowered  # noqa: E402

#: The architectures but those that differ from another in width or in the package alone.
NAMES = [name for name in architectures.ARCHITECTURES if name not in ("mobilenet_v3_small", "swin_tiny_of_timm", "vit_b_16")]


def compile_with_inductor(module, samples, is_traced):
    """PyTorch's compiled int8 code, by its tutorial for x86: https://docs.pytorch.org/ao/stable/pt2e_quantization/pt2e_quant_x86_inductor.html"""
    import torch._inductor.config
    torch._inductor.config.freezing = True
    compiled = torch.compile(lowered.quantize_program(module, samples, is_traced))
    compiled(*samples[0])
    return compiled


def try_to(make, *arguments):
    """What is made, or None with what was said."""
    try:
        return make(*arguments)
    except Exception as error:  # noqa: BLE001  (whatever it is, the network has no such column)
        print(f"  {make.__name__}: {type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}", file=sys.stderr, flush=True)
        return None


def make_columns(name, with_compile):
    """The five modules of a row, and an input. Samples have the example's numbers in other orders."""
    torch._dynamo.reset()
    module, example = architectures.build(name, is_full=True)
    shuffle = lambda x: x.flatten()[torch.randperm(x.numel())].view_as(x)  # noqa: E731
    samples = [tuple(example), *(tuple(map(shuffle, example)) for _ in range(3))]
    is_traced = (name, "fx") not in architectures.NOT_TRACED
    way = "fx" if is_traced else "export"
    theirs = try_to(lowered.quantize_theirs, module, samples)
    compiled = try_to(compile_with_inductor, module, samples, is_traced) if with_compile else None
    same = try_to(lowered.quantize_dynamic_ours, module, samples) if lowered.has_recurrence(module) else try_to(lowered.quantize_ours, module, samples, way)
    return (module, theirs, compiled, same, try_to(lowered.quantize_ours, module, samples, way, "cpu")), samples[0]


def measure(modules, inputs, rounds):
    """The least CPU time of each, in ms; infinite for None."""
    best = [float("inf")] * len(modules)
    for _ in range(rounds):
        for i, module in enumerate(modules):
            if module is None:
                continue
            module(*inputs)  # what lay in the caches is another module's
            begin = time.process_time()
            module(*inputs)
            best[i] = min(best[i], (time.process_time() - begin) * 1e3)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--compile", action="store_true", help="also torch.compile of int8, which takes minutes for each network")
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(f"{'network':20s} {'float':>8s} {'int8':>8s} {'compiled':>8s} {'Octet x86':>10s} {'Octet cpu':>10s} {'ratio':>6s}")
    ratios = []
    for name in arguments.names:
        with torch.no_grad():
            times = measure(*make_columns(name, arguments.compile), arguments.rounds)
        ratio = min(times[1:3]) / min(times[3:])
        ratios += [ratio] if 0 < ratio < float("inf") else []
        texts = ["-" if time == float("inf") else f"{time:.2f}" for time in times]
        print(f"{name:20s} {texts[0]:>8s} {texts[1]:>8s} {texts[2]:>8s} {texts[3]:>10s} {texts[4]:>10s} "
              f"{f'{ratio:.2f}' if ratio < float('inf') else '-':>6s}", flush=True)
    if ratios:
        print(f"geometric mean of {len(ratios)}: {torch.tensor(ratios).log().mean().exp():.2f}")


if __name__ == "__main__":
    main()

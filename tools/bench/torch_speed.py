#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of converted modules beside PyTorch's own, one thread, on torchvision's networks with random weights.

    torch_speed.py [--rounds N] [NAME...]

Columns, in ms: PyTorch's float, PyTorch's FX int8 (engine x86, default mapping), octet.torch with the same policy and with the
backend `cpu`; how many times as fast the better of Octet's is as the better of PyTorch's. The least of interleaved rounds.
Needs torch and torchvision.
"""
import argparse
import pathlib
import sys
import time
import warnings

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "build" / "python"), str(SOURCE / "test" / "Python")]

import torch  # noqa: E402
import torch_architectures  # noqa: E402
from octet.torch.quantize_fx import convert_fx, prepare_fx  # noqa: E402

NAMES = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "shufflenet_v2_x1_0", "squeezenet1_1", "efficientnet_b0")


def quantize(functions, module, inputs, mapping, backend):
    prepare, convert = functions
    prepared = prepare(module, mapping, (inputs[0],), **({} if backend is None else {"backend_config": backend}))
    for x in inputs:
        prepared(x)
    return convert(prepared)


def find_theirs():
    """PyTorch's functions, mapping and backend."""
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.backend_config.x86 import get_x86_backend_config
    from torch.ao.quantization.quantize_fx import convert_fx as convert
    from torch.ao.quantization.quantize_fx import prepare_fx as prepare
    return (prepare, convert), get_default_qconfig_mapping("x86"), get_x86_backend_config()


def measure(modules, x, rounds):
    """The least time of each, in ms."""
    best = [float("inf")] * len(modules)
    for _ in range(rounds):
        for i, module in enumerate(modules):
            module(x)  # what lay in the caches is another module's
            begin = time.perf_counter()
            module(x)
            best[i] = min(best[i], (time.perf_counter() - begin) * 1e3)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    functions, mapping, backend = find_theirs()
    print(f"{'network':20s} {'float':>8s} {'FX x86':>8s} {'Octet x86':>10s} {'Octet cpu':>10s} {'ratio':>6s}")
    ratios = []
    for name in arguments.names:
        torch.manual_seed(0)
        module, example = torch_architectures._vision(name, 224)()
        module, inputs = module.eval(), [example[0], *(torch.randn_like(example[0]) for _ in range(3))]
        with torch.no_grad():
            theirs = quantize(functions, module, inputs, mapping, backend)
            same = quantize((prepare_fx, convert_fx), module, inputs, "x86_default_mapping", "x86")
            own = quantize((prepare_fx, convert_fx), module, inputs, "cpu_default_mapping", "cpu")
            times = measure((module, theirs, same, own), inputs[0], arguments.rounds)
        ratios.append(min(times[:2]) / min(times[2:]))
        print(f"{name:20s} {times[0]:8.2f} {times[1]:8.2f} {times[2]:10.2f} {times[3]:10.2f} {ratios[-1]:6.2f}", flush=True)
    print(f"geometric mean {torch.tensor(ratios).log().mean().exp():.2f}")


if __name__ == "__main__":
    main()

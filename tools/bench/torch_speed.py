#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of converted modules beside PyTorch's own, one thread, on torchvision's networks with random weights.

    torch_speed.py [--rounds N] [--compile] [NAME...]

Columns, in ms: PyTorch's float, PyTorch's FX int8 (engine x86, default mapping), with --compile torch.compile of the network that PT2E quantized
with torchao's X86InductorQuantizer; octet.torch with the policy of FX and with the backend `cpu`; how many times as fast the better of Octet's is
as the best of PyTorch's. The least of interleaved rounds, in time of the one thread's CPU, so that other programs on the machine count little. What PyTorch cannot
run has a dash.
Needs torch and torchvision; --compile also torchao and a C++ compiler.
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
import torch_architectures  # noqa: E402
from octet.torch.quantize_fx import convert_fx, prepare_fx  # noqa: E402

NAMES = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "shufflenet_v2_x1_0", "squeezenet1_1", "efficientnet_b0", "densenet121",
         "regnet_y_400mf")


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


def compile_with_inductor(module, inputs):
    """PyTorch's compiled int8 code, by its tutorial for x86: https://docs.pytorch.org/ao/stable/pt2e_quantization/pt2e_quant_x86_inductor.html"""
    import torch._inductor.config
    import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    torch._inductor.config.freezing = True
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, (inputs[0],), strict=True).module(), quantizer)
    for x in inputs:
        prepared(x)
    compiled = torch.compile(convert_pt2e(prepared))
    compiled(inputs[0])
    return compiled


def try_to(make, *arguments):
    """What PyTorch makes, or None with what it says."""
    try:
        return make(*arguments)
    except Exception as error:  # noqa: BLE001  (whatever it is, the network has no such column)
        print(f"  {make.__name__}: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}", file=sys.stderr)
        return None


def measure(modules, x, rounds):
    """The least CPU time of each, in ms; infinite for None."""
    best = [float("inf")] * len(modules)
    for _ in range(rounds):
        for i, module in enumerate(modules):
            if module is None:
                continue
            module(x)  # what lay in the caches is another module's
            begin = time.process_time()
            module(x)
            best[i] = min(best[i], (time.process_time() - begin) * 1e3)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--compile", action="store_true", help="also torch.compile of int8, which takes a minute for each network")
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    functions, mapping, backend = find_theirs()
    print(f"{'network':20s} {'float':>8s} {'FX x86':>8s} {'compiled':>8s} {'Octet x86':>10s} {'Octet cpu':>10s} {'ratio':>6s}")
    ratios = []
    for name in arguments.names:
        torch.manual_seed(0)
        torch._dynamo.reset()
        module, example = torch_architectures._vision(name, 224)()
        module, inputs = module.eval(), [example[0], *(torch.randn_like(example[0]) for _ in range(3))]
        with torch.no_grad():
            theirs = try_to(quantize, functions, module, inputs, mapping, backend)
            compiled = try_to(compile_with_inductor, module, inputs) if arguments.compile else None
            same = quantize((prepare_fx, convert_fx), module, inputs, "x86_default_mapping", "x86")
            own = quantize((prepare_fx, convert_fx), module, inputs, "cpu_default_mapping", "cpu")
            times = measure((module, theirs, compiled, same, own), inputs[0], arguments.rounds)
        ratios.append(min(times[:3]) / min(times[3:]))
        texts = ["-" if time == float("inf") else f"{time:.2f}" for time in times]
        print(f"{name:20s} {texts[0]:>8s} {texts[1]:>8s} {texts[2]:>8s} {texts[3]:>10s} {texts[4]:>10s} {ratios[-1]:6.2f}", flush=True)
    print(f"geometric mean {torch.tensor(ratios).log().mean().exp():.2f}")


if __name__ == "__main__":
    main()

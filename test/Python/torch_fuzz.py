# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules through PyTorch's FX quantization and octet.torch: `torch_fuzz.py 0 5000` prints what differs, seed by seed."""
import random
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build" / "python"))
import torch  # noqa: E402
import torch_graphs  # noqa: E402
import torch_random  # noqa: E402
from octet.torch import quantize_fx  # noqa: E402
from octet.torch.front.trace import Tracer, trace  # noqa: E402
from torch.ao import quantization as ao  # noqa: E402
from torch.ao.quantization.quantize_fx import convert_to_reference_fx  # noqa: E402


#: Of modules that PyTorch itself mistakes.
SKIPPED = "left out"


def make_case(seed):
    rng = random.Random(seed)
    module, inputs = torch_random.make_network(seed)
    activation = ao.MinMaxObserver.with_args(dtype=torch.quint8)
    weight = rng.choice((ao.default_weight_observer, ao.default_per_channel_weight_observer))
    mapping = ao.get_default_qconfig_mapping("qnnpack").set_global(ao.QConfig(activation=activation, weight=weight))
    samples = [inputs, tuple(torch.randn_like(x) for x in inputs)]
    return module, inputs, mapping, samples, {}


def check(seed):
    """What differs, or nothing."""
    module, inputs, mapping, samples, options = make_case(seed)
    traced = trace(module, Tracer())
    if torch_graphs.is_confused(traced):
        return SKIPPED
    try:
        reference = convert_to_reference_fx(torch_graphs.convert_with_torch(module, mapping, inputs, samples, **options))
    except Exception:  # noqa: BLE001  (PyTorch's own limits)
        return SKIPPED
    if torch_graphs.cuts_values(reference):
        return SKIPPED
    prepared = quantize_fx.prepare_fx(module, mapping, inputs, **options)
    for sample in samples:
        prepared(*(x.clone() for x in sample))
    converted = quantize_fx.convert_to_reference_fx(prepared)
    names = torch_graphs.list_names(traced, torch_graphs.find_aliases(traced, reference))
    ours = torch_graphs.rename(torch_graphs.read_text(converted.code), names)
    return torch_graphs.differ(ours, torch_graphs.read_module(reference, inputs))


def main(first, last):
    warnings.filterwarnings("ignore")
    from octet.torch import _compilation
    _compilation.prepare = lambda *_: ""
    wrong, skipped, start = 0, 0, time.monotonic()
    for seed in range(first, last):
        try:
            found = check(seed)
        except Exception as error:  # noqa: BLE001  (each is a finding)
            found = f"{type(error).__name__}: {error}"
        if found is SKIPPED:
            skipped += 1
        elif found:
            wrong += 1
            print(f"{seed}: {found}"[:900], flush=True)
    print(f"{last - first} modules, {wrong} differ, {skipped} left out, {time.monotonic() - start:.0f} s")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Observers of random modules on the same values, in PyTorch and here: `torch_fuzz_observers.py 0 5000`.

Each observer of PyTorch's prepared model keeps what it is given. A linear layer of one number here has an observer of the same kind at its input,
which is given the same, in the same order. Float kernels, whose sums differ in their last bits, take no part.
"""
import sys
import warnings
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build" / "python"))
import torch  # noqa: E402
import torch_fuzz  # noqa: E402
import torch_graphs  # noqa: E402
from fx_graph import ulps  # noqa: E402
from octet.torch import quantize_fx  # noqa: E402
from torch import nn  # noqa: E402
from torch.ao import quantization as ao  # noqa: E402

KINDS = (ao.MinMaxObserver, ao.MovingAverageMinMaxObserver, ao.HistogramObserver)
#: Units in the last place between scales; zero points are equal.
ULPS = 1
#: A histogram's scale may differ by such a part of PyTorch's, or by more where it rounds these values with no larger error.
NEAR_OF_HISTOGRAMS = 0.05


class Layers(nn.Module):
    """A linear layer for each input."""

    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(count))

    def forward(self, *inputs):
        return tuple(layer(x) for layer, x in zip(self.layers, inputs))


def _with_inputs(count):
    """FX does not trace *inputs as several values."""
    names, space = ", ".join(f"x{i}" for i in range(count)), {"Layers": Layers}
    exec(f"def forward(self, {names}):\n    return Layers.forward(self, {names})", space)
    return type("LayersOfInputs", (Layers,), {"forward": space["forward"]})(count).eval()


def record(case):
    """(observer, the tensors that it was given) of PyTorch's prepared model."""
    prepared, given = torch_graphs.prepare_with_torch(case.module, case.mapping, case.inputs, [], backend_config=case.backend), defaultdict(list)
    # Observers of weights: torch_weights.py.
    observers = {id(part): part for part in prepared.modules() if type(part) in KINDS and part.dtype == torch.quint8}
    for observer in observers.values():
        observer.register_forward_pre_hook(lambda part, values: given[id(part)].append(values[0].detach().clone().reshape(-1, 1)))
    with torch.no_grad():
        for sample in case.samples:
            prepared(*(x.clone() for x in sample))
    return [(observers[key], values) for key, values in given.items() if all(x.numel() and x.is_floating_point() for x in values)]


def pad(observer, values):
    """Tensors of one size, since a network's inputs have one; None if an observer that counts values was given several sizes."""
    size = max(map(len, values))
    if type(observer) is ao.HistogramObserver and any(len(x) < size for x in values):
        return None
    return [torch.cat([x, x[:1].expand(size - len(x), 1)]) for x in values]


def describe(observer):
    """The arguments of an observer."""
    keywords = {"dtype": observer.dtype, "qscheme": observer.qscheme, "eps": float(observer.eps)}
    if observer.has_customized_qrange:
        keywords |= {"quant_min": observer.quant_min, "quant_max": observer.quant_max}
    else:
        keywords["reduce_range"] = observer.reduce_range
    if isinstance(observer, ao.MovingAverageMinMaxObserver):
        keywords["averaging_constant"] = observer.averaging_constant
    return type(observer).with_args(**keywords)


def observe(cases):
    """(zero point, scale) that Octet's observers choose. All were given as many tensors."""
    module, mapping = _with_inputs(len(cases)), ao.QConfigMapping()
    for i, (observer, _) in enumerate(cases):
        mapping.set_module_name(f"layers.{i}", ao.QConfig(activation=describe(observer), weight=ao.default_weight_observer))
    samples = list(zip(*(values for _, values in cases)))
    prepared = quantize_fx.prepare_fx(module, mapping, samples[0])
    for sample in samples:
        prepared(*sample)
    graph = torch_graphs.read_text(quantize_fx.convert_to_reference_fx(prepared).code)
    found = {name: (zero, scale) for name, _, zero, scale in graph.quantized()}
    return [found[f"x{i}"] for i in range(len(cases))]


def differ(observer, values, zero, scale):
    their_scale, their_zero = (float(x) for x in observer.calculate_qparams())
    if type(observer) is ao.HistogramObserver:
        x = torch.cat([value.flatten() for value in values])
        errors = [(torch.fake_quantize_per_tensor_affine(x, s, int(z), observer.quant_min, observer.quant_max) - x).square().mean()
                  for s, z in ((scale, zero), (their_scale, their_zero))]
        same = errors[0] <= errors[1] or (abs(scale / their_scale - 1) <= NEAR_OF_HISTOGRAMS and abs(zero - their_zero) <= torch_graphs.STEPS_OF_HISTOGRAMS)
    else:
        same = zero == their_zero and ulps(scale, their_scale) <= ULPS
    return None if same else f"{type(observer).__name__}: scale {scale!r}, zero point {zero}, PyTorch {their_scale!r}, {their_zero:.0f}"


def check(seed, counts):
    """What differs, or None; `counts` are added up by kind."""
    case = torch_fuzz.Case(seed)
    try:
        recorded = record(case)
    except Exception as error:  # noqa: BLE001  (PyTorch's own limits)
        raise torch_fuzz.LeftOut(f"PyTorch raises {type(error).__name__}") from error
    groups, wrong = defaultdict(list), []
    for observer, values in recorded:
        if padded := pad(observer, values):
            groups[len(values)].append((observer, padded))
        else:
            counts["histograms of several sizes, left out"] += 1
    for cases in groups.values():
        for (observer, values), found in zip(cases, observe(cases)):
            counts[type(observer).__name__] += 1
            wrong.append(differ(observer, values, *found))
    return "; ".join(filter(None, wrong)) or None


def run(seeds):
    """What differs by seed, how many were left out for which reason, and how many observers were compared, by kind."""
    counts = Counter()
    wrong, reasons = torch_fuzz.run(seeds, lambda seed: check(seed, counts))
    return wrong, reasons, counts


def main(first, last):
    wrong, reasons, counts = run(range(first, last))
    print(f"{last - first} modules, {len(wrong)} differ, {sum(reasons.values())} left out ({dict(reasons)}), observers: {dict(counts)}")
    return bool(wrong)


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules through prepare_qat_fx, two steps of training and conversion, in PyTorch and here: `torch_fuzz_training.py 0 500`."""
import copy
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build" / "python"))
import torch  # noqa: E402
import torch_deviations  # noqa: E402
import torch_fuzz  # noqa: E402
import torch_graphs  # noqa: E402
from octet.torch import quantize_fx  # noqa: E402
from octet.torch.front.trace import Tracer, trace  # noqa: E402
from torch import nn  # noqa: E402
from torch.ao.quantization import quantize_fx as theirs  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402
from torch_random import make_network  # noqa: E402
from torch_random_policies import ENGINES  # noqa: E402

STEPS, RATE = 2, 0.01
#: Training amplifies differences in the last bits; steps of fake-quantize modules follow them. A part of a scale, and steps of a zero point.
NEAR, STEPS_OF_ZERO = 0.02, 2


#: What octet.torch refuses to train, with a remedy.
REFUSED = ("values inside of a module are quantized, which cannot be trained",)


def train(module, inputs):
    optimizer = torch.optim.SGD(module.parameters(), RATE) if list(module.parameters()) else None
    for _ in range(STEPS):
        results = [x for x in pytree.tree_leaves(module(*(x.clone() for x in inputs))) if x.requires_grad]
        if optimizer and results:
            optimizer.zero_grad()
            sum(x.square().mean() for x in results).backward()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
    return module.eval()


def make(seed):
    """A module to be trained, without randomness, and its inputs."""
    module, inputs = make_network(seed)
    for part in module.modules():
        if isinstance(part, (nn.Dropout, nn.Dropout2d)):
            part.p = 0.0
    return module.train(), inputs


def differ(ours, reference):
    if ours.edges() != reference.edges():
        return f"readers: only here {sorted(ours.edges() - reference.edges())}, only PyTorch {sorted(reference.edges() - ours.edges())}"
    for (*name, zero, scale), (*other, their_zero, their_scale) in zip(*(sorted(set(graph.quantized())) for graph in (ours, reference))):
        if name != other or abs(zero - their_zero) > STEPS_OF_ZERO or abs(scale / their_scale - 1) > NEAR:
            return f"{name}: scale {scale!r}, zero point {zero}, PyTorch {other} {their_scale!r}, {their_zero}"
    return None


def check(seed):
    """What differs after training, or None."""
    module, inputs = make(seed)
    engine = ENGINES[seed % len(ENGINES)]
    mapping, backend = torch_fuzz.THEIRS.get_default_qat_qconfig_mapping(engine, version=0), torch_fuzz.THEIRS.get_native_backend_config()
    traced = trace(module, Tracer())
    if torch_deviations.is_confused(traced):
        raise torch_fuzz.LeftOut("fused for several calls")
    try:
        prepared = theirs.prepare_qat_fx(copy.deepcopy(module), mapping, inputs)
        if found := torch_deviations.find_in_prepared(traced, prepared, backend, mapping):
            raise torch_fuzz.LeftOut(found)
        if torch_deviations.list_cut(prepared, backend):
            raise torch_fuzz.LeftOut("cut")
        reference = theirs.convert_to_reference_fx(train(prepared, inputs))
        if found := torch_deviations.find_in_reference(reference, mapping):
            raise torch_fuzz.LeftOut(found)
        expected = torch_graphs.read_module(reference, inputs)
    except torch_fuzz.LeftOut:
        raise
    except Exception as error:  # noqa: BLE001  (PyTorch's own limits)
        raise torch_fuzz.LeftOut(f"PyTorch raises {type(error).__name__}") from error
    try:
        converted = quantize_fx.convert_to_reference_fx(train(quantize_fx.prepare_qat_fx(copy.deepcopy(module), mapping, inputs), inputs))
    except torch_fuzz.octet.Error as error:
        if found := next((text for text in REFUSED if text in str(error)), None):
            raise torch_fuzz.LeftOut(f"octet.torch refuses: {found}") from error
        raise
    names = torch_graphs.list_names(traced, torch_graphs.find_aliases(traced, reference))
    return differ(torch_graphs.rename(torch_graphs.read_text(converted.code), names), expected)


def main(first, last):
    wrong, reasons = torch_fuzz.run(range(first, last), check, is_prepared=True)
    print(f"{last - first} modules trained, {len(wrong)} differ, {sum(reasons.values())} left out ({dict(reasons)})")
    return bool(wrong)


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))

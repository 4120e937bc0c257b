# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules through PyTorch's FX quantization and octet.torch: `torch_fuzz.py 0 5000` prints what differs, seed by seed.

Every other seed gives Octet its own objects, the rest PyTorch's.
"""
import copy
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent))
if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build" / "python"))
import octet.torch  # noqa: E402
import torch  # noqa: E402
import torch_deviations  # noqa: E402
import torch_graphs  # noqa: E402
import torch_operators  # noqa: E402
import torch_random  # noqa: E402
import torch_random_policies as policies  # noqa: E402
import torch_weights  # noqa: E402
from octet._compiler import find_compiler  # noqa: E402
from octet.torch import _compilation, quantize_fx  # noqa: E402
from octet.torch.front.trace import Tracer, trace  # noqa: E402
from torch.ao import quantization as ao  # noqa: E402
from torch.ao.quantization import backend_config as ao_backends  # noqa: E402
from torch.ao.quantization.backend_config import onednn, x86  # noqa: E402
from torch.ao.quantization.quantize_fx import convert_fx, convert_to_reference_fx  # noqa: E402

THEIRS = SimpleNamespace(**{**vars(ao_backends), **vars(x86), **vars(onednn), **vars(ao)})
OURS = SimpleNamespace(**{**vars(octet.torch.backend_config), **vars(octet.torch)})


#: Units in the last place between scales of values that differ in their last bits, where a difference of nearly equal numbers or a normalization of
#: small ones follows. `torch_fuzz_observers.py` compares observers without them.
AMPLIFIED = 2048


class LeftOut(Exception):
    """A module that PyTorch itself mistakes or refuses, or that holds a deviation (docs/deviations.md); the text says which."""


class Case:
    """A module with inputs, samples and policies, made from a seed."""

    def __init__(self, seed):
        self.seed = seed
        try:
            self.module, self.inputs = torch_random.make_network(seed)
        except RuntimeError as error:  # a view of what does not lie in order
            raise LeftOut("PyTorch raises RuntimeError") from error
        self.samples = [self.inputs, tuple(torch_random.make_like(x) for x in self.inputs)]
        self.traced = trace(self.module, Tracer())
        self.backend = policies.make_backend(seed, THEIRS)
        self.mapping, self.is_histogram = policies.make_mapping(seed, THEIRS, self.traced)

    def prepare_theirs(self):
        """PyTorch's reference model; LeftOut if there is nothing to compare."""
        if torch_deviations.is_confused(self.traced):
            raise LeftOut("fused for several calls")
        backend = self.backend or THEIRS.get_native_backend_config()
        try:
            prepared = torch_graphs.prepare_with_torch(self.module, self.mapping, self.inputs, self.samples, backend_config=self.backend)
            found = torch_deviations.find_in_prepared(self.traced, prepared, backend, self.mapping)
            self.cut = torch_deviations.list_cut(prepared, backend)
            self.prepared = copy.deepcopy(prepared)
            reference = convert_to_reference_fx(prepared)
        except Exception as error:  # noqa: BLE001  (PyTorch's own limits)
            raise LeftOut(f"PyTorch raises {type(error).__name__}") from error
        if found := found or torch_deviations.find_in_reference(reference, self.mapping):
            raise LeftOut(found)
        return reference

    def prepare_ours(self):
        mapping, backend = self.mapping, self.backend
        if self.seed % 2:
            mapping, _ = policies.make_mapping(self.seed, OURS, self.traced)
            backend = policies.make_backend(self.seed, OURS)
        prepared = quantize_fx.prepare_fx(self.module, mapping, self.inputs, backend_config=backend)
        for sample in self.samples:
            prepared(*(x.clone() for x in sample))
        return prepared


def check(seed):
    """What differs, or None."""
    case = Case(seed)
    reference = case.prepare_theirs()
    try:
        converted = quantize_fx.convert_to_reference_fx(case.prepare_ours())
    except octet.CompileError as error:
        if "expected one activation observer for the fused" in str(error):
            raise LeftOut("unequal parts") from error
        raise
    # PyTorch compares the backend's constraints with an operator's own QConfig, whatever observers its input and its result have.
    reasons = [str(row.get("reason")) for row in converted.report.data["operators"]]
    if any("of the input's observer" in reason for reason in reasons):
        raise LeftOut("input outside the backend's range")
    if any("the backend fixes the result's" in reason for reason in reasons):
        raise LeftOut("joined known range")
    names = torch_graphs.list_names(case.traced, torch_graphs.find_aliases(case.traced, reference))
    ours = torch_graphs.rename(torch_graphs.read_text(converted.code), names)
    theirs = torch_graphs.read_module(reference, case.inputs)
    found = torch_graphs.differ(ours, theirs, case.is_histogram, case.cut)
    if found and not torch_graphs.differ(ours, theirs, case.is_histogram, case.cut, AMPLIFIED):
        raise LeftOut("amplified last bits")
    weights = torch_weights.read_theirs(reference)
    return found or (weights and torch_weights.differ(torch_weights.read_ours(converted._converted.bytecode), weights)) or None


def run_cut(case, converted, inputs):
    """The outputs of a converted module that was cut, by name."""
    compiler = Path(find_compiler())
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "cut.mlir", Path(folder) / "cut.so"
        converted.save(Path(folder) / "model.mlirbc")
        text = subprocess.run([compiler.parent / "octet-opt", Path(folder) / "model.mlirbc"], check=True, capture_output=True, text=True).stdout
        source.write_text(torch_operators.cut(text)[0])
        subprocess.run([compiler, source, "-o", library], check=True, capture_output=True)
        model = octet.load(library)
        inputs = {**dict(zip(converted._source.get_network(case.inputs).inputs, case.inputs)), **inputs}
        return model.run({x.name: inputs[x.name].contiguous().numpy() for x in model.inputs})


def count_operators(seed, engine):
    """What torch_operators.compare says of a module; LeftOut if there is nothing to compare."""
    case = Case(seed)
    if case.is_histogram:
        raise LeftOut("histograms, whose scales differ")
    torch.backends.quantized.engine, before = engine, torch.backends.quantized.engine
    try:
        reference = case.prepare_theirs()
        if case.cut:
            raise LeftOut("cut")
        converted = quantize_fx.convert_to_reference_fx(case.prepare_ours())
        if any("the weight observer yields" in str(row.get("reason")) for row in converted.report.data["operators"]):
            raise LeftOut("weight outside the backend's range")
        names = torch_graphs.list_names(case.traced, torch_graphs.find_aliases(case.traced, reference))
        if not torch_graphs.read_module(reference, case.inputs).pairs or torch_deviations.is_dynamic(reference):
            raise LeftOut("nothing static")
        try:
            lowered = convert_fx(case.prepared)
        except Exception:  # noqa: BLE001  (PyTorch's own limits)
            lowered = None
        return torch_operators.compare(case, reference, lowered, converted, names, lambda *args: run_cut(case, *args))
    finally:
        torch.backends.quantized.engine = before


def run(seeds, check=check, is_prepared=False):
    """What differs by seed, and how many were left out for which reason. `is_prepared`: the prepared network is needed."""
    wrong, reasons, prepare = {}, Counter(), _compilation.prepare
    if not is_prepared:
        _compilation.prepare = lambda *_: ("", b"")  # converting says the same
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            try:
                found = check(seed)
            except LeftOut as reason:
                reasons[str(reason)] += 1
                continue
            except Exception as error:  # noqa: BLE001  (each is a finding)
                found = f"{type(error).__name__}: {error}"
            if found:
                wrong[seed] = found
                print(f"{seed}: {found}"[:900], flush=True)
    _compilation.prepare = prepare
    return wrong, reasons


def run_operators(seeds, engine):
    """The sums of count_operators, what went wrong by seed, and how many were left out for which reason."""
    counts, faults, reasons, prepare = {}, {}, Counter(), _compilation.prepare
    _compilation.prepare = lambda *_: ("", b"")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            try:
                for kind, numbers in count_operators(seed, engine).items():
                    torch_operators.add_counts(counts, kind, numbers)
                    if numbers[2]:
                        print(f"{seed}: {kind}: {numbers[2]} of {numbers[0]} differ by more than a step", flush=True)
            except LeftOut as reason:
                reasons[str(reason)] += 1
            except Exception as error:  # noqa: BLE001  (each is a finding)
                faults[seed] = f"{type(error).__name__}: {error}"
                print(f"{seed}: {faults[seed]}"[:600], flush=True)
    _compilation.prepare = prepare
    return counts, faults, reasons


def main_operators(first, last, engine):
    counts, faults, reasons = run_operators(range(first, last), engine)
    for (against, kind), (elements, one, farther) in sorted(counts.items()):
        print(f"{against:10} {kind:24} {elements:8} {one:6} {farther:6}")
    print({" ".join(key): number for key, number in torch_operators.total(counts).items()},
          {" ".join(key): number for key, number in torch_operators.total(counts, with_norm=False).items() if key[0] == "int32 bias"}, dict(reasons), f"{len(faults)} faults")
    return bool(faults)


def main(first, last):
    start = time.monotonic()
    wrong, reasons = run(range(first, last))
    left_out = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    print(f"{last - first} modules, {len(wrong)} differ, {sum(reasons.values())} left out ({left_out}), {time.monotonic() - start:.0f} s")
    return bool(wrong)


if __name__ == "__main__":
    torch.set_num_threads(1)
    numbers = int(sys.argv[1]), int(sys.argv[2])
    sys.exit(main_operators(*numbers, sys.argv[3]) if len(sys.argv) > 3 else main(*numbers))

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules: what PyTorch's reference models quantize, and what those of octet.torch do. `torch_fuzz.py` takes other seeds."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
pytest.importorskip("octet")
import torch_fuzz  # noqa: E402
import torch_fuzz_observers  # noqa: E402
import torch_fuzz_training  # noqa: E402
import torch_graphs  # noqa: E402
import torch_random  # noqa: E402
from torch import nn  # noqa: E402

#: Of so many modules, those of which most are compared: the others hold a deviation, or PyTorch refuses them.
MODULES, BATCH = 200, 20


def test_same_seed_same_module():
    first, again, other = (torch_fuzz.Case(seed) for seed in (3, 3, 4))
    assert str(first.traced.graph) == str(again.traced.graph) != str(other.traced.graph)
    assert all(torch.equal(a, b) for a, b in zip(first.inputs, again.inputs))


@pytest.mark.parametrize("first", range(0, MODULES, BATCH))
def test_reference_models_are_pytorchs(compiler, first):
    wrong, left_out = torch_fuzz.run(range(first, first + BATCH))
    assert not wrong
    assert sum(left_out.values()) < BATCH * 3 // 4


def test_observers_are_pytorchs(compiler):
    """On the same values; `torch_fuzz_observers.py` takes other seeds."""
    wrong, left_out, counts = torch_fuzz_observers.run(range(2 * BATCH))
    assert not wrong
    assert sum(left_out.values()) < BATCH // 2
    assert all(counts[kind.__name__] for kind in torch_fuzz_observers.KINDS)


def test_trained_models_are_pytorchs(compiler):
    """Placement, and qparams within what two steps of training leave; `torch_fuzz_training.py` takes other seeds."""
    wrong, left_out = torch_fuzz.run(range(BATCH), torch_fuzz_training.check, is_prepared=True)
    assert not wrong
    assert sum(left_out.values()) < BATCH * 3 // 4


@pytest.mark.parametrize("size, wanted", [(1, 2), (5, 2), (5, 3)])
def test_windows_of_several_sizes_have_the_scale_of_their_input(compiler, size, wanted):
    """An adaptive pool is means of slices, joined: parts of one operator."""
    class Pool(torch_fuzz.Case):
        def __init__(self):
            torch.manual_seed(0)
            layers = nn.Sequential(nn.Conv2d(2, 3, 1), nn.AdaptiveAvgPool2d(wanted), nn.Conv2d(3, 2, 1)).eval()
            self.seed, self.module, self.inputs, self.is_histogram, self.backend = 0, layers, (torch.randn(1, 2, size, size),), False, None
            self.samples, self.traced = [self.inputs], torch_fuzz.trace(layers, torch_fuzz.Tracer())
            values = torch_fuzz.ao.QConfig(activation=torch_fuzz.ao.MinMaxObserver, weight=torch_fuzz.ao.default_weight_observer)
            self.mapping = torch_fuzz.ao.QConfigMapping().set_global(values)

    case = Pool()
    reference, converted = case.prepare_theirs(), torch_fuzz.quantize_fx.convert_to_reference_fx(case.prepare_ours())
    names = torch_graphs.list_names(case.traced, torch_graphs.find_aliases(case.traced, reference))
    assert torch_graphs.differ(torch_graphs.rename(torch_graphs.read_text(converted.code), names), torch_graphs.read_module(reference, case.inputs)) is None


def test_a_difference_is_found(compiler):
    """Of a comparison with the models of other modules."""
    class Other(torch_fuzz.Case):
        def prepare_ours(self):
            self.module, self.inputs = torch_random.make_network(self.seed)
            for parameter in self.module.parameters():
                parameter.data *= 1.5
            return super().prepare_ours()

    case = Other(1)
    reference = case.prepare_theirs()
    converted = torch_fuzz.quantize_fx.convert_to_reference_fx(case.prepare_ours())
    names = torch_graphs.list_names(case.traced, torch_graphs.find_aliases(case.traced, reference))
    ours = torch_graphs.rename(torch_graphs.read_text(converted.code), names)
    assert torch_graphs.differ(ours, torch_graphs.read_module(reference, case.inputs), case.is_histogram)


def test_a_difference_of_observers_is_found():
    values = [torch.tensor([-1.0, 2.0])]
    observer = torch_fuzz_observers.ao.MinMaxObserver()
    observer(values[0])
    scale, zero = (float(x) for x in observer.calculate_qparams())
    assert torch_fuzz_observers.differ(observer, values, int(zero), scale) is None
    assert torch_fuzz_observers.differ(observer, values, int(zero) + 1, scale)
    assert torch_fuzz_observers.differ(observer, values, int(zero), scale * (1 + 4e-7))


def test_a_histogram_that_rounds_worse_is_found():
    """One that differs by more than bins do may round its values as well as PyTorch's, never worse."""
    values = [torch.linspace(-1, 2, 4096)]
    observer = torch_fuzz_observers.ao.HistogramObserver()
    observer(values[0])
    scale, zero = (float(x) for x in observer.calculate_qparams())
    assert torch_fuzz_observers.differ(observer, values, int(zero), scale * 1.04) is None
    assert torch_fuzz_observers.differ(observer, values, int(zero), scale * 1.2)
    observer.min_val, observer.max_val = 4 * observer.min_val, 4 * observer.max_val
    observer._non_linear_param_search = lambda: (observer.min_val, observer.max_val)
    assert torch_fuzz_observers.differ(observer, values, int(zero), scale) is None

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of PyTorch compiled without samples, compared with what PyTorch computes."""
import numpy as np
import torch
from torch.utils import _pytree as pytree

import octet


class Cases(torch.nn.Module):
    """One module that calls every case, (name, callable or module, inputs), so that a single compilation tests many."""

    def __init__(self, cases):
        super().__init__()
        self.cases = cases
        for name, function, _ in cases:
            if isinstance(function, torch.nn.Module):
                self.add_module(name, function.eval())
        self.inputs = [tensor for _, _, inputs in cases for tensor in inputs]

    def run(self, tensors):
        tensors, results = list(tensors), []
        for _, function, inputs in self.cases:
            results.append(function(*(tensors.pop(0) for _ in inputs)))
        return results

    def make(self):
        """Traced modules have one argument for each input."""
        names = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        space = {}
        exec(f"def forward(self, {names}):\n    return self.run([{names}])\n", space)
        return type("Cases", (Cases,), {"forward": space["forward"]})(self.cases).eval()


def copy_of(tensors):
    """In-place operators write their operands."""
    return [tensor.detach().clone() for tensor in tensors]


def run_compiled(network, inputs, folder):
    """The outputs of a translated network for tensors, as a list of arrays."""
    path = folder / "network.mlirbc"
    path.write_bytes(network.bytecode)
    model = octet.compile(str(path), cpu_level="avx2")
    arrays = {name: (tensor.float() if tensor.is_floating_point() else tensor).numpy() for name, tensor in zip(network.inputs, inputs)}
    return list(model.run(arrays).values())


def find_difference(found, expected, tolerance=1e-5):
    """What is wrong with a result, or None: floats within `tolerance` of the largest magnitude, all else exact."""
    expected = expected.detach()
    if tuple(found.shape) != tuple(expected.shape):
        return f"shape {found.shape}, expected {tuple(expected.shape)}"
    if not expected.is_floating_point():
        wrong = int((found != expected.numpy()).sum())
        return f"{wrong} of {found.size} differ" if wrong else None
    expected = expected.float().numpy().astype(np.float64)
    infinite = ~np.isfinite(expected)
    if not np.array_equal(found[infinite], expected[infinite].astype(np.float32), equal_nan=True):
        return "NaN or infinite values differ"
    rest = np.where(infinite, 0, expected)
    difference = np.abs(np.where(infinite, 0, found) - rest).max(initial=0)
    limit = tolerance * max(np.abs(rest).max(initial=0), 1e-3)
    return f"differs by {difference}, more than {limit}" if not difference <= limit else None


def leaves(results):
    return [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]

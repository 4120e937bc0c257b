#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accuracy of a small network trained by `prepare_qat_fx` and converted, PyTorch's beside Octet's.

    torch_training.py [--trainings N]

A row a training (seed): the float network's accuracy in per cent of 1000 pictures, then PyTorch's trained module and what it
converts to, then Octet's. The last row has the means. Needs torch with torch.ao.quantization and scikit-learn.
"""
import argparse
import pathlib
import sys
import warnings

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "build" / "python"), str(SOURCE / "test" / "Python")]

import numpy as np  # noqa: E402
import octet.torch  # noqa: E402
import test_torch_qat as test  # noqa: E402
import torch  # noqa: E402
from octet.torch import quantize_fx  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from torch.ao.quantization import disable_observer  # noqa: E402
from torch.ao.quantization import quantize_fx as theirs  # noqa: E402


def measure(prepared, convert, disable_observer, data, seed):
    """The trained module's accuracy, and the converted one's."""
    test.train(prepared, data, 100, 0.01, seed)
    prepared.eval().apply(disable_observer)
    return [test.accuracy(prepared, data), test.accuracy(convert(prepared), data)]


def run(data, seed):
    torch.manual_seed(seed)
    module = test.Digits().train()
    test.train(module, data, 150, seed=seed)
    state = module.state_dict()
    return ([test.accuracy(module.eval(), data)]
            + measure(test.prepare_theirs(theirs, data, state=state), theirs.convert_fx, disable_observer, data, seed)
            + measure(test.prepare(data, state=state), quantize_fx.convert_fx, octet.torch.disable_observer, data, seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainings", type=int, default=24)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    digits = load_digits()
    data = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32), torch.tensor(digits.target)
    rows = []
    print(f"{'seed':>4} {'float':>7} {'PyTorch':>15} {'Octet':>15}")
    for seed in range(arguments.trainings):
        rows.append(run(data, seed))
        print(f"{seed:4}" + "".join(f" {value:7.2f}" for value in rows[-1]), flush=True)
    print("mean" + "".join(f" {value:7.2f}" for value in np.mean(rows, 0)))


if __name__ == "__main__":
    main()

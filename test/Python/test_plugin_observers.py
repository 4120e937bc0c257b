# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Observers that octet-lower-observers has turned into upstream code, run by MLIR's runner."""

import re

import numpy as np
import pytest

from stock_opt import dense


def read_statistics(text, observer):
    numbers = re.search(rf"octet\.observer @{observer} .*? statistics dense<\[?([^]>]*)\]?> : tensor<2xf32>", text)[1]
    return [float(number) for number in numbers.split(",")]


POLICY = "octet.backend @none {}\noctet.qconfig_mapping @none_mapping {}\n"


@pytest.mark.parametrize(
    "observer",
    [
        "min_max<dtype = ui8>",
        "moving_average_min_max<dtype = ui8>",
        "per_channel_min_max<dtype = ui8, axis = 1>",
        "channel_min_max<dtype = ui8, axis = 1>",
        "moving_average_per_channel_min_max<dtype = ui8, axis = 1>",
        "histogram<dtype = ui8>",
        "percentile<dtype = ui8>",
        "entropy<dtype = ui8>",
        "mean_squared_error<dtype = ui8>",
    ],
)
def test_what_is_seen_at_run_time_is_what_is_seen_of_a_constant(stock, observer):
    """Constants are observed on the host: the same numbers give the same scales."""
    sample = np.random.RandomState(0).standard_t(3, (2, 3, 50)).astype(np.float32)
    observers = "".join(f"octet.observer @{name} #octet.{observer}\n" for name in ("seen", "constant"))
    function = f"""func.func @net(%x: tensor<2x3x50xf32>) -> tensor<2x3x50xf32> {{
  %0 = octet.observe %x by @seen : tensor<2x3x50xf32>
  %c = arith.constant {dense(sample)}
  %1 = octet.observe %c by @constant : tensor<2x3x50xf32>
  %2 = arith.addf %0, %1 : tensor<2x3x50xf32>
  return %2 : tensor<2x3x50xf32>
}}
"""
    reference = stock.run(stock.calibrate(observers + function + POLICY, [sample]), "octet-convert")
    seen, constant = re.findall(r"octet\.dequantize .*?(!quant\.uniform<[^>]*>)>\) -> ", reference)
    # A constant's integers are those of the type's bounds, as an activation's are.
    assert seen == constant


def test_runs_and_their_order_do_not_matter(stock):
    samples = [np.random.RandomState(seed).randn(2, 5).astype(np.float32) for seed in range(4)]
    network = """octet.observer @x #octet.min_max<dtype = ui8>
func.func @net(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %0 = octet.observe %x by @x : tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}
"""
    expected = [np.float32(min(s.min() for s in samples)), np.float32(max(s.max() for s in samples))]
    for order in samples, samples[::-1]:
        assert np.array_equal(np.float32(read_statistics(stock.calibrate(network, order), "x")), expected)


def test_sizes_that_are_known_at_run_time(stock):
    """Two values of different shapes share the observer."""
    samples = [np.random.RandomState(seed).randn(5, 3, 7).astype(np.float32) for seed in range(3)]
    network = """octet.observer @x #octet.min_max<dtype = ui8>
func.func @net(%x: tensor<5x3x7xf32>) -> tensor<5x3x7xf32> {
  %0 = tensor.cast %x : tensor<5x3x7xf32> to tensor<?x3x?xf32>
  %1 = octet.observe %0 by @x : tensor<?x3x?xf32>
  %2 = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<?x3x?xf32> into tensor<?x?xf32>
  %3 = arith.addf %2, %2 : tensor<?x?xf32>
  %4 = octet.observe %3 by @x : tensor<?x?xf32>
  %5 = tensor.cast %1 : tensor<?x3x?xf32> to tensor<5x3x7xf32>
  return %5 : tensor<5x3x7xf32>
}
"""
    expected = [np.float32(2 * min(s.min() for s in samples)), np.float32(2 * max(s.max() for s in samples))]
    assert np.array_equal(np.float32(read_statistics(stock.calibrate(network, samples), "x")), expected)


def test_observers_in_branches_and_loops(stock):
    """Values in a branch that is taken once, and in a loop that runs three times."""
    network = """octet.observer @branch #octet.min_max<dtype = ui8>
octet.observer @loop #octet.min_max<dtype = ui8>
func.func @net(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %first = tensor.extract %x[%c0] : tensor<2xf32>
  %positive = arith.cmpf ogt, %first, %zero : f32
  %0 = scf.if %positive -> tensor<2xf32> {
    %1 = octet.observe %x by @branch : tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  %2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %0) -> tensor<2xf32> {
    %3 = octet.observe %y by @loop : tensor<2xf32>
    %4 = arith.addf %3, %3 : tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  }
  return %2 : tensor<2xf32>
}
"""
    calibrated = stock.calibrate(network, [np.float32([1, -2]), np.float32([-3, 1])])
    assert read_statistics(calibrated, "branch") == [-2, 1]
    assert read_statistics(calibrated, "loop") == [-12, 4]

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The law of numbers (docs/numerics.md) in NumPy, written from that page alone: it shares no code with the compiler.

`Network` evaluates an ONNX QDQ file as the integer program; the functions below are its operators, for tests of single ones.
"""

from .elementwise import (add, atan, ceil, clip, coarse, coarse_exp, cos, div, elu, erf, exp, floor, fma, fold_lanes, gelu, hard_sigmoid, hard_swish,
                          larger, leaky_relu, lesser, log, magnitude, mul, nearest, power, prelu, relu, sigmoid, sign, silu, sin, softmax,
                          softplus, sqrt, sub, tanh, thresholded_relu)
from .movement import resize
from .network import Network
from .pools import average_pool, average_pool_integer, max_pool, mean_integer, reduce
from .products import (Window, batch_norm, conv, conv_dynamic, conv_integer, fold_batch_norm, linear, linear_dynamic, linear_integer, matmul,
                       proves_no_overflow)
from .quantization import (QParams, accumulator_scale, choose_qparams, choose_qparams_as_onnx, dequantize,
                           dequantize_weights, fake_quantize, float_qparams, narrow, qparams, quantize, quantize_bias, quantize_dynamic, quantize_stored, quantize_weight, real_accumulator,
                           requantize, residual)
from .recurrent import gru, lstm, rnn

__all__ = [name for name in dir() if not name.startswith("_")]

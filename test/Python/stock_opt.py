# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the plugin share: a stock mlir-opt with it, and MLIR's runner as somebody else's compiler."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

LLVM = Path("/usr/lib/llvm-22")
TO_LLVM = (
    "convert-elementwise-to-linalg,one-shot-bufferize{bufferize-function-boundaries},func.func(convert-linalg-to-loops),expand-strided-metadata,lower-affine,"
    "convert-vector-to-scf,convert-scf-to-cf,convert-vector-to-llvm,convert-math-to-llvm,convert-to-llvm,reconcile-unrealized-casts"
)


def find(name):
    """The path of one of LLVM's tools, or None."""
    return shutil.which(name, path=f"{LLVM}/bin") or shutil.which(f"{name}-22")


def dense(array):
    """A constant's value and type."""
    return f"dense<{array.tolist()}> : tensor<{'x'.join(map(str, array.shape))}xf32>"


def insert(text, functions):
    """The module with further functions in front."""
    return re.sub(r"^module \{\n", lambda match: match[0] + functions, text, count=1, flags=re.M)


class StockOpt:
    """mlir-opt with the plugin alone."""

    def __init__(self, plugin, folder):
        self.plugin, self.folder = plugin, folder

    def run(self, text, passes, *options, plugin=True):
        """The module behind the passes, with what they print in front of it."""
        load = [f"--load-dialect-plugin={self.plugin}", f"--load-pass-plugin={self.plugin}"] if plugin else []
        command = [find("mlir-opt"), "-", "--allow-unregistered-dialect", *load, *options, f"--pass-pipeline=builtin.module({passes})"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, f"{passes}\n{done.stderr}"
        return done.stdout

    def execute(self, text, to_buffers=""):
        """What the function `main` prints."""
        lowered = self.run(text, to_buffers + TO_LLVM, plugin=False)
        library = LLVM / "lib" / "libmlir_c_runner_utils.so"
        command = [find("mlir-runner"), "-", "-e", "main", "-entry-point-result=void", f"-shared-libs={library}"]
        done = subprocess.run(command, input=lowered, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def calibrate(self, prepared, samples, to_buffers="", rewrite=lambda text: text):
        """Statistics of the function `net`, run on samples by MLIR's runner; `rewrite` stands for a compiler of other dialects."""
        observing = rewrite(self.run(prepared, "octet-lower-observers"))
        results = re.search(r"func\.func @net\(.*?\) -> ([^{]*) \{", observing)[1].strip()
        calls = "".join(call_net(number, sample, results) for number, sample in enumerate(samples))
        main = f"func.func @main() {{\n{calls}func.call @octet_print_statistics() : () -> ()\nreturn\n}}\n"
        statistics = self.folder / "statistics.mlir"
        statistics.write_text(self.execute(insert(observing, main), to_buffers))
        return self.run(prepared, f"octet-load-statistics{{files={statistics}}}")

    def evaluate(self, quant, sample, shape, to_buffers="", rewrite=lambda text: text):
        """The result of the reference model, in upstream's operators, for a sample: an array of f32 of that shape."""
        result = f"tensor<{'x'.join(map(str, shape))}xf32>"
        body = call_net(0, sample, result)
        body += "".join(f"%i{i} = arith.constant {i} : index\n" for i in range(max(shape)))
        for number, index in enumerate(np.ndindex(*shape)):
            at = ", ".join(f"%i{i}" for i in index)
            body += f"%e{number} = tensor.extract %y0[{at}] : {result}\n%b{number} = arith.bitcast %e{number} : f32 to i32\n"
            body += f"vector.print %b{number} : i32\n"
        text = insert(lower_casts(rewrite(quant)), f"func.func @main() {{\n{body}return\n}}\n")
        return np.array(self.execute(text, to_buffers).split(), np.int64).astype(np.int32).view(np.float32).reshape(shape)


def call_net(number, sample, results):
    kind = dense(sample).split(" : ")[1]
    return f"%x{number} = arith.constant {dense(sample)}\n%y{number} = func.call @net(%x{number}) : ({kind}) -> {results}\n"


# Somebody's lowering of quant's operators, with the law of docs/numerics.md: each cast becomes a call.

QUANTIZED = r"tensor<([x0-9]*)x!quant\.uniform<([ui])(\d+):f32(?::(\d+))?, ([^>]*)>>"


def read_type(match):
    """(shape, signed, width, scale, zero point), the last two as arrays that broadcast."""
    sizes, sign, width, axis, parameters = match
    shape = tuple(map(int, sizes.split("x")))
    pairs = [entry.split(":") for entry in parameters.strip("{}").split(",")]
    scales = np.array([np.float32(pair[0]) for pair in pairs], np.float32)
    zeros = np.array([float(pair[1]) if len(pair) > 1 else 0 for pair in pairs], np.float32)
    along = [1] * len(shape) if axis is None else [-1 if d == int(axis) else 1 for d in range(len(shape))]
    return shape, sign == "i", int(width), scales.reshape(along), zeros.reshape(along)


def lower_casts(text):
    functions = []

    def call(match):
        result, kind, operand = match.group(1, 2, 3)
        shape, signed, width, scale, zero = read_type(re.search(QUANTIZED, match[4]).groups())
        sizes = "x".join(map(str, shape))
        real, stored = f"tensor<{sizes}xf32>", f"tensor<{sizes}xi{width}>"
        constants = f"%s = arith.constant {dense(np.broadcast_to(scale, shape))}\n%z = arith.constant {dense(np.broadcast_to(zero, shape))}\n"
        symbol = f"cast{len(functions)}"
        if kind == "q":
            low, high = (-(2.0 ** (width - 1)), 2.0 ** (width - 1) - 1) if signed else (0.0, 2.0**width - 1)
            body = f"""%l = arith.constant dense<{low}> : {real}
%h = arith.constant dense<{high}> : {real}
%0 = arith.divf %x, %s : {real}
%1 = math.roundeven %0 : {real}
%2 = arith.addf %1, %z : {real}
%3 = arith.maximumf %2, %l : {real}
%4 = arith.minimumf %3, %h : {real}
%r = arith.fpto{"s" if signed else "u"}i %4 : {real} to {stored}
"""
            source, target = real, stored
        else:
            body = f"""%0 = arith.{"s" if signed else "u"}itofp %x : {stored} to {real}
%1 = arith.subf %0, %z : {real}
%r = arith.mulf %1, %s : {real}
"""
            source, target = stored, real
        functions.append(f"func.func private @{symbol}(%x: {source}) -> {target} {{\n{constants}{body}return %r : {target}\n}}\n")
        return f"{result} = func.call @{symbol}({operand}) : ({source}) -> {target}"

    text = re.sub(r"(%\S+) = quant\.([qd])cast (%\S+) : (.*)", call, text)
    # What is left are constants, which hold their storage values.
    text = re.sub(QUANTIZED, r"tensor<\1xi\3>", text)
    text = re.sub(r"quant\.scast (%\S+)", r"tensor.cast \1", text)
    return insert(text, "".join(functions))

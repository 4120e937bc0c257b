# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports that fail, for the tests of their messages."""

import os
import pathlib
import subprocess

from onnx_networks import make_network

BIN = pathlib.Path(os.environ.get("OCTET_BIN", pathlib.Path(__file__).parents[2] / "build" / "bin"))
CONV = ("c = Conv(x, w)\ny = Relu(c)", dict(constants={"w": (4, 3, 3, 3)}))


def network(**arguments):
    return make_network(CONV[0], **{**CONV[1], **arguments})


def import_file(tmp_path, data, *flags):
    """The completed process of an import, which leaves an earlier output alone."""
    if not isinstance(data, bytes):
        data = data.SerializeToString()
    (tmp_path / "net.onnx").write_bytes(data)
    output = tmp_path / "out.mlirbc"
    output.write_bytes(b"earlier")
    command = [BIN / "octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", output, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60), output


def expect_error(tmp_path, data, *parts, flags=()):
    result, output = import_file(tmp_path, data, *flags)
    assert result.returncode == 1, (result.returncode, result.stderr)
    assert result.stderr.count("error:") == 1, result.stderr
    assert result.stderr.startswith(str(tmp_path / "net.onnx")), result.stderr
    for part in parts:
        assert part in result.stderr, result.stderr
    assert output.read_bytes() == b"earlier"

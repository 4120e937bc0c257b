# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet-compile --bucket: a library of several networks of MLIR that are one network for several shapes."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")

WEIGHTS = np.random.default_rng(0).normal(size=(64, 64)).astype("<f4").tobytes().hex().upper()


def write(folder, length, name="x", output="y", op="relu"):
    """A layer of sequences of this length, as text."""
    kind = f"tensor<{length}x64xf32>"
    path = folder / f"{name}{output}{length}.mlir"
    path.write_text(f"""func.func @main(%x: {kind} {{nn.name = "{name}"}}) -> ({kind} {{nn.name = "{output}"}}) {{
  %w = nn.constant dense<"0x{WEIGHTS}"> : tensor<64x64xf32>
  %0 = nn.linear %x, %w {{octet.origin = #octet.origin<"fc">}} : ({kind}, tensor<64x64xf32>) -> {kind}
  %1 = nn.{op} %0 {{octet.origin = #octet.origin<"{op}">}} : ({kind}) -> {kind}
  return %1 : {kind}
}}
""")
    return path


@pytest.mark.parametrize("precision", ("float", "int8"))
def test_each_bucket_computes_what_its_network_does(tool, tmp_path, precision):
    files = {length: write(tmp_path, length) for length in (3, 24, 8)}
    samples = np.random.default_rng(1).normal(size=(5, 24, 64)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=samples)
    options = ["--float"]
    if precision == "int8":
        statistics = tmp_path / "statistics.mlir"
        tool("octet-compile", files[24], f"--calibration-data={tmp_path / 'samples.npz'}", f"--save-statistics={statistics}", "-o", tmp_path / "first.so")
        options = [f"--load-statistics={statistics}"]
    tool("octet-compile", files[3], "--bucket", files[24], "--bucket", files[8], *options, "--pad=x=0", "-o", tmp_path / "all.so")
    model = octet.load(tmp_path / "all.so")
    assert [bucket.inputs[0].shape for bucket in model.buckets] == [(24, 64), (8, 64), (3, 64)], "the largest first"
    for length, file in files.items():
        tool("octet-compile", file, *options, "-o", tmp_path / f"{length}.so")
        x = samples[0, :length]
        np.testing.assert_array_equal(model(x)["y"], octet.load(tmp_path / f"{length}.so")(x)["y"])
    np.testing.assert_array_equal(model(samples[0, :5])["y"], model(samples[0, :8])["y"][:5])
    sizes = [(tmp_path / f"{name}.so").stat().st_size for name in ("all", "24")]
    assert sizes[0] < 1.8 * sizes[1], "the weights are there once"


@pytest.mark.parametrize("make, options, message", [
    (lambda folder: write(folder, 3), [], "--bucket gives the bucket x=3x64 twice; omit one of them"),
    (lambda folder: write(folder, 4, name="z"), [], 'the inputs are "z" for z=4x64, but "x" for x=3x64; give one network for several shapes'),
    (lambda folder: write(folder, 4, output="z"), [], 'the outputs are "z" for x=4x64, but "y" for x=3x64; give one network for several shapes'),
    (lambda folder: write(folder, 4), ["--stop-after=fuse"], "--bucket gives several buckets, but --stop-after writes the network for one; omit it"),
    (lambda folder: write(folder, 4), ["--input-shape=x={3,4}x64"], "both --bucket and --input-shape give buckets; omit one of them"),
    (lambda folder: folder / "none.mlir", [], "cannot be read"),
])
def test_refusals(tool, tmp_path, make, options, message):
    done = tool("octet-compile", write(tmp_path, 3), "--bucket", make(tmp_path), "--float", *options, "-o", tmp_path / "net.so", check=False)
    assert done.returncode != 0 and message in done.stderr


def test_networks_that_passed_a_stage(tool, tmp_path):
    tool("octet-compile", write(tmp_path, 4), "--float", "--stop-after=fuse", "-o", tmp_path / "fused.mlirbc")
    done = tool("octet-compile", write(tmp_path, 3), "--bucket", tmp_path / "fused.mlirbc", "--float", "-o", tmp_path / "net.so", check=False)
    assert done.returncode != 0
    assert f"--bucket takes networks that no stage has passed, but '{tmp_path / 'fused.mlirbc'}' has passed 'fuse'; give the networks in front of it" in done.stderr

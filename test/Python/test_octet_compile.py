# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet-compile: what it writes, what it says, and how it fails."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

ROOT = Path(__file__).resolve().parents[2]
RANDOM = np.random.default_rng(11)
SAMPLES = RANDOM.normal(size=(24, 1, 3, 8, 8)).astype(np.float32)
STAGES = ["import", "fuse", "prepare", "calibrate", "convert", "lower", "layout", "program", "llvm"]


def make_network(batch=1):
    """Convolution, activation, depthwise convolution without a bias, pool, linear layer; as the bytes of an ONNX file."""
    from onnx import TensorProto, helper, numpy_helper

    def weight(name, *shape):
        return numpy_helper.from_array((RANDOM.normal(size=shape) * 0.3).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c0"], ["r0"], name="relu"),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], name="depthwise", pads=[1, 1, 1, 1], group=8),
        helper.make_node("GlobalAveragePool", ["c1"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["y"], name="linear", transB=1),
    ]
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 4])],
        [weight("w0", 8, 3, 3, 3), weight("b0", 8), weight("w1", 8, 1, 3, 3), weight("w2", 4, 8), weight("b2", 4)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A network and its samples."""
    path = tmp_path_factory.mktemp("network")
    (path / "net.onnx").write_bytes(make_network())
    np.savez(path / "samples.npz", x=SAMPLES)
    return path


@pytest.fixture
def run(tool, folder):
    """run(arguments...) compiles net.onnx in its folder and returns what was said; fails where that fails."""
    return lambda *arguments: tool("octet-compile", "net.onnx", *arguments, cwd=folder).stdout


@pytest.fixture
def refuse(tool, folder):
    """refuse(arguments...) compiles in vain; returns the one message. The good output that was there stays."""

    def refused(*arguments, model="net.onnx", output="kept.so"):
        kept = folder / "kept.so"
        kept.write_bytes(b"kept")
        before = sorted(path.name for path in folder.iterdir())
        done = tool("octet-compile", model, *arguments, "-o", output, check=False, cwd=folder)
        assert done.returncode == 1, done.stderr
        assert kept.read_bytes() == b"kept" and sorted(path.name for path in folder.iterdir()) == before
        assert done.stderr.count("error:") == 1, done.stderr
        return done.stderr

    return refused


# ---- what is written -----------------------------------------------------------------------------------------------------
def test_help_is_grouped_and_shows_examples(tool):
    text = tool("octet-compile", "--help").stdout
    for heading in ("Network:", "Calibration:", "Policy:", "Output:", "Examples:"):
        assert heading in text
    assert "--stop-after" in text and "--view-" not in text


def test_stages_are_told(run):
    lines = run("--calibration-data=samples.npz", "-o", "told.so", "--cpu-level=sse2").splitlines()
    assert [line.split()[0] for line in lines] == ["import", "quantize", "calibrate", "round", "correct", "compile", "wrote"]
    assert "net.onnx · 6 operators" in lines[0] and "2 conv, 1 linear" in lines[1] and "24 samples" in lines[2]


def test_report(run, folder):
    run("--calibration-data=samples.npz", "-o", "r.so", "--report=r.json")
    report = json.loads((folder / "r.json").read_text())
    assert report["precision"] == "int8" and report["corrected_biases"] == 2  # the last layer needs none
    assert [row["name"] for row in report["operators"] if row["verdict"].startswith("int8")][0] == "conv"
    assert report["output_bytes"] == (folder / "r.so").stat().st_size


@pytest.mark.parametrize("kind, beside", [("obj", "out.h"), ("llvm", None), ("asm", None), ("mlir", "out.mlir"), ("onnx", None)])
def test_emit(run, folder, kind, beside):
    run("--calibration-data=samples.npz", f"--emit={kind}", "-o", "out.x", "--cpu-level=avx2,sse2")
    data = (folder / "out.x").read_bytes()
    marks = {"obj": b"\x7fELF", "llvm": b"define ", "asm": b".text", "mlir": b"ML\xefR", "onnx": b"QuantizeLinear"}
    assert marks[kind] in data
    if beside:
        assert {"obj": "net_create", "mlir": "nn.conv"}[kind] in (folder / beside).read_text()


@pytest.mark.parametrize("stage", STAGES)
def test_stop_after(run, folder, stage):
    run("--calibration-data=samples.npz", f"--stop-after={stage}", "-o", f"{stage}.mlirbc", "--cpu-level=sse2")
    assert (folder / f"{stage}.mlirbc").read_bytes()[:4] == b"ML\xefR"
    text = (folder / f"{stage}.mlir").read_text()
    assert "conv" in text and "loc(" in text
    assert max(map(len, text.splitlines())) < 5000, "weights are not printed"


@pytest.mark.parametrize("stage", ["import", "fuse", "prepare", "calibrate", "convert", "lower"])
def test_ir_is_taken_up_where_it_stopped(run, tool, folder, stage):
    samples = "--calibration-data=samples.npz"
    run(samples, "--name=net", "-o", "whole.so", "--cpu-level=sse2")
    run(samples, f"--stop-after={stage}", "-o", "part.mlirbc")
    rest = [samples] if stage in ("import", "fuse", "prepare") else []
    tool("octet-compile", "part.mlirbc", *rest, "--name=net", "-o", "resumed.so", "--cpu-level=sse2", cwd=folder)
    for name in ("whole", "resumed"):
        tool("octet-run", f"{name}.so", "--input=samples.npz", f"--output={name}.npz", cwd=folder)
    np.testing.assert_array_equal(np.load(folder / "whole.npz")["y"], np.load(folder / "resumed.npz")["y"])


def test_float_code(run, folder):
    run("--float", "-o", "float.so")
    assert (folder / "float.so").stat().st_size > 0


def test_unwind_tables(run, folder, unbuilt):
    """From the hook, which the library's code calls, back to main: only with tables."""
    clang = shutil.which("clang-22") or shutil.which("cc") or unbuilt("no C compiler")
    (folder / "unwind.c").write_text(UNWIND)
    subprocess.run([clang, f"-I{ROOT}/include", "unwind.c", "-funwind-tables", "-o", "unwind"], cwd=folder, check=True)
    for options, expected in ([], "lost"), (["--unwind-tables"], "found"):
        run("--float", "--cpu-level=sse2", "--name=net", *options, "-o", "unwind.so")
        assert subprocess.run(["./unwind"], cwd=folder, check=True, capture_output=True, text=True).stdout == expected
        run("--float", "--cpu-level=sse2", "--name=net", "--emit=obj", *options, "-o", "unwind.o")
        assert (b"\0.eh_frame\0" in (folder / "unwind.o").read_bytes()) == bool(options)


UNWIND = """
#include "octet/Runtime/octet.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>
static const char *answer = "lost";
int main(void);
void hook(void *user, int64_t step, uint64_t nanoseconds) {
  void *frames[64];
  for (int i = backtrace(frames, 64); i-- > 0;)
    if ((char *)frames[i] >= (char *)main && (char *)frames[i] < (char *)main + 500)
      answer = "found";
}
int main(void) {
  void *library = dlopen("./unwind.so", RTLD_NOW);
  const octet_model_api *api = ((octet_entry_fn)dlsym(library, "net_octet_model_v1"))();
  octet_model *model = api->create(1, NULL, NULL, 0);
  static float x[3 * 8 * 8], y[4];
  api->set_step_hook(model, hook, NULL);
  if (api->run(model, (const void *[]){x}, (void *[]){y}))
    return 1;
  printf("%s", answer);
  return 0;
}
"""


def test_cross_compilation(run, folder):
    run("--calibration-data=samples.npz", "--target=aarch64-linux-gnu", "-o", "arm.so")
    assert (folder / "arm.so").read_bytes()[18] == 183  # EM_AARCH64


# ---- samples and statistics ----------------------------------------------------------------------------------------------
def test_order_threads_and_files_of_samples_leave_no_trace(run, folder):
    (folder / "shards").mkdir()
    order = RANDOM.permutation(len(SAMPLES))
    np.savez_compressed(folder / "shards" / "a.npz", x=SAMPLES[order[:9]])
    for i in order[9:]:
        np.save(folder / "shards" / f"{i}.npy", SAMPLES[i])
    np.savez(folder / "batches.npz", x=SAMPLES[:, 0])
    results = []
    for arguments in (["samples.npz", "--threads=1"], ["shards", "--threads=2"], ["batches.npz"]):
        run(f"--calibration-data={arguments[0]}", *arguments[1:], "-o", "order.so", "--cpu-level=sse2")
        results.append((folder / "order.so").read_bytes())
    assert results[0] == results[1] == results[2]


def test_threads_leave_no_trace_where_the_order_of_samples_does(run, folder):
    average, weight = "#octet.moving_average_min_max<dtype = ui8>", "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, axis = 0>"
    (folder / "average.mlir").write_text(f"octet.qconfig_mapping @own {{ octet.global #octet.qconfig<activation = {average}, weight = {weight}> }}")
    libraries = []
    for threads in (1, 3):
        run("--calibration-data=samples.npz", "--qconfig-mapping=average.mlir", f"--threads={threads}", "-o", "average.so", "--cpu-level=sse2")
        libraries.append((folder / "average.so").read_bytes())
    assert libraries[0] == libraries[1]


def test_statistics_merge(run, tool, folder):
    for name, part in (("first", SAMPLES[:10]), ("second", SAMPLES[10:])):
        np.savez(folder / f"{name}.npz", x=part)
        run(f"--calibration-data={name}.npz", f"--save-statistics={name}.stats", "--stop-after=calibrate", "-o", "s.mlirbc")
    run("--calibration-data=samples.npz", "--save-statistics=whole.stats", "--stop-after=calibrate", "-o", "s.mlirbc")
    done = tool("octet-compile", "net.onnx", "--load-statistics=first.stats", "--load-statistics=second.stats",
                "--save-statistics=merged.stats", "-o", "s.so", "--cpu-level=sse2", cwd=folder)
    assert "warning: the biases are not corrected: octet-correct-bias needs samples" in done.stderr
    assert "give some with --calibration-data, too" in done.stderr
    assert "biases are corrected only if there are samples, too" in tool("octet-compile", "--help").stdout
    assert (folder / "merged.stats").read_text() == (folder / "whole.stats").read_text()
    assert (folder / "first.stats").read_text() != (folder / "whole.stats").read_text()


@pytest.mark.parametrize("text, message", [
    ("", "' is missing"),
    ("this is no IR", "error:"),
    ("octet.observer @other #octet.min_max<dtype = ui8> statistics dense<0> : tensor<8xi8>", "the network has no observer 'other'"),
    (r'octet.observer @"o\0Ather" #octet.min_max<dtype = ui8> statistics dense<0> : tensor<8xi8>', r"the network has no observer 'o\x0Ather'"),
    ("octet.observer @x #octet.min_max<dtype = si8> statistics dense<0> : tensor<8xi8>", "observer 'x' is of another kind"),
    ("octet.observer @x #octet.mean_squared_error<dtype = ui8, eps = 8.67361737E-19 : f32> statistics dense<0> : tensor<4xi8>", "the statistics of observer 'x' do not fit"),
    ("octet.observer @x #octet.mean_squared_error<dtype = ui8, eps = 8.67361737E-19 : f32>", "the statistics of observer 'x' do not fit"),
])
def test_statistics_must_fit(refuse, folder, text, message):
    (folder / "wrong.stats").write_text(text)
    refusal = refuse("--load-statistics=wrong.stats")
    assert message in refusal
    assert (message == "error:") != ("; give statistics that were saved with this network, backend and QConfig mapping" in refusal)


@pytest.mark.parametrize("arrays, message", [
    ({"z": SAMPLES}, "expected an array 'x' for the network's input, but got 'z'"),
    ({"x": SAMPLES, "z": SAMPLES}, "the network has no input 'z'"),
    ({"x": SAMPLES.astype(np.float64)}, "array 'x': expected float32, but got float64"),
    ({"x": SAMPLES[..., :7]}, "array 'x': expected shape [1, 3, 8, 8], with or without a leading axis of samples, but got"),
    ({"x": SAMPLES[:0]}, "array 'x': the array is empty"),
    ({"x": np.where(np.arange(24)[:, None, None, None, None] == 5, np.float32("nan"), SAMPLES)},
     "sample 5 of input 'x' holds NaN or infinity"),
    ({"x": np.where(np.arange(24)[:, None, None, None, None] == 7, np.float32("inf"), SAMPLES)},
     "sample 7 of input 'x' holds NaN or infinity"),
])
def test_samples_must_fit(refuse, folder, arrays, message):
    np.savez(folder / "wrong.npz", **arrays)
    text = refuse("--calibration-data=wrong.npz")
    assert message in text and "wrong.npz" in text


def test_archives_of_many_arrays_take_little_memory(folder, compiler, measure_peak):
    """What is not read is not decompressed, and a message names some of it."""
    np.savez_compressed(folder / "many.npz", **{f"array{i}": SAMPLES[0, 0, 0, 0] for i in range(8000)})
    command = [compiler, "net.onnx", "--calibration-data=many.npz", "-o", "many.so"]
    with open(folder / "stderr", "wb") as stderr:
        code, peak = measure_peak(command, cwd=folder, stderr=stderr)
    message = (folder / "stderr").read_text()
    assert code == 1 and "'array7' and 7992 more" in message and len(message) < 1000
    assert peak < 400 << 20, "each of them once took 100 KiB"


def test_samples_must_be_there(refuse, folder):
    assert "missing.npz': no such file or folder" in refuse("--calibration-data=missing.npz")
    (folder / "empty").mkdir(exist_ok=True)
    assert "empty': the folder holds no .npz or .npy file" in refuse("--calibration-data=empty")
    (folder / "text.npz").write_text("no archive")
    assert "text.npz" in refuse("--calibration-data=text.npz")
    assert "int8 code needs samples; give --calibration-data, or --float" in refuse()
    assert "--calibration-data has no effect with --float" in refuse("--float", "--calibration-data=samples.npz")


@pytest.mark.parametrize("magnitude, where", [(3e38, "the values of 'x'"), (1e38, "the values of '")])
def test_samples_that_overflow_are_named(refuse, folder, magnitude, where):
    samples = SAMPLES.copy()
    samples[3] = np.where(np.arange(3 * 8 * 8).reshape(1, 3, 8, 8) % 2, magnitude, -magnitude)
    np.savez(folder / "large.npz", x=samples)
    text = refuse("--calibration-data=large.npz")
    assert f"'large.npz': sample 3: {where}" in text and "expected finite values, but the observer has seen" in text
    assert text.rstrip().endswith("remove or rescale that sample")


def test_statistics_that_overflow_are_refused(run, refuse, folder):
    (folder / "extremes.mlir").write_text("octet.qconfig_mapping @extremes { octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = "
                                          "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>> }")
    run("--qconfig-mapping=extremes.mlir", "--calibration-data=samples.npz", "--save-statistics=good.stats", "--stop-after=calibrate", "-o", "s.mlirbc")
    zero_to_infinity = "[0.0, 0x7F800000]"
    text, count = re.subn(r"(@x #octet\.min_max<[^>]*> statistics dense<)\[[^]]*\]", rf"\g<1>{zero_to_infinity}",
                          (folder / "good.stats").read_text())
    assert count == 1
    (folder / "wrong.stats").write_text(text)
    assert "the values of 'x': expected finite values" in refuse("--qconfig-mapping=extremes.mlir", "--load-statistics=wrong.stats")


@pytest.mark.parametrize("tensor, index", [("w0", [1, 2, 0, 1]), ("b2", [3])])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_weights_that_are_no_numbers_are_named(refuse, folder, tensor, index, value):
    from onnx import numpy_helper

    network = onnx.load_from_string(make_network())
    for i, initializer in enumerate(network.graph.initializer):
        if initializer.name == tensor:
            array = numpy_helper.to_array(initializer).copy()
            array[tuple(index)] = value
            network.graph.initializer[i].CopyFrom(numpy_helper.from_array(array, tensor))
    (folder / "wrong.onnx").write_bytes(network.SerializeToString())
    text = refuse("--calibration-data=samples.npz", model="wrong.onnx")
    place = ", ".join(map(str, index))
    assert f"reads the constant \"{tensor}\", which holds {value} at [{place}]; repair it, or keep the operator float" in text


# ---- what has no end, or is damaged --------------------------------------------------------------------------------------
@pytest.mark.parametrize("arguments, message", [
    (["--float"], "error: cannot be read: is not a regular file"),
    (["--calibration-data=samples.npz", "--backend={}"], "cannot read backend '{}': is not a regular file"),
    (["--calibration-data=samples.npz", "--qconfig-mapping={}"], "cannot read QConfig mapping '{}': is not a regular file"),
    (["--load-statistics={}"], "'{}': is not a regular file"),
    (["--calibration-data={}"], "'{}': not a regular file"),
])
@pytest.mark.parametrize("file", ["/dev/zero", "pipe"])
def test_what_has_no_end_is_not_read(refuse, folder, arguments, message, file):
    if not (folder / "pipe").exists():
        os.mkfifo(folder / "pipe")
    model = file if arguments == ["--float"] else "net.onnx"
    assert message.format(file) in refuse(*(argument.format(file) for argument in arguments), model=model)


def test_ir_that_is_no_file(refuse, folder):
    (folder / "folder.mlir").mkdir()
    assert "folder.mlir: error: cannot be read: is a folder" in refuse("--float", model="folder.mlir")
    assert "none.mlirbc: error: cannot be read: No such file or directory" in refuse("--float", model="none.mlirbc")


def test_damaged_bytecode_ends_in_a_message(tool, shared_spec, tmp_path):
    """MLIR's reader of version 22.1 crashes on this file."""
    done = tool("octet-compile", shared_spec.parent / "defects" / "mlir_bc_3000028.mlirbc", "-o", tmp_path / "x.so", check=False)
    assert done.returncode == 1 and done.stderr.count("error:") == 1, done.stderr
    assert "Stack dump" not in done.stderr and list(tmp_path.iterdir()) == []


def test_policies_and_statistics_are_text(run, refuse, folder):
    run("--calibration-data=samples.npz", "--stop-after=calibrate", "-o", "code.mlirbc")
    assert "cannot read backend 'code.mlirbc': is bytecode" in refuse("--calibration-data=samples.npz", "--backend=code.mlirbc")
    assert "'code.mlirbc': expected statistics as text, but got bytecode" in refuse("--load-statistics=code.mlirbc")


# ---- other refusals ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("arguments, message", [
    (["--cpu-level=sse9"], "unknown CPU level 'sse9' for target x86_64-linux-gnu"),
    (["--cpu-level=neon", "--target=x86_64-linux-gnu"], "unknown CPU level 'neon'"),
    (["--target=riscv64-linux-gnu"], "no code can be generated for target 'riscv64-linux-gnu'"),
    (["--input-shape=x"], "--input-shape=x: expected a name and positive sizes"),
    (["--input-shape=x=1x-1"], "--input-shape=x=1x-1: expected a name and positive sizes"),
    (["--input-shape=x=1x3x8x8", "--input-shape=x=1x3x9x9"], '--input-shape gives the shape of "x" twice'),
    (["--input-shape=q=1x3x8x8"], '"q"'),
    (["--input-value=x"], "--input-value=x: expected a name and a number, as in sr=16000"),
    (["--input-value=x=inf"], "--input-value=x=inf: expected a name and a number"),
    (["--input-value=x=1", "--input-value=x=2"], '--input-value gives the value of "x" twice'),
    (["--input-value=q=1"], '--input-value names "q", but the inputs are "x"'),
    (["--threads=0"], "--threads: expected 1 to 256"),
])
def test_options_are_checked(refuse, arguments, message):
    assert message in refuse("--float", *arguments)


def test_policies_are_checked(refuse, folder):
    samples = "--calibration-data=samples.npz"
    assert "missing-backend" in refuse(samples, "--backend=missing-backend.mlir")
    assert "missing-mapping" in refuse(samples, "--qconfig-mapping=missing-mapping.mlir")


def test_networks_are_checked(refuse, folder):
    (folder / "damaged.onnx").write_bytes(b"this is no network")
    assert "damaged.onnx: error:" in refuse("--float", model="damaged.onnx")
    assert "missing.onnx" in refuse("--float", model="missing.onnx")
    (folder / "empty.mlir").write_text("module {}")
    assert "expected the IR of a network with a function 'main'" in refuse("--float", model="empty.mlir")
    (folder / "damaged.mlir").write_text("func.func @main(")
    assert "damaged.mlir:1:" in refuse("--float", model="damaged.mlir")
    (folder / "open.onnx").write_bytes(make_network("N"))
    assert "--input-shape" in refuse("--float", model="open.onnx")


def test_outputs_must_be_writable(refuse):
    assert "cannot write 'no/such/folder/net.so'" in refuse("--float", output="no/such/folder/net.so")
    assert "it is a folder" in refuse("--float", output=".")
    assert "cannot write 'no/report.json'" in refuse("--float", "--report=no/report.json")

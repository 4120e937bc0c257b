# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing is left behind: by signals, by failures, by a Python that ends while it compiles."""
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("onnx")
octet = pytest.importorskip("octet")
from onnx_networks import make_network  # noqa: E402


def reset_signals():
    """In a child: what a shell in the background or nohup had ignored is not."""
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)


def wait_for(condition):
    """Waits until something is so; a minute at most."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def blocked(compiler, tmp_path):
    """octet-compile with everything written beside its place, waiting for somebody to read the pipe that its report goes to."""
    (tmp_path / "net.onnx").write_bytes(make_network("y = Relu(x)").SerializeToString())
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "out.so").write_bytes(b"precious")
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    command = [compiler, "net.onnx", "--float", "--cpu-level=reference", "--report=pipe", "-o", "out.so"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL,
                               preexec_fn=reset_signals)
    wait_for(lambda: list(tmp_path.glob("*.tmp")) or process.poll() is not None)
    yield process
    process.kill()
    process.wait()


def list_all(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_no_file(blocked, tmp_path, number):
    assert any(name.endswith(".tmp") for name in list_all(tmp_path))
    blocked.send_signal(number)
    assert blocked.wait(timeout=60) == -number
    assert list_all(tmp_path) == ["net.onnx", "out.so", "pipe", "tmp"]
    assert (tmp_path / "out.so").read_bytes() == b"precious"


def test_linking_needs_no_folder(compiler, tmp_path):
    (tmp_path / "net.onnx").write_bytes(make_network("y = Relu(x)").SerializeToString())
    environment = {**os.environ, "TMPDIR": str(tmp_path / "none")}
    for kind in "lib", "obj":
        command = [compiler, "net.onnx", "--float", "--cpu-level=reference", f"--emit={kind}", "-o", f"out.{kind}"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert list_all(tmp_path) == ["net.onnx", "out.h", "out.lib", "out.obj"]


def test_output_that_cannot_be_written_leaves_none_of_the_others(tool, tmp_path):
    (tmp_path / "net.onnx").write_bytes(make_network("y = Conv(x, w)", constants={"w": (4, 3, 3, 3)}).SerializeToString())
    np.savez(tmp_path / "x.npz", x=np.ones((2, 1, 3, 8, 8), np.float32))
    done = tool("octet-compile", "net.onnx", "--calibration-data=x.npz", "--cpu-level=reference", "--report=r.json",
                "--save-statistics=s.mlir", "-o", "/dev/full", cwd=tmp_path, check=False)
    assert done.returncode == 1 and "error: cannot write '/dev/full': No space left on device" in done.stderr
    assert list_all(tmp_path) == ["net.onnx", "x.npz"]


# ---- Python --------------------------------------------------------------------------------------------------------------
COMPILE = """
import octet, sys, threading
def run():
    octet.compile(sys.argv[1])
if len(sys.argv) > 2:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
else:
    run()
"""


@pytest.fixture
def compiling(tmp_path):
    """compiling(arguments...) starts a Python that waits for a compiler, and gives it and the compiler's process number."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    (tmp_path / "net.onnx").write_bytes(b"")
    fake, started = tmp_path / "compiler", tmp_path / "started"
    fake.write_text(f"#!/bin/sh\necho $$ > {started}.tmp && mv {started}.tmp {started}\nexec sleep 100\n")
    fake.chmod(0o755)
    processes = []

    def start(*arguments, compiler=fake):
        environment = {**os.environ, "TMPDIR": str(folder), "OCTET_COMPILE": str(compiler)}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        command = [sys.executable, "-c", COMPILE, str(tmp_path / "net.onnx"), *arguments]
        processes.append(subprocess.Popen(command, env=environment, preexec_fn=reset_signals))
        wait_for(lambda: started.exists() or processes[-1].poll() is not None)
        return processes[-1], int(started.read_text())

    yield start
    for process in processes:
        process.kill()
        process.wait()


def is_running(number):
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_terminated_python_ends_the_compiler_and_leaves_no_file(compiling, tmp_path, number):
    process, child = compiling()
    assert list((tmp_path / "tmp").iterdir()) and is_running(child)
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    wait_for(lambda: not is_running(child))
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.fixture
def default_hangup():
    """SIGHUP as it is by default, whatever started the tests ignores."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("default_hangup")
def test_handlers_of_ones_own_stay():
    from octet import _compiler

    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        mine = signal.getsignal(signal.SIGTERM)
        with _compiler._temporary_folder():
            assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)
    with _compiler._temporary_folder():
        assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_killed_parent_ends_the_compiler(compiler, tmp_path):
    """Also where Python can do nothing: SIGKILL, or a compilation in another thread than the main one."""
    (tmp_path / "net.onnx").write_bytes(make_network("y = Relu(x)").SerializeToString())
    os.mkfifo(tmp_path / "pipe")
    script = f"""
import os, subprocess
command = [{compiler!r}, "net.onnx", "--float", "--cpu-level=reference", "--report=pipe", "-o", "out.so"]
process = subprocess.Popen([*command, f"--parent={{os.getpid()}}"], stdout=subprocess.DEVNULL)
print(process.pid, flush=True)
process.wait()
"""
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    wait_for(lambda: list(tmp_path.glob("*.tmp")))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not is_running(child))
    assert list_all(tmp_path) == ["net.onnx", "pipe"]


def test_temporary_folder_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(octet.CompileError, match="temporary files cannot be written: .*; set TMPDIR to a folder with more room"):
        octet.compile(b"")


@pytest.mark.parametrize("data", ['{"x": numpy.zeros((1, 64, 64), "f")}', '[{"x": numpy.zeros((64, 64), "f")}]'])
def test_temporary_folder_that_is_full(tmp_path, data):
    script = f"""
import numpy, octet, resource
open("net.onnx", "wb").close()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for model, arguments in (bytes(5000), {{}}), ("net.onnx", {{"calibration_data": {data}}}):
    try:
        octet.compile(model, **arguments)
    except octet.CompileError as error:
        print(error)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    message = "temporary files cannot be written: File too large; set TMPDIR to a folder with more room\n"
    assert (done.stdout, done.stderr) == (2 * message, "")

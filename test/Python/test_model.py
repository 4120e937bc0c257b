# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading, running and saving of compiled networks."""
import os
import pickle
import threading

import numpy as np
import pytest

octet = pytest.importorskip("octet")
from octet.model import MAX_THREADS  # noqa: E402
from toy_network import A, B, SUM, check  # noqa: E402


# ---- what it is ----------------------------------------------------------------------------------------------------------
def test_describes_itself(model):
    assert model.name == "toy"
    assert model.inputs == [("a", np.float32, (2, 3), 0.0, 0), ("b", np.uint8, (4,), 0.5, 3)]
    assert [tensor.name for tensor in model.outputs] == ["sum", "twice"]
    assert (model.cpu_level, model.cpu_levels, model.threads, model.arena_bytes) == ("reference", ["reference"], 1, 64)
    assert repr(model) == (
        "<octet.Model toy(a: float32[2, 3], b: uint8[4]) -> (sum: float32[2, 3], twice: uint8[4]), reference, 1 thread(s)>")


def test_report_is_a_table_of_verdicts(model):
    report = model.report
    assert [row.verdict for row in report] == ["int8", "float"]
    assert (report[1].code, report[1].remedy) == ("OCT104", "none needed")
    assert [row.name for row in report.refused] == ["end"]
    assert str(report).splitlines() == [
        "layer  operator    verdict  why",
        "add    nn.add      int8     cpu::add",
        "end    nn.softmax  float    OCT104 no integer form",
        "                            -> none needed",
    ]


def test_report_shows_every_text_on_one_line():
    row = {"name": "a", "operator": "x.o\n", "verdict": "float", "code": "OCT104", "reason": "r\n", "remedy": "\x1bs", "note": "n\r"}
    assert str(octet.Report({"operators": [row]})).splitlines()[1:] == [
        "a      x.o\\n     float    OCT104 r\\n", "                          -> \\x1bs", "                          note: n\\r"]


def test_short_form_of_a_report_says_the_same_as_the_long_one():
    short = """{"kinds": [{"code": "OCT104", "operator": "nn.exp", "reason": "no form", "verdict": "float"}],
                "operators": [{"kind": 0, "name": "a"}, {"kind": 0, "macs": 3}]}"""
    exp = {"code": "OCT104", "operator": "nn.exp", "reason": "no form", "verdict": "float", "remedy": "", "refused": False}
    assert octet.Report.parse(short).data == {"operators": [
        {**exp, "name": "a", "macs": 0}, {**exp, "name": "", "macs": 3}]}


def test_share_of_multiply_adds_in_int8():
    rows = [{"name": "c", "operator": "nn.conv", "verdict": "int8", "macs": 300},
            {"name": "l", "operator": "nn.linear", "verdict": "float", "macs": 100}]
    assert octet.Report({"operators": rows}).int8_share == 0.75
    assert octet.Report({}).int8_share is None


# ---- running -------------------------------------------------------------------------------------------------------------
def test_runs_by_name_and_by_position(model):
    check(model.run({"b": B, "a": A}))
    check(model.run([A, B]))
    check(model(A, B))


def test_run_gives_new_arrays_every_time(model):
    first = model(A, B)
    model(A + 1, B)
    check(first)


def test_run_takes_arrays_in_any_order_of_memory(model):
    check(model(np.asfortranarray(A), B[::-1].copy()[::-1]))


def test_run_takes_arrays_in_any_order_of_bytes(model):
    check(model(A.astype(">f4"), B))
    assert model.profile([A.astype(">f4"), B])


def test_read_only_inputs_are_fine(model):
    a = A.copy()
    a.flags.writeable = False
    check(model(a, B))
    check(model.bind([a, B])())


def test_two_threads_give_the_same(toy):
    model = octet.load(toy, threads=2)
    assert model.threads == 2
    check(model(A, B))


@pytest.mark.parametrize("inputs, message", [
    ({"a": A}, "no input 'b'; the network's inputs are a, b"),
    ({"a": A, "b": B, "c": B}, "unknown input 'c'; the network's inputs are a, b"),
    ({"A": A, "b": B}, "no input 'a'; unknown input 'A'"),
    ([A], r"expected 2 inputs \(a, b\), but got 1"),
    (A, "expected inputs as a dict or a sequence of arrays, but got ndarray"),
    (3, "expected inputs as a dict or a sequence of arrays, but got int"),
    ([A.astype(np.float64), B],
     r"input 'a': expected float32\[2, 3\], but got float64\[2, 3\]; convert it with .astype\(numpy.float32\)"),
    ([A.reshape(3, 2), B], r"input 'a': expected float32\[2, 3\], but got float32\[3, 2\]; transpose or reshape it"),
    ([A[:1], B], r"input 'a': expected float32\[2, 3\], but got float32\[1, 3\]; shapes are fixed when a network is compiled"),
    ([A, B.astype(np.float32)],
     r"input 'b': expected uint8\[4\], but got float32\[4\]; quantize it: numpy.rint\(array / 0.5\) \+ 3, clipped to uint8"),
    ([A, B.tolist()], "input 'b': expected a NumPy array, but got list; use numpy.asarray"),
])
def test_wrong_inputs_are_named(model, inputs, message):
    with pytest.raises(octet.InputError, match=message):
        model.run(inputs)
    with pytest.raises(ValueError, match=message):
        model.bind(inputs)


def test_run_that_fails_is_an_error(build_toy, tool):
    path = build_toy("refusing.c")
    model, message = octet.load(path), r"the network did not run \(code 1\)"
    for run in (model.run, model.profile, lambda inputs: model.bind(inputs)()):
        with pytest.raises(octet.Error, match=message):
            run([A, B])
    for option in "--benchmark", "--profile":
        done = tool("octet-run", path, option, check=False)
        assert done.returncode == 1 and "error: the network did not run (code 1)" in done.stderr


# ---- threads -------------------------------------------------------------------------------------------------------------
def test_other_python_threads_go_on_while_a_network_runs(model):
    a, waits = A.copy(), np.array([0, 0, 0, 255], np.uint8)
    a[0, 0] = 0
    run = model.bind([a, waits])
    thread = threading.Thread(target=run)
    thread.start()
    a[0, 0] = 1  # the network waits for this; without the GIL released nobody could write it
    thread.join()
    assert run.outputs["sum"][0, 0] == 1


def test_several_models_in_several_threads(toy):
    errors = []

    def work(offset):
        model = octet.load(toy)
        for step in range(200):
            if not np.array_equal(model(A + offset + step, B)["sum"], SUM + offset + step):
                errors.append((offset, step))

    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_one_model_in_several_threads(model):
    results = {}

    def work(offset):
        results[offset] = all(np.array_equal(model(A + offset, B)["sum"], SUM + offset) for _ in range(200))

    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: True, 1000: True, 2000: True, 3000: True}


# ---- steps ---------------------------------------------------------------------------------------------------------------
def test_profile_names_the_steps(model):
    (name, nanoseconds), = model.profile([A, B])
    assert name == "add" and nanoseconds >= 0


def test_other_python_threads_go_on_while_a_network_is_profiled(model):
    a, waits = np.zeros((2, 3), np.float32), np.array([0, 0, 0, 255], np.uint8)
    steps = []
    thread = threading.Thread(target=lambda: steps.extend(model.profile([a, waits])))
    thread.start()
    a[0, 0] = 1  # the network waits for this, for ten seconds at most
    thread.join()
    assert steps[0][1] < 9e9


def test_one_model_is_profiled_and_run_in_several_threads(model):
    wrong = []
    bound = model.bind([A, B])

    def run():
        for _ in range(300):
            if not np.array_equal(model(A, B)["sum"], SUM) or not np.array_equal(bound()["sum"], SUM):
                wrong.append("run")

    def profile():
        for _ in range(300):
            if [name for name, _ in model.profile([A, B])] != ["add"]:
                wrong.append("profile")

    threads = [threading.Thread(target=work) for work in (run, profile, run, profile)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- loading and saving --------------------------------------------------------------------------------------------------
def test_saved_network_is_the_same(model, toy, tmp_path):
    model.save(tmp_path / "copy.so")
    assert (tmp_path / "copy.so").read_bytes() == toy.read_bytes()
    check(octet.load(str(tmp_path / "copy.so"))(A, B))


@pytest.mark.parametrize("path, message", [
    ("there.so", "Is a directory; give the path of a file"),
    ("missing/x.so", "No such file or directory; create its folder first"),
    ("file/x.so", "Not a directory; choose another path"),
    ("null\0.so", "embedded null byte; choose another path"),
])
def test_save_that_fails_leaves_nothing(model, tmp_path, path, message):
    (tmp_path / "there.so").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(octet.SaveError) as failure:
        model.save(tmp_path / path)
    assert str(failure.value) == f"cannot write '{tmp_path / path}': {message}"
    assert isinstance(failure.value, OSError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there.so"]


def test_save_replaces_what_a_link_points_to(model, toy, tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target.so", tmp_path / "link.so"
    target.write_bytes(b"old")
    link.symlink_to("folder/target.so")
    model.save(link)
    assert link.is_symlink() and target.read_bytes() == toy.read_bytes()


def test_save_writes_into_a_pipe(model, toy, tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    thread = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    thread.daemon = True
    thread.start()
    model.save(pipe)
    thread.join(timeout=10)
    assert received == [toy.read_bytes()] and pipe.is_fifo()


def test_saved_file_has_ordinary_rights(model, tmp_path):
    before = os.umask(0o027)
    try:
        model.save(tmp_path / "x.so")
    finally:
        os.umask(before)
    assert (tmp_path / "x.so").stat().st_mode & 0o777 == 0o640


def test_survives_its_file(toy, tmp_path):
    path = tmp_path / "short-lived.so"
    path.write_bytes(toy.read_bytes())
    model = octet.load(path)
    path.write_bytes(b"something else")
    check(model(A, B))


def test_pickles(model):
    check(pickle.loads(pickle.dumps(model))(A, B))


def test_level_can_be_forced(toy, monkeypatch):
    assert octet.load(toy, cpu_level="reference").cpu_level == "reference"
    with pytest.raises(octet.LoadError, match="CPU level 'avx2' cannot be used: the network was compiled for reference"):
        octet.load(toy, cpu_level="avx2")
    monkeypatch.setenv("OCTET_CPU_LEVEL", "sse9")
    with pytest.raises(octet.LoadError, match=r"CPU level 'sse9' \(from OCTET_CPU_LEVEL\) cannot be used"):
        octet.load(toy)


@pytest.mark.parametrize("threads", [0, -1, 257, 10**12, 2.5, "2", None])
def test_threads_must_be_a_number_in_range(toy, threads):
    with pytest.raises(octet.InputError, match=f"threads: expected a whole number from 1 to 256, but got {threads!r}"):
        octet.load(toy, threads=threads)


def test_most_threads_are_those_of_the_runtime(source):
    assert f"MAX_THREADS = {MAX_THREADS}," in (source / "lib" / "Runtime" / "pool.h").read_text()


@pytest.mark.parametrize("level", ["sse2\0", "\ud800"])
def test_level_must_be_text(toy, level):
    with pytest.raises(octet.InputError, match="cpu_level: expected text without null characters and halves of surrogate"):
        octet.load(toy, cpu_level=level)


def test_level_must_be_a_name(toy):
    with pytest.raises(octet.InputError, match="cpu_level: expected the name of a level, but got 3"):
        octet.load(toy, cpu_level=3)


def test_outputs_of_the_same_name_are_refused(toy, tmp_path):
    path = tmp_path / "twice.so"
    path.write_bytes(toy.read_bytes().replace(b"\0twice\0", b"\0sum\0\0\0"))
    with pytest.raises(octet.LoadError, match="cannot load '.*twice.so': two outputs are called 'sum'; rename one of them"):
        octet.load(path)


def test_missing_file(tmp_path):
    with pytest.raises(octet.LoadError, match="cannot load '.*none.so': No such file or directory"):
        octet.load(tmp_path / "none.so")


@pytest.mark.parametrize("path, message", [
    ("/dev/zero", "cannot load '/dev/zero': not a regular file"),
    (os.fsdecode(b"none\xff.so"), r"cannot load 'none\\udcff.so': No such file or directory"),
    ("null\0.so", "cannot load 'null\0.so': embedded null byte"),
])
def test_paths_that_are_no_library(path, message):
    with pytest.raises(octet.LoadError, match=message) as failure:
        octet.load(path)
    str(failure.value).encode()


@pytest.mark.parametrize("path", [b"x.so", None, 3])
def test_path_must_be_text(path):
    with pytest.raises(octet.InputError, match=f"path: expected the path of a library, but got {type(path).__name__}"):
        octet.load(path)


def test_paths_need_not_be_utf8(toy, tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.so")
    path.write_bytes(toy.read_bytes())
    model = octet.load(path)
    check(pickle.loads(pickle.dumps(model))(A, B))
    model.save(tmp_path / os.fsdecode(b"\xfe.so"))
    path.write_bytes(b"")
    with pytest.raises(octet.LoadError, match=r"udcff.so': not a shared library") as failure:
        octet.load(path)
    str(failure.value).encode()
    with pytest.raises(octet.SaveError) as failure:
        model.save(tmp_path / os.fsdecode(b"\xff") / "x.so")
    str(failure.value).encode()


def test_more_axes_than_numpy_has_are_refused(build_toy):
    with pytest.raises(octet.LoadError, match="'b' has 65 axes, and NumPy arrays have at most 64; reshape it in the ONNX file"):
        octet.load(build_toy("many-axes.c"))


def test_names_that_are_no_text_are_refused(toy, tmp_path):
    content = toy.read_bytes()
    assert content.count(b"\0twice\0") == 1
    path = tmp_path / "damaged.so"
    path.write_bytes(content.replace(b"\0twice\0", b"\0tw\xffce\0"))
    with pytest.raises(octet.LoadError, match=r"damaged.so: its tensors' names are not UTF-8 \(b'tw\\xffce'\); compile the network again"):
        octet.load(path)


def change(content, offset, *values):
    return content[:offset] + bytes(values) + content[offset + len(values):]


@pytest.mark.parametrize("damage, message", [
    (lambda content: b"", "not a shared library"),
    (lambda content: b"not an ELF file", "not a shared library"),
    (lambda content: content[:63], "not a shared library"),
    (lambda content: content[:64], "the file is cut off"),
    (lambda content: content[:len(content) // 2], "the file is cut off"),
    (lambda content: change(content, 4, 1), "not a shared library"),  # 32 bits
    (lambda content: change(content, 16, 1), "not a shared library"),  # an object file
    (lambda content: change(content, 18, 243), "made for another architecture than this machine's"),
    (lambda content: content.replace(b"_octet_model_v1\0", b"_octet_model_v0\0"),
     "not a network compiled by Octet .it exports no symbol that ends in _octet_model_v1"),
])
def test_damaged_libraries_are_refused(toy, tmp_path, damage, message):
    path = tmp_path / "damaged.so"
    path.write_bytes(damage(toy.read_bytes()))
    with pytest.raises(octet.LoadError, match=f"cannot load '.*damaged.so': {message}"):
        octet.load(path)

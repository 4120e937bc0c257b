# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main job of tools/dev/demo: compiles test/Inputs/digits to float and int8 libraries, runs the test set, prints a table."""

import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import octet

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NETWORK = SOURCE / "test" / "Inputs" / "digits"
OUTPUT = SOURCE / "build" / "demo"
ROUNDS, RUNS = 25, 40


def compile_library(name, *options):
    """Runs octet-compile from the root, with its messages shown, and returns the path of the library."""
    path = OUTPUT / name
    network = (NETWORK / "digits.onnx").relative_to(SOURCE)
    command = ["build/bin/octet-compile", network, *options, "-o", path.relative_to(SOURCE)]
    command = [str(word) for word in command]
    print("$ " + " ".join(command), flush=True)
    if subprocess.run(command, cwd=SOURCE).returncode != 0:
        sys.exit("tools/dev/demo: error: octet-compile failed")
    return path


def measure_latency(models, sample):
    """Median microseconds per run and model, the models taking turns."""
    bound = [model.bind({"input": sample}) for model in models]
    times = [[] for _ in models]
    for _ in range(ROUNDS):
        for run, record in zip(bound, times):
            begin = time.perf_counter()
            for _ in range(RUNS):
                run()
            record.append((time.perf_counter() - begin) / RUNS * 1e6)
    return [statistics.median(record) for record in times]


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    report = OUTPUT / "digits-int8.json"
    paths = [
        compile_library("digits-float.so", "--float"),
        compile_library("digits-int8.so", f"--calibration-data={(NETWORK / 'calibration.npz').relative_to(SOURCE)}",
                        f"--report={report.relative_to(SOURCE)}"),
    ]
    models = [octet.load(path) for path in paths]

    test = np.load(NETWORK / "test.npz")
    samples, labels = test["input"][:, None], test["labels"]
    classes = [np.array([model.run({"input": x})["probabilities"].argmax() for x in samples]) for model in models]
    accuracy = [float(np.mean(found == labels)) for found in classes]
    latency = measure_latency(models, samples[0])
    sizes = [path.stat().st_size for path in paths]

    verdicts = octet.Report.parse(report.read_text())
    in_float = [row for row in verdicts if not row.verdict.startswith("int8")]
    rows = [
        ("", "float", "int8"),
        (f"accuracy on {len(labels)} test samples", *(f"{value:.1%}" for value in accuracy)),
        ("agreement with float", "", f"{np.mean(classes[0] == classes[1]):.1%}"),
        (f"library (ONNX file {(NETWORK / 'digits.onnx').stat().st_size / 1024:.0f} KB)", *(f"{size / 1024:.0f} KB" for size in sizes)),
        (f"latency, 1 thread, {models[1].cpu_level}", *(f"{value:.1f} us" for value in latency)),
        ("operators quantized, after fusion", "", f"{len(verdicts) - len(in_float)} of {len(verdicts)}"),
    ]
    print()
    for label, *values in rows:
        print(f"{label:<36}" + "".join(f"{value:>12}" for value in values))
    for row in in_float:
        print(f"  left in float: {row.name} ({row.operator}): {row.code} {row.reason}".rstrip())
    print("\nwrote")
    for path, what in [(paths[0], "float library"), (paths[1], "int8 library"), (report, "verdict on every operator")]:
        print(f"  {str(path.relative_to(SOURCE)):<32}{what}")
    print("next  build/bin/octet-run build/demo/digits-int8.so --input test/Inputs/digits/test.npz --benchmark")


if __name__ == "__main__":
    main()

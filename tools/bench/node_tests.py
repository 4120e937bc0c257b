#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own tests of single operators, those with an input of numbers, through the whole compiler.

    tools/bench/node_tests.py
    tools/bench/node_tests.py --filter reduce_sum --filter softmax --cpu-level reference
    tools/bench/node_tests.py --markdown docs/operators.md

Every test of the installed package `onnx` in opset 7 or later is compiled as float code, run, and compared with the outputs
that ONNX gives. Inputs of numbers and truth values stay inputs; if the network is refused like this, all but those of float32
become constants (axes, shapes, indices), then all but one, then all. Verdicts: right (every output within 1e-5 of its largest
magnitude, integers and truth values exactly; or those of onnxruntime where ONNX's outputs are not what onnxruntime gives; or those
of ONNX's reference evaluator where ONNX's outputs are rounded to four digits; rows of -1 that end NonMaxSuppression's result do not
count), refused (with the compiler's reason), wrong, crashed (the compiler or its code ended with a signal). One line for each test,
then a table by operator, then the sums, of all and without `OTHERS`. Exit code 1 if a test is wrong or crashed.
"""
from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tables

TOLERANCE = 1e-5
ROUNDING = 1e-4  # of outputs that ONNX's tests hold as text of four digits
HALF_TOLERANCES = {"float16": 2.0**-9, "bfloat16": 2.0**-6}  # two steps: ONNX rounds between operators, Octet computes in float32
OLDEST_OPSET = 7
VERDICTS = ("right", "refused", "wrong", "crashed")
# What refusals have in common, in words of the documentation: a part of the reason -> what is not taken.
KINDS = {"operator of training|training_mode|BatchNormalization: its result": "training", "(without|no|has) elements|without a trip": "tensors without elements",
         "FLOAT[48]|INT[24]\\b": "floats of 8 and 4 bits, integers of 4 and 2", "STRING": "texts", "is no tensor|sequence|optional": "sequences, optionals",
         "depends on data": "shapes that depend on data", "is random": "random numbers", "UINT64": "uint64"}
#: Kinds of tests that no compiler of networks for inference with known shapes can take.
OTHERS = ("training", "shapes that depend on data", "random numbers")


# ---- the tests -----------------------------------------------------------------------------------------------------------
def is_input_of(value, *names):
    """Whether an input is a tensor of one of some TensorProto.DataTypes."""
    from onnx import TensorProto

    types = [TensorProto.DataType.Value(name) for name in names]
    return value.type.WhichOneof("value") == "tensor_type" and value.type.tensor_type.elem_type in types


def is_float_input(value):
    return is_input_of(value, "FLOAT")


def is_number_input(value):
    return is_input_of(value, "FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32")


def choose_inputs(inputs):
    """Lists of the inputs that stay inputs, from all to none."""
    numbers, floats = list(filter(is_number_input, inputs)), list(filter(is_float_input, inputs))
    choices = []
    for choice in (numbers, floats, *([value] for value in [*floats, *numbers]), []):
        if choice not in choices:
            choices.append(choice)
    return choices


def get_opset(model):
    return max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)


def collect_cases(filters=()):
    """The tests with an input of numbers whose names contain one of the filters; all without filters."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    return [case for case in cases if case.model is not None and get_opset(case.model) >= OLDEST_OPSET
            and any(map(is_number_input, case.model.graph.input)) and (not filters or any(part in case.name for part in filters))]


def strip_expansion(name):
    """The name of the test whose function was written out in this one."""
    return re.sub(r"_expanded(_ver\d+)?$", "", name)


def name_operators(cases):
    """{test: its operator}; a function that is written out counts as the function."""
    plain = {case.name: case.model.graph.node[-1].op_type for case in cases}
    return {name: plain.get(strip_expansion(name), operator) for name, operator in plain.items()}


def as_array(data):
    """A tensor of a test, which is an array or, of types that NumPy lacks, a message."""
    import onnx

    return onnx.numpy_helper.to_array(data) if isinstance(data, onnx.TensorProto) else np.asarray(data)


def bind_inputs(case, keep):
    """The network with the inputs that `keep` refuses as constants, and what to feed the others."""
    import onnx
    from onnx import numpy_helper

    model, feeds = onnx.ModelProto(), {}
    model.CopyFrom(case.model)
    del model.graph.input[:]
    for value, data in zip(case.model.graph.input, case.data_sets[0][0]):
        if keep(value):
            model.graph.input.append(value)
            array = as_array(data)
            feeds[value.name] = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
        elif value.type.WhichOneof("value") == "tensor_type":
            model.graph.initializer.append(data if isinstance(data, onnx.TensorProto) else numpy_helper.from_array(np.asarray(data), value.name))
            model.graph.initializer[-1].name = value.name
        else:
            model.graph.input.append(value)
    model.ir_version = max(model.ir_version, 4)  # before, constants had to be inputs as well
    return model.SerializeToString(), feeds


# ---- one test ------------------------------------------------------------------------------------------------------------
def run_onnxruntime(data, feeds):
    """onnxruntime's outputs of the network, or None if it refuses it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    except Exception:  # onnxruntime has no common class for its errors
        return None


def run_reference(data, feeds):
    """The outputs that ONNX's reference evaluator gives, or None if it cannot."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    try:
        return ReferenceEvaluator(onnx.load_from_string(data)).run(None, feeds)
    except Exception:  # it raises whatever its operators raise
        return None


def get_error(got, expected):
    """The largest difference over the largest finite magnitude; infinite where types, shapes, NaN or infinities differ, or integers.

    Of halves, in the measure of float32: their tolerance is TOLERANCE.
    """
    expected, got = as_array(expected), np.asarray(got)
    if expected.dtype.name == "bfloat16" and got.dtype == np.uint16:
        got = got.view(expected.dtype)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return np.inf
    if expected.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, expected) else np.inf
    return tables.get_error(got, expected) * TOLERANCE / HALF_TOLERANCES.get(expected.dtype.name, TOLERANCE)


def drop_rows_behind(case, results):
    """The results; NonMaxSuppression's without the rows behind the last box, which are -1."""
    if case.model.graph.node[-1].op_type != "NonMaxSuppression":
        return results
    return [array[: np.count_nonzero(array[:, 0] >= 0)] for array in results]


def shorten(message):
    """The reason of a refusal: the operators and what they lack, else the first line."""
    lines = [re.sub(r': "[^"]*"(, "[^"]*")*( and \d+ more)?$', "", line.strip()) for line in message.splitlines()]
    matches = (re.search(r"\((\S+), domain[^)]*\): (.*)", line) for line in lines)
    reasons = [f"{match[1]}: {match[2]}" for match in matches if match]
    reasons += [line for line in lines if line.startswith(("the input ", "the output "))]
    return "; ".join(dict.fromkeys(reasons)) or re.sub(r"^\S+: error: ", "", lines[0])


def judge(octet, case, cpu_level=None):
    """(verdict, what there is to say about it) of one test."""
    choices, reason = choose_inputs(case.model.graph.input), ""
    for kept in choices:
        names = {value.name for value in kept}
        data, feeds = bind_inputs(case, lambda value: value.name in names)
        try:
            model = octet.compile(data, cpu_level=cpu_level)
        except octet.CompileError as error:
            if "ended with signal" in str(error):
                return "crashed", str(error).splitlines()[-1]
            reason = shorten(str(error))
            continue
        results = drop_rows_behind(case, list(model.run(feeds).values()))
        error = max(map(get_error, results, case.data_sets[0][1]))
        note = "" if kept == choices[0] else " with constants"
        if error > TOLERANCE and (others := run_onnxruntime(data, feeds)) and max(map(get_error, results, others)) <= TOLERANCE:
            return "right", f"as onnxruntime; ONNX's own outputs differ by {error:.1e}{note}"
        if TOLERANCE < error <= ROUNDING and (others := run_reference(data, feeds)) and max(map(get_error, results, others)) <= TOLERANCE:
            return "right", f"as ONNX's reference; ONNX's own outputs, of four digits, differ by {error:.1e}{note}"
        return "right" if error <= TOLERANCE else "wrong", f"{error:.1e}{note}"
    return "refused", reason


def judge_apart(octet, case, cpu_level=None):
    """`judge` in a process of its own, which compiled code may take down."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work():
        try:
            answer = judge(octet, case, cpu_level)
        except Exception as error:  # whatever the package raises is no answer
            answer = "crashed", f"{type(error).__name__}: {error}".splitlines()[0]
        sender.send(answer)

    process = context.Process(target=work)
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        process.join()
        return "crashed", f"ended with code {process.exitcode}"
    finally:
        process.join()


# ---- the table -----------------------------------------------------------------------------------------------------------
def count_by_operator(operators, verdicts):
    """{operator: numbers of tests by verdict}, {operator: numbers of tests that are not right by kind of reason}."""
    counts, reasons = {}, {}
    for name, (verdict, text) in verdicts.items():
        counts.setdefault(operators[name], Counter())[verdict] += 1
        if verdict != "right":
            reasons.setdefault(operators[name], Counter())[find_kind(text)] += 1
    return dict(sorted(counts.items())), reasons


def find_kind(reason):
    """What refusals of a kind have in common, or the reason itself."""
    return next((kind for part, kind in KINDS.items() if re.search(part, reason)), reason)


def format_reasons(reasons):
    return "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())


def format_share(counts, reasons):
    """"1480 of 1500 (98.7 %)": the tests that are right of those that are no OTHERS."""
    right, total = (sum(count[verdict] for count in counts.values() for verdict in verdicts) for verdicts in (("right",), VERDICTS))
    total -= sum(kinds[kind] for kinds in reasons.values() for kind in OTHERS)
    return f"{right} of {total}" + (f" ({right / total:.1%})" if total else "")


def print_table(counts, reasons):
    table = tables.Table(operator=28, **{verdict: 8 for verdict in VERDICTS}, reasons=6)
    for operator, count in counts.items():
        table.row(operator, *(count[verdict] or "" for verdict in VERDICTS), format_reasons(reasons.get(operator, Counter()))[:90])
    total = sum(counts.values(), Counter())
    print(f"{total.total()} tests: " + ", ".join(f"{total[verdict]} {verdict}" for verdict in VERDICTS))
    print(f"right of all but {', '.join(OTHERS)}: {format_share(counts, reasons)}")
    return total["wrong"] + total["crashed"]


def format_page(counts, reasons):
    """The page of operators in the documentation: those that run, then those that are refused."""
    import onnx

    total = sum(counts.values(), Counter())
    lines = ["# Operators", "", f"ONNX's own tests of single operators (`onnx` {onnx.__version__}, opset {OLDEST_OPSET} and later, those with an input of",
             f"numbers), through the whole compiler as float code: {total['right']} of {total.total()} are right, {total['wrong']} wrong, {total['crashed']} crashed;",
             f"the others are refused with the reason. Without {', '.join(OTHERS)}: {format_share(counts, reasons)}.",
             "Made by `tools/bench/node_tests.py --markdown docs/operators.md`.", "",
             "| operator | right | refused | not taken |", "|---|---|---|---|"]
    for operator, count in counts.items():
        reason = format_reasons(reasons.get(operator, Counter())).replace("|", "\\|")
        lines.append(f"| `{operator}` | {count['right'] or ''} | {count['refused'] or ''} | {reason if len(reason) <= 120 else reason[:117] + '...'} |")
    kinds = sum(reasons.values(), Counter())
    return "\n".join([*lines, "", "All refusals: " + format_reasons(kinds) + ".", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT", help="only tests whose names contain it; may be repeated")
    parser.add_argument("--cpu-level", help="the level to compile for; by default those of this architecture")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table as a page of the documentation")
    parser.add_argument("--jobs", type=int, default=2, help="how many tests run at once")
    options = parser.parse_args()
    octet, cases = tables.import_octet(), collect_cases(options.filter)
    if not cases:
        raise SystemExit("no test has such a name")
    verdicts = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        answers = pool.map(lambda case: judge_apart(octet, case, options.cpu_level), cases)
        for case, (verdict, text) in zip(cases, answers):
            verdicts[case.name] = verdict, text
            print(f"{verdict:<8} {case.name}: {text}", flush=True)
    print()
    counts, reasons = count_by_operator(name_operators(cases), verdicts)
    if options.markdown:
        options.markdown.write_text(format_page(counts, reasons))
    return 1 if print_table(counts, reasons) else 0


if __name__ == "__main__":
    sys.exit(main())

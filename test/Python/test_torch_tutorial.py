# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's BackendConfig tutorial, read from its page, with other imports: the same as with PyTorch."""
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
octet = pytest.importorskip("octet.torch")


def indent(lines):
    """The lines of a page that lost its indentation: bodies of functions end with their return or where the next one begins."""
    in_class, depth = False, 0
    for line in lines:
        if line.startswith(("class ", "def ")):
            in_class = in_class and "(self" in line or line.startswith("class ")
            depth = 1 if in_class and line.startswith("def ") else 0
        yield "    " * depth + line
        if line.startswith("return"):
            depth = in_class = 0
        elif re.match(r"(class|def|if) .*:$", line):
            depth += 1
        elif depth > (2 if in_class else 1):
            depth -= 1


@pytest.fixture(scope="module")
def program(shared_spec):
    """The program up to the first thing that it prints."""
    page = (shared_spec / "sources" / "backend-config-tutorial.txt").read_text()
    code = page[page.index("import torch\n"):page.index(">>> print")]
    lines = [line for line in code.splitlines() if line.isascii() and not line.startswith(("quant1 ", "import torch.")) and line]
    return "\n".join(indent(lines))


def run(program, package, **changes):
    text = program.replace("from torch.ao.quantization", f"from {package}")
    for before, after in changes.items():
        assert before.replace("_is_", "=") in text
        text = text.replace(before.replace("_is_", "="), after)
    torch.manual_seed(0)
    names = {}
    exec(compile(text, f"{package} tutorial", "exec"), names)
    return names


WITH_NORM = {"use_bn_is_False": "use_bn=True"}
#: PyTorch's outcomes; in the second, it keeps the convolution float, where Octet folds the batch norm (docs/deviations.md).
OUTCOMES = [({}, ["int8", "int8"], True), (WITH_NORM, ["int8", "int8"], False),
            ({**WITH_NORM, "prepare_fx(model, qconfig_mapping": "prepare_fx(model, get_default_qconfig_mapping()"}, ["float", "float"], True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("changes, verdicts, is_same", OUTCOMES)
def test_outcome(program, changes, verdicts, is_same):
    if changes:  # PyTorch runs the batch norm as in training, where nobody calls eval()
        program = program.replace("(use_bn=False)", "(use_bn=False).eval()")
    own, theirs = run(program, "octet.torch", **changes), run(program, "torch.ao.quantization", **changes)
    found = {row["name"]: row["verdict"] for row in own["converted"].report.data["operators"]}
    assert [found["linear"], found["conv"], found["sigmoid"]] == [*verdicts, "float"]
    x = own["example_inputs"][0]
    assert torch.equal(x, theirs["example_inputs"][0])
    # A step of the convolution's result, of which the sigmoid leaves a quarter at most; sigmoids of floats differ in their last bits.
    step = 0.25 * getattr(theirs["converted"].conv, "scale", 0.0)
    assert not is_same or (own["converted"](x) - theirs["converted"](x)).abs().max() <= step + 1e-6

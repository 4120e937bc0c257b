# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of octet.torch's policies share: a network with an operator of every class that default mappings name."""
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

ENGINES = ("x86", "fbgemm", "qnnpack", "onednn")
BACKENDS = ("native", "fbgemm", "x86", "qnnpack", "onednn", "tensorrt", "executorch")

#: Operators by the classes that they come from.
CLASSES = {
    "nn.sigmoid": ("torch.nn.Sigmoid", "torch.sigmoid", "torch.Tensor.sigmoid", "torch.Tensor.sigmoid_"),
    "nn.hard_sigmoid": ("torch.nn.Hardsigmoid", "torch.nn.functional.hardsigmoid", "torch.Tensor.hardsigmoid",
                        "torch.Tensor.hardsigmoid_"),
    "nn.tanh": ("torch.nn.Tanh", "torch.tanh", "torch.Tensor.tanh", "torch.Tensor.tanh_"),
    # Their class decides here, whatever the operator is.
    "nn.relu": ("torch.nn.ReLU", "torch.nn.LayerNorm", "torch.nn.functional.layer_norm",
                *(f"torch.nn.ConvTranspose{d}d" for d in "123"), *(f"torch.nn.functional.conv_transpose{d}d" for d in "123")),
}
ATTRIBUTES = {"nn.hard_sigmoid": " alpha 0.125 beta 0.5"}
SHAPED = {"torch.nn.Softmax": "nn.softmax %x axis 1", "torch.Tensor.reshape": "nn.reshape %x"}


def write_network():
    """Text of a network with one operator of each class."""
    rows = [(name, f"{op} %x{ATTRIBUTES.get(op, str())}") for op, names in CLASSES.items() for name in names] + list(SHAPED.items())
    lines = [f'  %{i} = {op} {{octet.origin = #octet.origin<"m{i}", "{name}", 0>}} : (!t) -> !t' for i, (name, op) in enumerate(rows)]
    lines += ['  %w = nn.constant dense<0.5> : tensor<4x4xf32>', '  %s = nn.constant dense<0.5> : tensor<1xf32>',
              '  %l = nn.linear %x, %w {octet.origin = #octet.origin<"l", "torch.nn.Linear", 0>} : (!t, tensor<4x4xf32>) -> !t',
              '  %p = nn.prelu %x, %s {octet.origin = #octet.origin<"p", "torch.nn.PReLU", 0>} : (!t, tensor<1xf32>) -> !t']
    body = "\n".join(lines)
    return f"!t = tensor<2x4xf32>\nfunc.func @main(%x: !t) -> !t {{\n{body}\n  return %l : !t\n}}\n"


@pytest.fixture(scope="module")
def resolve(tool, tmp_path_factory):
    """resolve(mapping) gives the QConfig of every class (None: float), of a mapping's text or a built-in one's name."""
    folder = tmp_path_factory.mktemp("mapping")
    (folder / "network.mlir").write_text(write_network())

    def run(mapping):
        if mapping.lstrip().startswith("{"):
            (folder / "mapping.json").write_text(mapping)
            mapping = folder / "mapping.json"
        options = f"--octet-attach-policy=qconfig-mapping={mapping}", "--octet-print-mapping=json=true", "-o", "/dev/null"
        done = tool("octet-opt", folder / "network.mlir", *options)
        assert "warning" not in done.stderr
        rows = json.loads(done.stdout)
        return {row["class"]: row.get("qconfig") for row in rows if row["class"]}

    return run


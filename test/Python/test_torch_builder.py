# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet._ir: wrong calls of a front end are errors, and touch no memory."""
import numpy as np
import pytest

pytest.importorskip("octet")
ir = pytest.importorskip("octet._ir", reason="octet._ir is not built")


@pytest.fixture
def builder():
    builder = ir.Builder()
    builder.set_origin("a", "torch.nn.Linear", 0)
    return builder


def test_a_network(builder):
    x = builder.add_input("x", 1, [2, 3])
    w = builder.add_constant("w", 1, np.ones((4, 3), np.float32))
    y = builder.add("linear", [x, w])
    (z,) = builder.compose("Softplus", [y])
    assert builder.get_type(z) == (1, [2, 4])
    builder.finish([("y", y), ("z", z)])
    assert "nn.linear" in builder.text and 'octet.origin<"a", "torch.nn.Linear", 0>' in builder.text
    assert [operator["op"] for operator in ir.list_operators(builder.bytecode)["operators"]] == [
        "nn.constant", "nn.linear", "nn.softplus", "func.return"]


def make_relu(shape):
    part = ir.Builder()
    part.set_origin("part.relu", "torch.nn.ReLU", 0)
    part.finish([("y", part.add("relu", [part.add_input("x", 1, shape)]))])
    return part


def test_a_function(builder):
    x = builder.add_input("x", 1, [2, 3])
    builder.add_function("part", make_relu([2, 3]), '{"": null, "module_name": [["part.relu", null]]}')
    (y,) = builder.call("part", [x])
    (z,) = builder.call("part", [y])
    builder.finish([("z", z)])
    assert builder.text.count("call @part(") == 2
    assert "func.func private @part(%arg0: tensor<2x3xf32>" in builder.text and "octet.qconfig_mapping = @part.mapping" in builder.text
    assert 'octet.module_name "part.relu" none' in builder.text


def test_wrong_calls(builder):
    x = builder.add_input("x", 1, [2, 3])
    with pytest.raises(ValueError, match="there is no such function"):
        builder.call("part", [x])
    builder.add_function("part", make_relu([2, 4]))
    for operands in ([x], [], [x, x]):
        with pytest.raises(ValueError, match="the operands are not those of the function"):
            builder.call("part", operands)
    with pytest.raises(ValueError, match="not supported"):
        builder.add_function("part", make_relu([2, 3]))
    with pytest.raises(ValueError, match="JSON"):
        builder.add_function("other", make_relu([2, 3]), "{")


@pytest.mark.parametrize("op, operands", [("linear", 1), ("add", 1), ("relu", 2), ("batch_norm", 1), ("relu", 0), ("conv", 0)])
def test_wrong_numbers_of_operands(builder, op, operands):
    x = builder.add_input("x", 1, [2, 3])
    with pytest.raises(ValueError, match="operand"):
        builder.add(op, [x] * operands)


def test_wrong_values(builder):
    x = builder.add_input("x", 1, [2, 3])
    with pytest.raises(IndexError, match="no such value"):
        builder.add("relu", [x + 1])
    with pytest.raises(ValueError, match="last dimension"):
        builder.add("linear", [x, builder.add_constant("w", 1, np.ones((4, 4), np.float32))])
    with pytest.raises(ValueError, match="no such operator"):
        builder.compose("NoSuchOperator", [x])
    with pytest.raises(ValueError):
        builder.add("no_such_op", [x], [1])


def test_other_text_is_no_observer():
    with pytest.raises(ValueError, match="not an observer"):
        ir.Observer("#octet.nothing<>", [2])
    observer = ir.Observer("#octet.min_max<dtype = ui8>", [2])
    with pytest.raises(ValueError, match="another number of elements"):
        observer.update(np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="another size"):
        observer.state = b"1"
    observer.update(np.array([-1, 1.55], np.float32))
    assert observer.choose()[1:] == ([100], 0, 255, -1)


def test_bytecode_of_something_else():
    with pytest.raises(ValueError, match="no function 'main'"):
        ir.list_operators(b"module {}")

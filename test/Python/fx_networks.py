# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks of spec/golden/fx_graphs.json in the dialect nn, operators named as FX's nodes, and their mappings."""
from dataclasses import dataclass, field

import numpy as np
from fx_parameters import make_parameters
from fx_training import training_form
from test_golden_operators import constant, generate, kind

VALUES = "#octet.min_max<dtype = ui8>"
WEIGHTS = "#octet.min_max<dtype = si8, scheme = symmetric>"
CHANNELS = "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, axis = 0>"


def qconfig(activation=VALUES, weight=WEIGHTS):
    return f"#octet.qconfig<activation = {activation}, weight = {weight}>"


def mapping(*entries, everything=qconfig(), interface=""):
    """A global QConfig and further entries; `interface` names inputs and outputs that are integers."""
    first = [f"octet.global {everything}"] if everything else []
    return f"octet.qconfig_mapping @m {interface} {{\n" + "".join(f"  {entry}\n" for entry in [*first, *entries]) + "}\n"


GLOBAL = mapping()
#: `range` is the engine's, [0, 127] where its weights and activations are reduced.
DYNAMIC = mapping(everything=qconfig("#octet.placeholder<dtype = ui8, dynamic = true>"))

@dataclass
class Value:
    name: str
    shape: tuple
    element: str = "f32"

    @property
    def type(self):
        return kind(self.shape).replace("f32", self.element)


class Network:
    """Text of `main`, one operator at a time."""

    def __init__(self, modules, seed, shapes):
        self.parameters = make_parameters(modules, seed)
        self.body = []
        self.inputs = [Value(name, tuple(shape)) for name, shape in zip("xy", shapes)]

    def add(self, op, operands, name, shape=None, attributes="", source="", element="f32"):
        """An operator with the name of an FX node."""
        result = Value(f"v{len(self.body)}", tuple(shape or operands[0].shape), element)
        origin = f'#octet.origin<"{name}"' + (f', "{source}", 0' if source else "") + ">"
        names = ", ".join(f"%{operand.name}" for operand in operands)
        types = ", ".join(operand.type for operand in operands)
        before, _, behind = attributes.rpartition("|")
        self.body.append(f"  %{result.name} = {op} {before} {names} {behind} {{octet.origin = {origin}}} : ({types}) -> {result.type}")
        return result

    def constant(self, array):
        array = np.asarray(array, np.float32)
        value = Value(f"v{len(self.body)}", array.shape)
        self.body.append(f"  %{value.name} = {constant(array)}")
        return value

    def parameter(self, name, shape=None):
        array = self.parameters[name]
        return self.constant(array.reshape(shape or array.shape))

    def linear(self, x, module, name=None):
        w = self.parameters[f"{module}.weight"]
        return self.add("nn.linear", [x, self.constant(w), self.parameter(f"{module}.bias")], name or module,
                        (*x.shape[:-1], w.shape[0]))

    def index(self, x):
        """`x.long().clamp(0, 3)`"""
        y = self.add("nn.cast", [x], "long", element="i64")
        for op, number in (("nn.max", 0), ("nn.min", 3)):
            bound = Value(f"v{len(self.body)}", (1,), "i64")
            self.body.append(f"  %{bound.name} = nn.constant dense<{number}> : {bound.type}")
            y = self.add(op, [y, bound], "clamp", element="i64")
        return y

    def embedding(self, indices, module, source="torch.nn.Embedding"):
        w = self.parameters[f"{module}.weight"]
        return self.add("nn.gather", [self.constant(w), indices], module, (*indices.shape, w.shape[1]), "axis 0", source)

    def conv(self, x, module, name=None, pad=0, transposed=False):
        w = self.parameters[f"{module}.weight"]
        if transposed:
            w, pad = np.ascontiguousarray(w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]), w.shape[2] - 1
        sizes = [size + 2 * pad - k + 1 for size, k in zip(x.shape[2:], w.shape[2:])]
        return self.add("nn.conv", [x, self.constant(w), self.parameter(f"{module}.bias")], name or module,
                        (x.shape[0], w.shape[0], *sizes), f"pads {[pad] * 2 * len(sizes)}")

    def batch_norm(self, x, name, source=""):
        parts = [self.parameter(f"bn.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
        return self.add("nn.batch_norm", [x, *parts], name, attributes="epsilon 1.0e-5", source=source)

    def rounded(self, x, scale, zero, name, element="u8"):
        """As a trained network rounds a value."""
        result = Value(f"v{len(self.body)}", x.shape)
        zero = f":{zero}" if zero else ""
        self.body.append(f'  %{result.name} = octet.fake_quantize %{x.name} as !quant.uniform<{element}:f32, {scale:.12f}{zero}> '
                         f'{{octet.origin = #octet.origin<"{name}">}} : {x.type}')
        return result

    def norm(self, x, name, axes, shape, source=""):
        """Layer or group normalization."""
        kept = [1 if i in axes else size for i, size in enumerate(x.shape)]
        add = lambda op, operands, *rest: self.add(op, operands, name, *rest, source=source)  # noqa: E731
        mean = add("nn.reduce_mean", [x], kept, f"axes {list(axes)} keep_dims")
        d = add("nn.sub", [x, mean])
        variance = add("nn.reduce_mean", [add("nn.mul", [d, d])], kept, f"axes {list(axes)} keep_dims")
        root = add("nn.sqrt", [add("nn.add", [variance, self.constant([1e-5])])])
        inverse = add("nn.div", [self.constant([1]), root], kept)
        scaled = add("nn.mul", [add("nn.mul", [d, inverse]), self.parameter(f"{name}.weight", shape)])
        return add("nn.add", [scaled, self.parameter(f"{name}.bias", shape)])

    def recurrent(self, x, module, cell):
        """One layer, or a cell, from a state of zeros: the products of all steps, then those of each state but the first."""
        size, batch = self.parameters[f"{module}.hh"].shape[1], x.shape[-2]
        add = lambda op, operands, *rest: self.add(op, operands, module, *rest)  # noqa: E731
        product = lambda value, part: add("nn.linear", [value, self.parameter(f"{module}.{part}"), self.parameter(f"{module}.bias_{part}")],  # noqa: E731
                                          (*value.shape[:-1], len(self.parameters[f"{module}.{part}"])))
        of_input = product(x, "ih")
        width = of_input.shape[-1]
        take = lambda value, k: add("nn.slice", [value], (batch, size), f"starts [0, {k * size}] sizes [{batch}, {size}] steps [1, 1]")  # noqa: E731
        h = c = self.constant(np.zeros((batch, size)))
        outputs, is_cell = [], len(x.shape) == 2
        for step in range(1 if is_cell else x.shape[0]):
            part = f"starts [{step}, 0, 0] sizes [1, {batch}, {width}] steps [1, 1, 1]"
            gates = of_input if is_cell else add("nn.reshape", [add("nn.slice", [of_input], (1, batch, width), part)], (batch, width))
            state = product(h, "hh") if step else self.constant(np.tile(self.parameters[f"{module}.bias_hh"], (batch, 1)))
            h, c = cell(add, take, gates, state, h, c)
            outputs.append(h if is_cell else add("nn.reshape", [h], (1, batch, size)))
        return h if is_cell else add("nn.concat", outputs, (x.shape[0], batch, size), "axis 0")

    def relu(self, x, name="relu"):
        return self.add("nn.relu", [x], name)

    def scalar(self, op, x, number, name, left=False):
        operands = [x, self.constant([number])]
        return self.add(op, operands[::-1] if left else operands, name, x.shape)

    def binary(self, op, a, b, name):
        return self.add(op, [a, b], name)

    def reshape(self, x, shape, name):
        return self.add("nn.reshape", [x], name, shape)

    def concat(self, values, axis, name):
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        return self.add("nn.concat", values, name, shape, f"axis {axis}")

    def pool(self, op, x, name):
        return self.add(op, [x], name, (*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2), "kernel [2, 2] strides [2, 2]")

    def write(self, result):
        arguments = ", ".join(f'%{x.name}: {x.type} {{nn.name = "{x.name}"}}' for x in self.inputs)
        return "\n".join([f"func.func @main({arguments}) -> ({result.type} {{nn.name = \"output\"}}) {{", *self.body,
                          f"  return %{result.name} : {result.type}", "}"]) + "\n"


def lstm(add, take, gates, state, h, c):
    gates = add("nn.add", [gates, state])
    i, f, o = (add("nn.sigmoid", [take(gates, k)]) for k in (0, 1, 3))
    c = add("nn.add", [add("nn.mul", [f, c]), add("nn.mul", [i, add("nn.tanh", [take(gates, 2)])])])
    return add("nn.mul", [o, add("nn.tanh", [c])]), c


def gru(add, take, gates, state, h, c):
    r, z = (add("nn.sigmoid", [add("nn.add", [take(gates, k), take(state, k)])]) for k in (0, 1))
    n = add("nn.tanh", [add("nn.add", [take(gates, 2), add("nn.mul", [r, take(state, 2)])])])
    return add("nn.add", [add("nn.mul", [z, add("nn.sub", [h, n])]), n]), c


@dataclass
class Case:
    modules: dict
    forward: object
    mapping: str = GLOBAL
    backend: str = "native"
    #: Nodes of FX that are one operator here.
    aliases: dict = field(default_factory=dict)
    #: Histograms are compared to 1 %, and not with 1.13, which cuts their bounds.
    is_histogram: bool = False
    #: Shapes that stand for the recorded ones.
    shapes: tuple = ()
    #: Scale and zero point at which the inputs come in.
    input_type: tuple = ()
    #: PyTorch's float convolution rounds its sums in another order.
    ulps: int = 1
    #: The outputs are those of PyTorch's lowered model, which quantizes inside of modules, too.
    is_lowered: bool = False
    #: Why the record of 1.13 does not hold, if only that of 2.13 does.
    only_new: str = ""
    #: What the library computes, from the network's parameters and samples, where PyTorch's two models contradict each other.
    output: object = None
    #: Whether samples are needed.
    is_calibrated: bool = True


L = ("linear",)
LL = {"a": L, "b": L}


def small_conv(o=2, k=1):
    return ("conv", 2, o, k)


def stack(n, values, name):
    parts = [n.reshape(value, (1, *value.shape), name) for value in values]
    return n.concat(parts, 0, name)


def masked_fill(n):
    a = n.linear(n.inputs[0], "a")
    zero = n.constant([0.0])
    mask = n.add("nn.compare", [zero, n.inputs[0]], "gt", a.shape, "less |", element="i1")
    return n.add("nn.select", [mask, zero, a], "masked_fill", a.shape)


def tutorial(n, use_bn=False):
    y = n.conv(n.linear(n.inputs[0], "linear"), "conv")
    y = n.batch_norm(y, "bn") if use_bn else y
    return n.add("nn.sigmoid", [n.relu(y, "relu" if use_bn else "conv")], "sigmoid")


def fork(n):
    h = n.linear(n.inputs[0], "a")
    return n.binary("nn.add", n.linear(h, "b"), n.linear(h, "c"), "add")


def two_users(n):
    c = n.conv(n.inputs[0], "c")
    return n.binary("nn.add", n.relu(c), c, "add")


def activations(n):
    y = n.add("nn.leaky_relu", [n.linear(n.inputs[0], "a")], "leaky_relu", attributes="alpha 0.1")
    return n.add("nn.hard_swish", [n.add("nn.elu", [y], "elu", attributes="alpha 1.0")], "hardswish")


def reshapes(n):
    y = n.add("nn.transpose", [n.linear(n.inputs[0], "a")], "transpose", (4, 2), "permutation [1, 0]")
    return n.linear(n.reshape(n.reshape(y, (2, 4), "reshape"), (2, 4), "contiguous"), "b")


def chunk(n):
    half = n.add("nn.slice", [n.linear(n.inputs[0], "a")], "getitem", (2, 2), "starts [0, 0] sizes [2, 2] steps [1, 1]", "torch.chunk")
    return n.linear(half, "b")


def averages(n):
    p = n.pool("nn.avg_pool", n.conv(n.inputs[0], "c"), "p")
    return n.add("nn.reduce_mean", [p], "mean", p.shape[:2], "axes [2, 3]")


def known_ranges(n):
    tanh = n.add("nn.tanh", [n.linear(n.inputs[0], "a")], "tanh")
    return n.add("nn.softmax", [tanh], "sm", attributes="axis 1")


def interpolate(n):
    c = n.conv(n.inputs[0], "c")
    return n.add("nn.resize", [c], "interpolate", (1, 2, 6, 6), "size [6, 6] scales [2.0, 2.0] nearest asymmetric floor")


def round_both(parameters, samples):
    """Input and weights as float16: PyTorch's reference model does not round the weights, its kernel does not round the input."""
    x, w = (array.astype(np.float16).astype(np.float32) for array in (samples["x"], parameters["a.weight"]))
    return x @ w.T + parameters["a.bias"]


TUTORIAL = qconfig("#octet.min_max<dtype = ui8, range = [0, 127], eps = 2.44140625e-4 : f32>")
TUTORIAL_MAPPING = mapping(*(f'octet.object_type "{op}" {TUTORIAL}' for op in ("nn.linear", "nn.conv", "nn.batch_norm", "nn.relu")),
                           everything=None)
TUTORIAL_MODULES = {"linear": ("linear", 10, 3), "conv": ("conv", 3, 3, 3)}
HALF = "#octet.placeholder<dtype = f16>"
DYNAMIC_HALF = "#octet.placeholder<dtype = f16, dynamic = true>"
ROWS = qconfig("#octet.placeholder<dtype = f32>", "#octet.per_channel_min_max<dtype = ui8, scheme = affine_float_qparams, axis = 0>")
CUT = "1.13 cuts the bounds of histograms"

CASES = {
    "linear": Case({"l": L}, lambda n: n.linear(n.inputs[0], "l")),
    "linear_relu": Case({"l": L}, lambda n: n.relu(n.linear(n.inputs[0], "l"), "l")),
    "linear_linear_relu_perchannel": Case(LL, lambda n: n.relu(n.linear(n.linear(n.inputs[0], "a"), "b"), "b"),
                                          mapping(everything=qconfig(weight=CHANNELS))),
    "conv_bn_relu": Case({"c": ("conv",), "bn": ("batch_norm",)},
                         lambda n: n.relu(n.batch_norm(n.conv(n.inputs[0], "c"), "c"), "c")),
    "conv_bn_relu_qat": Case({"c": ("conv",), "bn": ("batch_norm",)}, training_form, "qnnpack_default_qat_mapping", "fx_training.mlir", ulps=2),
    "linear_bn": Case({"l": L, "bn": ("batch_norm", 4)}, lambda n: n.batch_norm(n.linear(n.inputs[0], "l"), "l")),
    "convtranspose_bn": Case({"c": ("conv_transpose",), "bn": ("batch_norm",)},
                             lambda n: n.batch_norm(n.conv(n.inputs[0], "c", transposed=True), "c")),
    "bn_relu": Case({"bn": ("batch_norm",)}, lambda n: n.relu(n.batch_norm(n.inputs[0], "bn"), "bn")),
    "bn1d_alone": Case({"bn": ("batch_norm",)}, lambda n: n.batch_norm(n.inputs[0], "bn", "torch.nn.BatchNorm1d")),
    "conv_two_users_no_fuse": Case({"c": small_conv()}, two_users),
    "functional_linear_relu": Case({"l": L}, lambda n: n.relu(n.linear(n.inputs[0], "l", "linear"))),
    "functional_linear_kwargs": Case({"l": L}, lambda n: n.linear(n.inputs[0], "l", "linear")),
    "functional_conv2d": Case({"c": ("conv",)}, lambda n: n.conv(n.inputs[0], "c", "conv2d", pad=1), ulps=2),
    "add_two": Case({}, lambda n: n.binary("nn.add", *n.inputs, "add")),
    "add_same": Case({}, lambda n: n.binary("nn.add", n.inputs[0], n.inputs[0], "add")),
    "add_scalar": Case({"l": L}, lambda n: n.scalar("nn.add", n.linear(n.inputs[0], "l"), 2, "add")),
    "scalar_add_left": Case({"l": L}, lambda n: n.scalar("nn.add", n.linear(n.inputs[0], "l"), 2, "add", left=True)),
    "add_relu": Case({}, lambda n: n.relu(n.binary("nn.add", *n.inputs, "add"))),
    "mul_relu_scalar": Case({"l": L}, lambda n: n.relu(n.scalar("nn.mul", n.linear(n.inputs[0], "l"), 0.5, "mul"))),
    "sub_not_supported": Case({"l": L}, lambda n: n.binary("nn.sub", n.linear(n.inputs[0], "l"), n.inputs[1], "sub")),
    "matmul": Case({}, lambda n: n.add("nn.matmul", n.inputs, "matmul", (2, 3))),
    "cat": Case(LL, lambda n: n.concat([n.linear(n.inputs[0], "a"), n.linear(n.inputs[1], "b")], 1, "cat")),
    "cat_of_inputs": Case({}, lambda n: n.concat(n.inputs, 1, "cat")),
    "cat_same_value_twice": Case(
        {"a": L}, lambda n: n.concat([n.linear(n.inputs[0], "a"), n.linear(n.inputs[0], "a", "a_1")], 1, "cat")),
    "maxpool_between_convs": Case(
        {"a": small_conv(), "b": small_conv()},
        lambda n: n.conv(n.pool("nn.max_pool", n.conv(n.inputs[0], "a"), "max_pool2d"), "b")),
    "maxpool_only": Case({}, lambda n: n.pool("nn.max_pool", n.inputs[0], "max_pool2d")),
    "reshape_chain": Case(LL, reshapes),
    "reshape_default_mapping": Case(LL, lambda n: n.linear(n.reshape(n.linear(n.inputs[0], "a"), (2, 4), "reshape"), "b"),
                                    "qnnpack_default_mapping", is_histogram=True, only_new=CUT),
    "flatten_linear": Case({"c": small_conv(1, 3), "l": ("linear", 4, 2)},
                           lambda n: n.linear(n.reshape(n.conv(n.inputs[0], "c"), (1, 4), "flatten"), "l"), ulps=2),
    "size_view": Case({"a": L}, lambda n: n.reshape(n.linear(n.inputs[0], "a"), (2, 4), "view"),
                      only_new="in 1.13, size() in a view keeps the view's producer float"),
    "relu_standalone": Case(LL, lambda n: n.linear(n.relu(n.scalar("nn.add", n.linear(n.inputs[0], "a"), 1, "add")), "b")),
    "sigmoid_default_mapping": Case({"a": L}, lambda n: n.add("nn.sigmoid", [n.linear(n.inputs[0], "a")], "sigmoid"),
                                    "qnnpack_default_mapping", is_histogram=True, only_new=CUT),
    "sigmoid_plain_minmax": Case({"a": L}, lambda n: n.add("nn.sigmoid", [n.linear(n.inputs[0], "a")], "sigmoid"),
                                 only_new="1.13 raises"),
    "tanh_softmax_default": Case({"a": L}, known_ranges, "qnnpack_default_mapping", is_histogram=True, only_new=CUT),
    "leaky_elu_hardswish": Case({"a": L}, activations),
    "layernorm_default": Case({"a": L, "ln": ("norm", 4)},
                              lambda n: n.norm(n.linear(n.inputs[0], "a"), "ln", [1], (4,), "torch.nn.LayerNorm"),
                              "qnnpack_default_mapping", is_histogram=True, only_new=CUT),
    "groupnorm_functional": Case({"c": small_conv(), "g": ("norm",)},
                                 lambda n: n.norm(n.conv(n.inputs[0], "c"), "g", [1, 2, 3], (2, 1, 1)),
                                 aliases={"group_norm": "g"}, only_new="1.13 quantizes the normalization's weight, too"),
    "groupnorm_module": Case({"c": small_conv(), "g": ("norm",)},
                             lambda n: n.norm(n.conv(n.inputs[0], "c"), "g", [1, 2, 3], (2, 1, 1), "torch.nn.GroupNorm")),
    "interpolate": Case({"c": small_conv()}, interpolate),
    "avgpool_mean": Case({"c": small_conv()}, averages),
    "dropout": Case({"a": L}, lambda n: n.add("nn.transpose", [n.linear(n.inputs[0], "a")], "d", attributes="permutation [0, 1]",
                                              source="torch.nn.Dropout")),
    "embedding_weight_only": Case({"e": ("embedding",)}, lambda n: n.embedding(n.index(n.inputs[0]), "e"),
                                  mapping(f'octet.object_type "torch.nn.Embedding" {ROWS}', everything=None), is_calibrated=False),
    "fp16_dynamic_linear": Case({"a": L}, lambda n: n.linear(n.inputs[0], "a"), mapping(everything=qconfig(DYNAMIC_HALF, HALF)),
                                output=round_both),
    "fp16_static_linear": Case({"a": L}, lambda n: n.linear(n.inputs[0], "a"), mapping(everything=qconfig(HALF, HALF))),
    "dynamic_linear": Case({"a": L}, lambda n: n.relu(n.linear(n.inputs[0], "a"), "a"), DYNAMIC),
    "dynamic_functional_linear": Case({"a": L}, lambda n: n.linear(n.inputs[0], "a", "linear"), DYNAMIC),
    "dynamic_conv_not_lowered": Case({"c": ("conv",)}, lambda n: n.conv(n.inputs[0], "c"), DYNAMIC),
    "gru_dynamic": Case({"g": ("recurrent", 4)}, lambda n: n.recurrent(n.inputs[0], "g", lstm), DYNAMIC, aliases={"getitem": "g"}, is_lowered=True),
    "input_quantized": Case(
        {"a": L}, lambda n: n.linear(n.inputs[0], "a"), input_type=(0.0118, 85),
        mapping=mapping(everything=f"#octet.qconfig<activation = #octet.fixed_qparams<ui8, scale = 0.0118 : f32, zero_point = 85>, "
                        f"weight = {WEIGHTS}, result = {VALUES}>", interface="quantized_inputs [0]")),
    "output_quantized": Case({"a": L}, lambda n: n.linear(n.inputs[0], "a"), mapping(interface="quantized_outputs [0]")),
    "module_name_none": Case(LL, lambda n: n.linear(n.linear(n.inputs[0], "a"), "b"), mapping('octet.module_name "b" none')),
    "module_name_none_first": Case(LL, lambda n: n.linear(n.linear(n.inputs[0], "a"), "b"), mapping('octet.module_name "a" none')),
    "fork_two_consumers": Case({**LL, "c": L}, fork),
    "input_two_consumers_different_obs": Case(
        LL, lambda n: n.binary("nn.add", n.linear(n.inputs[0], "a"), n.linear(n.inputs[0], "b"), "add"),
        mapping(f'octet.module_name "b" {qconfig("#octet.min_max<dtype = ui8, range = [0, 127]>")}')),
    "same_module_twice": Case({"a": L}, lambda n: n.linear(n.linear(n.inputs[0], "a"), "a", "a_1")),
    "masked_fill": Case({"a": L}, masked_fill),
    "getattr_shape": Case({"a": L}, lambda n: n.reshape(n.linear(n.inputs[0], "a"), (2, 4), "reshape")),
    "stack_unsqueeze": Case({"a": L}, lambda n: n.reshape(
        stack(n, [n.linear(n.inputs[0], "a"), n.linear(n.inputs[0], "a", "a_1")], "stack"), (1, 2, 2, 4), "unsqueeze")),
    "chunk_not_in_config": Case({"a": L, "b": ("linear", 2, 2)}, chunk, aliases={"chunk": "getitem"}),
    "tutorial_conv_relu": Case(TUTORIAL_MODULES, tutorial, TUTORIAL_MAPPING, "fx_tutorial.mlir"),
    "tutorial_conv_bn_relu_not_in_backend": Case(
        {**TUTORIAL_MODULES, "bn": ("batch_norm", 3)}, lambda n: tutorial(n, use_bn=True), TUTORIAL_MAPPING, "fx_tutorial.mlir"),
    "tutorial_default_mapping_violates_constraints": Case(
        TUTORIAL_MODULES, tutorial, "fbgemm_default_mapping", "fx_tutorial.mlir"),
}


def make(case, record):
    """The text of a case's network."""
    network = Network(case.modules, record["first_param_seed"], case.shapes or record["input_shapes"])
    return network.write(case.forward(network))


def make_samples(case, record):
    """The one sample that the networks are calibrated with."""
    samples = {name: generate({"seed": 5000 + i, "shape": shape, "kind": "uniform", "lo": -1.0, "hi": 2.0})
               for i, (name, shape) in enumerate(zip("xy", case.shapes or record["input_shapes"]))}
    if not case.input_type:
        return samples
    scale, zero = np.float32(case.input_type[0]), case.input_type[1]
    return {name: (np.clip(np.rint(x * (1 / scale)) + zero, 0, 255) - zero).astype(np.float32) * scale for name, x in samples.items()}

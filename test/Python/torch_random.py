# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules of PyTorch, by seed: chains, residual sums, forks, joins, modules called twice, nested modules.

A row of STEPS makes one step of a module's `forward` for values of the shapes that there are. A step is a function of the
module and of its operands, so that FX traces what the same lines of a program would give.
"""
import random
from dataclasses import dataclass
from typing import Callable

import torch
import torch_layers as layers
from torch import nn
from torch.nn import functional as F

#: Steps by the number of dimensions of the value that they read; an int: how often one is drawn.
STEPS = []


@dataclass
class Step:
    """`run(module, *operands)` computes the result; `reads` are positions of values in the forward function."""

    run: Callable
    reads: list


class RandomModule(nn.Module):
    """A module whose forward function is a list of steps."""

    def __init__(self):
        super().__init__()
        self.steps, self.outputs, self.form, self.count = [], [], "one", 0

    def add(self, layer, kind):
        """The name of a submodule."""
        name = f"{kind}{len(self._modules)}"
        self.add_module(name, layer)
        return name

    def forward(self, *inputs):
        values = list(inputs)
        for step in self.steps:
            values.append(step.run(self, *(values[i] for i in step.reads)))
        results = [values[i] for i in self.outputs]
        if self.form == "dict":
            return {f"r{i}": result for i, result in enumerate(results)}
        return results[0] if len(results) == 1 else tuple(results)


def _with_inputs(module, count):
    """The module with as many named inputs: FX does not trace *inputs as several values."""
    names = ", ".join(f"x{i}" for i in range(count))
    space = {}
    exec(f"def forward(self, {names}):\n    return RandomModule.forward(self, {names})", {"RandomModule": RandomModule}, space)
    kind = type(f"Random{count}", (RandomModule,), {"forward": space["forward"]})
    module.__class__ = kind
    return module


def step(*ranks, weight=1):
    """A row for values of these ranks: `row(rng, module, x)` gives a function of the module and x."""
    def register(row):
        STEPS.extend([(ranks, row)] * weight)
        return row
    return register


def _call(module, layer, kind):
    name = module.add(layer, kind)
    return lambda m, x: getattr(m, name)(x)


def _chain(*parts):
    """One after the other."""
    def run(m, y):
        for part in parts:
            y = part(m, y)
        return y
    return run


@step(4, weight=8)
def conv(rng, module, x):
    """A convolution with what may be fused to it."""
    first = _call(module, layers.make_conv(rng, x.shape), "conv")
    channels = first(module, x).shape[1]
    rest = [_call(module, layers.make_batch_norm(rng, channels), "bn")] if rng.random() < 0.5 else []
    rest += [_activation(rng, module)] if rng.random() < 0.6 else []
    return _chain(first, *rest)


@step(2, 3, weight=8)
def linear(rng, module, x):
    first = _call(module, layers.make_linear(rng, x.shape[-1]), "linear")
    rest = []
    if x.dim() == 2 and rng.random() < 0.2:
        rest.append(_call(module, layers.spread(rng, nn.BatchNorm1d(first(module, x).shape[1])), "bn"))
    rest += [_activation(rng, module)] if rng.random() < 0.5 else []
    return _chain(first, *rest)


def _activation(rng, module):
    """relu in one of its forms; those that write their operand only here, where nothing else reads it."""
    form = rng.choice(("module", "module", "functional", "functional", "torch", "method", "in place", "method in place"))
    if form == "module":
        return _call(module, nn.ReLU(), "relu")
    if form == "in place":
        return _call(module, nn.ReLU(inplace=True), "relu")
    return {"functional": lambda m, x: F.relu(x), "torch": lambda m, x: torch.relu(x), "method": lambda m, x: x.relu(),
            "method in place": lambda m, x: x.relu_()}[form]


@step(2, 3, 4, weight=3)
def activation(rng, module, x):
    form = rng.choice(("module", "functional", "torch", "method"))
    if form == "module":
        return _call(module, nn.ReLU(), "relu")
    return {"functional": lambda m, y: F.relu(y), "torch": lambda m, y: torch.relu(y), "method": lambda m, y: y.relu()}[form]


@step(4, weight=2)
def functional_conv(rng, module, x):
    weight, bias = layers.make_weights(rng, (rng.choice((4, 8)), x.shape[1], 3, 3))
    name = module.add(layers.Weights(weight, bias), "weights")
    with_relu, by_name = rng.random() < 0.4, rng.random() < 0.3

    def run(m, y):
        w = getattr(m, name)
        y = F.conv2d(y, weight=w.weight, bias=w.bias, padding=1) if by_name and bias is not None else F.conv2d(y, w.weight, w.bias, 1, 1)
        return F.relu(y) if with_relu else y
    return run


@step(2, weight=2)
def functional_linear(rng, module, x):
    weight, bias = layers.make_weights(rng, (rng.choice((4, 8)), x.shape[-1]))
    name = module.add(layers.Weights(weight, bias), "weights")
    with_relu = rng.random() < 0.4

    def run(m, y):
        w = getattr(m, name)
        y = F.linear(y, w.weight, w.bias)
        return F.relu(y) if with_relu else y
    return run


@step(4, weight=5)
def image_layer(rng, module, x):
    """Operators of images, as modules."""
    return _call(module, layers.make_image_layer(rng, x.shape), "layer")


@step(2, 3, 4, weight=5)
def value_layer(rng, module, x):
    """Operators of any values, as modules."""
    return _call(module, layers.make_value_layer(rng, x.shape), "layer")


@step(2, 3, 4, weight=5)
def value_function(rng, module, x):
    function = rng.choice(layers.VALUE_FUNCTIONS)
    return lambda m, y: function(y)


@step(4, weight=4)
def image_function(rng, module, x):
    function = rng.choice(layers.IMAGE_FUNCTIONS)
    return lambda m, y: function(y)


@step(2, 3, 4, weight=2)
def float_function(rng, module, x):
    """Operators that no backend has."""
    function = rng.choice(layers.FLOAT_FUNCTIONS)
    return lambda m, y: function(y)


@step(4, weight=2)
def to_matrix(rng, module, x):
    form = rng.choice(("mean", "method", "pool", "flatten", "layer", "view"))
    if form == "pool":
        return lambda m, y: torch.flatten(F.adaptive_avg_pool2d(y, 1), 1)
    if form == "layer":
        return _call(module, nn.Flatten(), "layer")
    return {"mean": lambda m, y: torch.mean(y, (2, 3)), "method": lambda m, y: y.mean((2, 3)), "flatten": lambda m, y: torch.flatten(y, 1),
            "view": lambda m, y: y.view(y.size(0), -1)}[form]


@step(3)
def from_sequence(rng, module, x):
    return rng.choice((lambda m, y: y.mean(1), lambda m, y: y.transpose(1, 2), lambda m, y: y.unsqueeze(1)))


@step(3, weight=2)
def recurrent(rng, module, x):
    """All results of a recurrent layer over the first dimension."""
    name = module.add(layers.make_recurrent(rng, x.shape[-1]), "rnn")
    return lambda m, y: getattr(m, name)(y)[0]


@step(2)
def from_matrix(rng, module, x):
    if x.shape[1] % 4 == 0 and rng.random() < 0.5:
        return lambda m, y: y.reshape(y.shape[0], 4, -1)
    return rng.choice((lambda m, y: y.unsqueeze(1), lambda m, y: torch.unsqueeze(y, 2)))


@step(4, 2, weight=2)
def parts(rng, module, x):
    """A value is cut, and some of its parts are joined again."""
    if x.shape[1] % 2:
        return None
    form = rng.randrange(4)
    if form == 0:
        return lambda m, y: torch.cat([torch.chunk(y, 2, 1)[k] for k in (1, 0)], 1)
    if form == 1:
        return lambda m, y: y.chunk(2, dim=1)[0] + y.chunk(2, dim=1)[1]
    if form == 2:
        return lambda m, y: torch.cat([y[:, 1:], y[:, :1]], dim=1)
    return lambda m, y: torch.split(y, y.shape[1] // 2, 1)[1]


def _list_reals(values):
    return [k for k, value in enumerate(values) if value.is_floating_point()]


def _join(rng, module, values, i):
    """A step with several operands of the shape of value i, or None."""
    same = [k for k in _list_reals(values) if values[k].shape == values[i].shape]
    joined = [k for k in _list_reals(values) if values[k].dim() == values[i].dim() and values[k].dim() > 1
              and values[k].shape[:1] + values[k].shape[2:] == values[i].shape[:1] + values[i].shape[2:]]
    if not joined:
        return None
    other = rng.choice(same)
    relu = rng.choice((None, None, F.relu, torch.relu, "module"))
    if relu == "module":
        name = module.add(nn.ReLU(), "relu")
    end = (lambda m, y: y) if relu is None else (lambda m, y: getattr(m, name)(y)) if relu == "module" else (lambda m, y: relu(y))
    form = rng.choice(("add", "add", "torch.add", "mul", "torch.mul", "sub", "cat", "stack", "matmul", "maximum"))
    if form == "cat" and sum(values[k].shape[1] for k in joined[-3:]) <= 24:
        chosen = [i, rng.choice(joined)] + ([rng.choice(joined)] if rng.random() < 0.2 else [])
        return Step(lambda m, *ys: torch.cat(ys, 1), chosen)
    if form == "stack" and values[i].dim() == 2:
        return Step(lambda m, a, b: torch.stack([a, b], 1), [i, other])
    if form == "matmul" and values[i].dim() >= 2:
        return Step(lambda m, a, b: torch.matmul(a, torch.transpose(b, -1, -2)), [i, other])
    functions = {"add": lambda m, a, b: end(m, a + b), "torch.add": lambda m, a, b: end(m, torch.add(a, b)), "mul": lambda m, a, b: end(m, a * b),
                 "torch.mul": lambda m, a, b: end(m, torch.mul(a, b)), "sub": lambda m, a, b: a - b,
                 "maximum": lambda m, a, b: torch.maximum(a, b)}
    return Step(functions[form], [i, other]) if form in functions else None


def _again(rng, module, values, i):
    """A submodule that is called once more, if one takes the value."""
    names = list(module._modules)
    rng.shuffle(names)
    for name in names:
        layer = getattr(module, name)
        if isinstance(layer, layers.Weights) or getattr(layer, "inplace", False):
            continue
        if isinstance(layer, nn.AdaptiveAvgPool2d) and values[i].dim() < 4:  # takes matrices, but says another shape than it computes
            continue
        try:
            result = layer(values[i])
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue
        if isinstance(result, torch.Tensor):
            return Step(lambda m, x, name=name: getattr(m, name)(x), [i])
    return None


def _nested(rng, module, values, i, depth):
    """A module of one's own around a few steps, in part a Sequential."""
    if values[i].dim() == 4 and rng.random() < 0.3:
        conv_ = layers.make_conv(rng, values[i].shape)
        channels = conv_(values[i]).shape[1]
        inner = nn.Sequential(conv_, layers.make_batch_norm(rng, channels), nn.ReLU()).eval()
    else:
        inner = make_module(rng, [values[i]], rng.randint(1, 4), depth - 1)
        _choose_outputs(inner, inner.outputs)
    name = module.add(inner, "block")
    return Step(lambda m, x: getattr(m, name)(x), [i])


def _draw(rng, module, values, depth):
    """The next step; it mostly reads the newest value."""
    i = len(values) - 1 if rng.random() < 0.75 else rng.choice(_list_reals(values))
    kind = rng.random()
    if kind < 0.2:
        return _join(rng, module, values, i)
    if kind < 0.25:
        return _again(rng, module, values, i)
    if kind < 0.37 and depth:
        return _nested(rng, module, values, i, depth)
    rows = [row for ranks, row in STEPS if values[i].dim() in ranks]
    run = rng.choice(rows)(rng, module, values[i]) if rows else None
    return run and Step(run, [i])


def make_module(rng, inputs, length, depth):
    """A module that takes these inputs and has about so many steps."""
    module, values = _with_inputs(RandomModule().eval(), len(inputs)), list(inputs)
    module.count = len(inputs)
    for i, x in enumerate(inputs):
        if not x.is_floating_point():
            module.steps.append(Step(_call(module, layers.make_embedding(rng), "embedding"), [i]))
            values.append(module.steps[-1].run(module, x).detach())
    length += len(module.steps)
    for _ in range(length * 3):
        if len(module.steps) == length:
            break
        step_ = _draw(rng, module, values, depth)
        if step_ is None:
            continue
        with torch.no_grad():
            # In-place forms are drawn where nothing else reads their operand; the copies are for the probing here.
            try:
                result = step_.run(module.eval(), *(values[k].clone() for k in step_.reads))
            except ValueError:  # an operator that has limits on shapes
                continue
        if isinstance(result, torch.Tensor) and result.numel() and result.numel() <= 20000 and result.isfinite().all() and result.abs().max() < 1e4:
            module.steps.append(step_)
            values.append(result)
    if not module.steps:
        module.steps.append(Step(lambda m, x: F.relu(x), [len(inputs) - 1]))
        values.append(values[-1])
    module.outputs = [len(values) - 1]
    return module.eval()


def _choose_outputs(module, outputs):
    """Steps that none of them needs compute nothing. Their submodules stay, as in practice."""
    module.outputs, needed = outputs, set(outputs)
    for number in reversed(range(len(module.steps))):
        if module.count + number in needed:
            needed.update(module.steps[number].reads)
        else:
            module.steps[number] = Step(lambda m: None, [])


def make_like(x):
    """Another sample for an input."""
    return torch.randn_like(x) if x.is_floating_point() else torch.randint(0, layers.WORDS, x.shape)


def make_network(seed):
    """A module and its example inputs."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    shape = rng.choice(((2, 3, 8, 8), (1, 4, 9, 7), (2, 8, 6, 6), (3, 8), (2, 12), (2, 5, 8)))
    inputs = [torch.randn(shape) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    if rng.random() < 0.1:
        inputs = [torch.randint(0, layers.WORDS, (2, 5))] + inputs[:rng.randrange(2)]
    module = make_module(rng, inputs, rng.randint(1, 10), 2)
    unread = set(range(len(inputs) + len(module.steps))) - {k for step_ in module.steps for k in step_.reads}
    extra = sorted(unread - set(range(len(inputs))) - set(module.outputs))
    _choose_outputs(module, module.outputs + rng.sample(extra, min(len(extra), rng.randrange(3))))
    module.form = rng.choice(("one", "one", "dict")) if len(module.outputs) > 1 else "one"
    return module, tuple(inputs)

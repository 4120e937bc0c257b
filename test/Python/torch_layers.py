# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers and functions that random modules are made of, with random parameters."""
import torch
from torch import nn
from torch.nn import functional as F


class Weights(nn.Module):
    """Parameters of functional forms; never called."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias) if bias is not None else None


def spread(rng, norm):
    """A normalization with statistics and parameters as after training."""
    for name, low, high in (("weight", 0.5, 1.5), ("bias", -0.5, 0.5), ("running_mean", -0.5, 0.5), ("running_var", 0.5, 2)):
        tensor = getattr(norm, name, None)
        if tensor is not None:
            tensor.data.uniform_(low, high)
    return norm.eval()


def make_batch_norm(rng, channels):
    return spread(rng, nn.BatchNorm2d(channels))


def make_conv(rng, shape):
    channels = shape[1]
    form = rng.random()
    has_bias = rng.random() < 0.7
    if form < 0.15:
        return nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=has_bias)
    if form < 0.25:
        return nn.ConvTranspose2d(channels, channels, 3, stride=rng.choice((1, 2)), padding=1, bias=has_bias)
    groups = 2 if channels % 2 == 0 and rng.random() < 0.15 else 1
    kernel = rng.choice((1, 3, 3)) if min(shape[2:]) >= 3 else 1
    return nn.Conv2d(channels, rng.choice((4, 8, 12)), kernel, stride=rng.choice((1, 1, 2)), padding=kernel // 2, groups=groups, bias=has_bias)


#: Rows of the embeddings.
WORDS = 10


def make_embedding(rng):
    if rng.random() < 0.3:
        return nn.EmbeddingBag(WORDS, rng.choice((4, 8)), mode=rng.choice(("sum", "mean")))
    return nn.Embedding(WORDS, rng.choice((4, 8)))


def make_recurrent(rng, features):
    kind = rng.choice((nn.LSTM, nn.LSTM, nn.GRU))
    return kind(features, rng.choice((4, 6)), rng.choice((1, 1, 2)), bidirectional=rng.random() < 0.3)


def make_linear(rng, features):
    return nn.Linear(features, rng.choice((4, 8, 12)), bias=rng.random() < 0.8)


def make_weights(rng, shape):
    scale = (shape[1] * 9) ** -0.5 if len(shape) == 4 else shape[1] ** -0.5
    return torch.randn(shape) * scale, torch.randn(shape[0]) * 0.1 if rng.random() < 0.7 else None


def make_image_layer(rng, shape):
    channels = shape[1]
    rows = [lambda: nn.MaxPool2d(2, 2, padding=1), lambda: nn.MaxPool2d(3, 1, padding=1), lambda: nn.AvgPool2d(3, 1, padding=1),
            lambda: nn.AdaptiveAvgPool2d(1 if any(size % 2 for size in shape[2:]) else rng.choice((1, 2))), lambda: make_batch_norm(rng, channels),
            lambda: nn.InstanceNorm2d(channels), lambda: nn.Identity(), lambda: nn.GroupNorm(channels if channels % 2 else 2, channels),
            lambda: nn.Dropout2d(0.2), lambda: nn.Upsample(scale_factor=2)]
    if channels % 4 == 0:
        rows.append(lambda: nn.PixelShuffle(2))
    return rng.choice(rows)()


def make_value_layer(rng, shape):
    rows = [lambda: nn.Hardswish(), lambda: nn.ELU(), lambda: nn.LeakyReLU(0.1), lambda: nn.PReLU(), lambda: nn.Hardsigmoid(),
            lambda: nn.Sigmoid(), lambda: nn.Tanh(), lambda: nn.ReLU6(), lambda: nn.Hardtanh(-0.8, 0.9), lambda: nn.Dropout(0.1),
            lambda: nn.Softmax(dim=1), lambda: spread(rng, nn.LayerNorm(shape[-1])), lambda: nn.SiLU(), lambda: nn.GELU()]
    return rng.choice(rows)()


VALUE_FUNCTIONS = (
    lambda x: F.hardswish(x), lambda x: F.elu(x), lambda x: F.leaky_relu(x, 0.2), lambda x: F.hardsigmoid(x), lambda x: torch.sigmoid(x),
    lambda x: x.sigmoid(), lambda x: torch.tanh(x), lambda x: x.tanh(), lambda x: F.relu6(x), lambda x: F.hardtanh(x, -0.7, 0.6),
    lambda x: torch.clamp(x, -0.5, 0.5), lambda x: x.clamp(-1, 1), lambda x: F.dropout(x, 0.2, False), lambda x: x.contiguous(),
    lambda x: x.detach(), lambda x: x + 2, lambda x: x * 0.5, lambda x: 1.5 + x, lambda x: torch.add(x, 0.25), lambda x: F.relu(x * 3),
    lambda x: torch.relu(x + 1), lambda x: x.mean(-1, keepdim=True),
    lambda x: torch.squeeze(torch.unsqueeze(x, 0), 0), lambda x: x.transpose(-1, -2), lambda x: torch.flatten(x, -2), lambda x: x + x,
    lambda x: F.layer_norm(x, x.shape[-1:]), lambda x: x.masked_fill(x > 0.5, 0.25),
)

IMAGE_FUNCTIONS = (
    lambda x: F.max_pool2d(x, 2, padding=1), lambda x: F.avg_pool2d(x, 3, 1, 1), lambda x: F.adaptive_avg_pool2d(x, 1),
    lambda x: F.interpolate(x, scale_factor=2), lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), lambda x: x.permute(0, 2, 3, 1),
    lambda x: x.permute(0, 3, 1, 2).permute(0, 2, 3, 1), lambda x: torch.mean(x, (2, 3), keepdim=True), lambda x: torch.transpose(x, 2, 3),
    lambda x: F.instance_norm(x), lambda x: torch.squeeze(x), lambda x: x.reshape(x.shape[0], x.shape[1], -1).unsqueeze(-1),
)

FLOAT_FUNCTIONS = (
    lambda x: torch.sin(x), lambda x: x.sin(), lambda x: torch.exp(-torch.abs(x)), lambda x: x.abs(), lambda x: -x, lambda x: x / 2,
    lambda x: torch.sqrt(torch.abs(x) + 1), lambda x: F.silu(x), lambda x: F.softmax(x, -1), lambda x: x - 0.5, lambda x: x ** 2,
    lambda x: torch.where(x > 0, x, 0.1 * x), lambda x: F.gelu(x),
)

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks and Transformers, and operators under the names that torch.export gives them: (name, callable or module, inputs)."""

import torch
from torch import nn

torch.manual_seed(3)
STEPS, FIRST = torch.randn(4, 2, 5), torch.randn(2, 4, 5)  # the steps in front, the batch in front
X, IMAGE = torch.randn(2, 6, 8), torch.randn(2, 8, 9, 7)


class StatesOfLSTM(nn.Module):
    """Its states come as a pair."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 3, bidirectional=True, batch_first=True)

    def forward(self, x, h, c):
        return self.lstm(x, (h, c))


RECURRENT = [
    ("lstm", nn.LSTM(5, 3), (STEPS,)),
    ("gru", nn.GRU(5, 3), (STEPS,)),
    ("rnn", nn.RNN(5, 3), (STEPS,)),
    ("rnn_relu", nn.RNN(5, 3, nonlinearity="relu"), (STEPS,)),
    *((cls.__name__ + "_deep", cls(5, 3, 2, batch_first=True, bidirectional=True), (FIRST,)) for cls in (nn.LSTM, nn.GRU, nn.RNN)),
    ("lstm_plain", nn.LSTM(5, 3, bias=False), (STEPS,)),
    ("lstm_unbatched", nn.LSTM(5, 3), (STEPS[:, 0],)),
    ("gru_states", nn.GRU(5, 3, 2), (STEPS, torch.randn(2, 2, 3))),
    ("lstm_states", StatesOfLSTM(), (FIRST, torch.randn(2, 2, 3), torch.randn(2, 2, 3))),
    ("lstm_cell", nn.LSTMCell(5, 3), (STEPS[0],)),
    ("gru_cell", nn.GRUCell(5, 3), (STEPS[0], torch.randn(2, 3))),
    ("rnn_cell", nn.RNNCell(5, 3), (STEPS[0],)),
    ("rnn_cell_relu", nn.RNNCell(5, 3, nonlinearity="relu"), (STEPS[0],)),
    ("lstm_dropout", nn.LSTM(5, 3, 2, dropout=0.5), (STEPS,)),
]
_FUNCTIONS = {
    "lstm": (nn.LSTM(5, 3, 2), (torch.zeros(2, 2, 3), torch.ones(2, 2, 3))),
    "gru": (nn.GRU(5, 3, 2), torch.ones(2, 2, 3)),
    "rnn_tanh": (nn.RNN(5, 3, 2), torch.zeros(2, 2, 3)),
    "rnn_relu": (nn.RNN(5, 3, 2), torch.ones(2, 2, 3)),
}
RECURRENT += [
    (
        f"function_{name}",
        lambda x, of=getattr(torch, name), weights=[p.detach() for p in module.parameters()], states=states: of(
            x, states, weights, True, 2, 0.0, False, False, False
        ),
        (STEPS,),
    )
    for name, (module, states) in _FUNCTIONS.items()
]
MASK = torch.triu(torch.full((6, 6), float("-inf")), 1)


def _encoder(**kwargs):
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **kwargs)


def _decoder(**kwargs):
    return nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, **kwargs)


TRANSFORMERS = [
    ("attention", nn.MultiheadAttention(8, 2), (X, X, X)),
    ("attention_batch_first", nn.MultiheadAttention(8, 4, batch_first=True), (X, X[:, :3], X[:, :3])),
    ("attention_plain", nn.MultiheadAttention(8, 2, bias=False), (X, X, X)),
    ("attention_of_sizes", nn.MultiheadAttention(8, 2, kdim=5, vdim=3, batch_first=True), (X, torch.randn(2, 4, 5), torch.randn(2, 4, 3))),
    ("attention_bias_kv", nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True), (X, X, X)),
    ("attention_unbatched", nn.MultiheadAttention(8, 2), (X[0], X[0], X[0])),
    ("encoder_layer", _encoder(), (X,)),
    ("encoder_layer_first", _encoder(norm_first=True, activation="gelu"), (X,)),
    ("encoder", nn.TransformerEncoder(_encoder(), 2), (X,)),
    ("decoder_layer", _decoder(norm_first=True), (X, X[:, :3])),
    ("decoder", nn.TransformerDecoder(_decoder(), 2, nn.LayerNorm(8)), (X, X[:, :3])),
    ("transformer", nn.Transformer(8, 2, 1, 1, 16, batch_first=True), (X, X[:, :4])),
]


class Masked(nn.Module):
    """What forward passes besides tensors: masks, need_weights, average_attn_weights."""

    def __init__(self):
        super().__init__()
        self.attention, self.encoder = nn.MultiheadAttention(8, 2, batch_first=True), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.register_buffer("mask", MASK)

    def forward(self, x, padding):
        return (
            self.attention(x, x, x, key_padding_mask=padding, attn_mask=self.mask),
            self.attention(x, x, x, need_weights=False)[0],
            self.attention(x, x, x, average_attn_weights=False),
            self.encoder(x, src_mask=self.mask, src_key_padding_mask=padding),
            self.encoder(x, self.mask, is_causal=True),
        )


class Fast(nn.Module):
    """The functions that layers call in evaluation without gradients."""

    def __init__(self, use_gelu, norm_first):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.attention = nn.ParameterList([layer.self_attn.in_proj_weight, torch.randn(24), layer.self_attn.out_proj.weight, torch.randn(8)])
        self.norms = nn.ParameterList([torch.randn(8) for _ in range(4)])
        self.feed = nn.ParameterList([layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias])
        self.flags = (use_gelu, norm_first, 1e-5)

    def forward(self, x, padding):
        weights = [*self.attention], [*self.norms], [*self.feed]
        masks = (None, None), (padding, 1), (MASK.expand(2, 2, 6, 6), 2), (MASK, 0)
        layers = [torch._transformer_encoder_layer_fwd(x, 8, 2, *weights[0], *self.flags, *weights[1], *weights[2], *mask) for mask in masks]
        attended = torch._native_multi_head_attention(x, x, x, 8, 2, *weights[0], mask=padding, mask_type=1)
        each = torch._native_multi_head_attention(x, x, x, 8, 2, *weights[0], average_attn_weights=False)
        return (*layers, attended[0], attended[1], each[0], each[1], torch._native_multi_head_attention(x, x, x, 8, 2, *weights[0], need_weights=False)[0])


TRANSFORMERS += [(f"fast_{flags}", Fast(*flags), (X, torch.tensor([[False] * 6, [False] * 4 + [True] * 2]))) for flags in ((True, False), (False, True))]
TRANSFORMERS.append(("masked", Masked(), (X, torch.tensor([[False] * 6, [False] * 4 + [True] * 2]))))
A = torch.ops.aten
SAMPLES = {1: torch.randn(2, 4, 11), 2: IMAGE, 3: torch.randn(1, 4, 5, 6, 7)}
ATEN = [
    *((f"nearest{r}d", lambda x, r=r: getattr(A, f"upsample_nearest{r}d").default(x, [5, 11, 6][:r]), (x,)) for r, x in SAMPLES.items()),
    *((f"nearest_exact{r}d", lambda x, r=r: getattr(A, f"_upsample_nearest_exact{r}d").default(x, [5, 11, 6][:r]), (x,)) for r, x in SAMPLES.items()),
    *(
        (f"{name}_pad{r}d", lambda x, r=r, name=name: getattr(A, f"{name}_pad{r}d").default(x, [1, 2] * r), (x,))
        for r, x in SAMPLES.items()
        for name in ("reflection", "replication")
    ),
    ("linear", lambda x: A.upsample_linear1d.default(x, [15], False), (SAMPLES[1],)),
    ("trilinear", lambda x: A.upsample_trilinear3d.default(x, [5, 11, 6], True), (SAMPLES[3],)),
    ("softmax", lambda x: A._softmax.default(x, 1, False), (X,)),
    ("log_softmax", lambda x: A._log_softmax.default(x, 1, False), (X,)),
    ("layer_norm", lambda x, w, b: A.native_layer_norm.default(x, [8], w, b, 1e-5)[0], (X, torch.randn(8), torch.randn(8))),
    ("group_norm", lambda x: A.native_group_norm.default(x, None, None, 2, 8, 63, 4, 1e-5)[0], (IMAGE,)),
    ("convolution", lambda x: A.convolution.default(x, torch.ones(4, 8, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1), (IMAGE,)),
    ("convolution_transposed", lambda x: A.convolution.default(x, torch.ones(8, 4, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1), (IMAGE,)),
    ("nearest_vec", lambda x: A.upsample_nearest2d.vec(x, None, [2.0, 1.5]), (IMAGE,)),
    ("bilinear", lambda x: A.upsample_bilinear2d.default(x, [5, 11], True), (IMAGE,)),
    ("bilinear_vec", lambda x: A.upsample_bilinear2d.vec(x, None, False, [2.0, 1.7]), (IMAGE,)),
    ("bicubic", lambda x: A.upsample_bicubic2d.default(x, [5, 11], False), (IMAGE,)),
    ("antialias", lambda x: A._upsample_bilinear2d_aa.default(x, [5, 4], False), (IMAGE,)),
    ("bicubic_antialias", lambda x: A._upsample_bicubic2d_aa.default(x, [5, 4], False), (IMAGE,)),
    ("grid", lambda x, g: A.grid_sampler_2d.default(x, g, 0, 0, False), (IMAGE, torch.rand(2, 4, 5, 2) * 2 - 1)),
    (
        "batch_norm",
        lambda x, m, v: A._native_batch_norm_legit_no_training.default(x, None, None, m, v, 0.1, 1e-5)[0],
        (IMAGE, torch.randn(8), torch.rand(8) + 0.5),
    ),
    ("index", lambda x: A.index.Tensor(x, [None, torch.tensor([1, 0])]), (X,)),
    ("index_put", lambda x, y: A.index_put.default(x, [torch.tensor([1, 0])], y, True), (X, X * 2)),
    ("slice", lambda x: A.slice.Tensor(x, 1, 0, 9223372036854775807, 2), (X,)),
    ("unfold", lambda x: A.im2col.default(x, [3, 3], [1, 1], [1, 1], [2, 2]), (IMAGE,)),
    ("scatter_reduce", lambda x, y: x.scatter_reduce(1, torch.zeros(2, 3, 8, dtype=torch.long), y[:, :3], "amax"), (X, X + 0.5)),
]
SCALES, ZEROS = torch.tensor([0.125, 0.25, 0.5, 0.0625, 0.125, 0.25]), torch.tensor([3, 0, -2, 1, 0, 5])


def _round_trip(x):
    """As PT2E's converted graphs have it; scales are powers of two, since PyTorch multiplies by the inverse."""
    decomposed = torch.ops.quantized_decomposed
    whole = decomposed.quantize_per_tensor.default(x, 0.0625, 100, 0, 255, torch.uint8)
    narrow = decomposed.quantize_per_tensor.tensor(x, torch.tensor(0.0625), torch.tensor(-3), -20, 19, torch.int8)
    bias = decomposed.dequantize_per_channel.default(torch.tensor([-500, 3, 0, 70000, 1, 2], dtype=torch.int32), SCALES, ZEROS * 0, 0, -2**31, 2**31 - 1, torch.int32)
    each = decomposed.quantize_per_channel.default(x, SCALES, ZEROS, 1, -128, 127, torch.int8)
    return (whole, x + bias.reshape(6, 1), decomposed.dequantize_per_tensor.default(whole, 0.0625, 100, 0, 255, torch.uint8) + 1,
            decomposed.dequantize_per_tensor.default(narrow, 0.0625, -3, -20, 19, torch.int8),
            decomposed.dequantize_per_channel.default(each, SCALES, ZEROS, 1, -128, 127, torch.int8))


def _round_in_each_run(x, low, high, dtype):
    decomposed = torch.ops.quantized_decomposed
    scale, zero = decomposed.choose_qparams.tensor(x, low, high, 2.0**-12, dtype)
    stored = decomposed.quantize_per_tensor.tensor(x, scale, zero, low, high, dtype)
    return decomposed.dequantize_per_tensor.tensor(stored, scale, zero, low, high, dtype)


try:
    import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers the operators)
    ATEN += [
        ("quantized", _round_trip, (X,)),
        ("dynamic", lambda x: _round_in_each_run(x, 0, 255, torch.uint8), (X,)),
        ("dynamic_signed", lambda x: _round_in_each_run(x, -128, 127, torch.int8), (X * 3 + 1,)),
    ]
except ImportError:
    pass
GROUPS = {"recurrent": RECURRENT, "transformers": TRANSFORMERS, "aten": ATEN}

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data movement, normalizations, pools and products as people write them: (name, callable or module, inputs)."""

import operator

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
X, Y, IMAGE = torch.randn(2, 6, 5), torch.randn(2, 6, 5), torch.randn(2, 8, 9, 7)
SEQUENCE, VOLUME = torch.randn(2, 4, 11), torch.randn(1, 4, 5, 6, 7)
P, TABLE = torch.tensor([0, 3, 1]), torch.randn(7, 4)
PLACES = torch.randint(0, 6, (2, 3, 5))
BIG = torch.randn(2, 8, 12, 12)


def _assign(x):
    x = x * 1
    x[:, 1] = 0.5
    x[..., 2:4] = x[..., :2] * 2
    x[0, 0, 0] += 3
    return x


def _assign_rows(x, p):
    x = x * 1
    x[:, p] = 2.0
    return x


def _mutate_part(x):
    y = x * 1
    y[:, 1].add_(2)
    return x + 1


class Rotary(nn.Module):
    """Positions as turns of pairs of numbers."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(8.0), 1.0 / 100 ** (torch.arange(0, 6, 2) / 6))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        turned = pairs * self.turns[:5][None, :, None]
        return torch.view_as_real(turned).flatten(3).type_as(x)


def _norm(cls, *args, **kwargs):
    """A normalization with parameters and statistics that are not the initial ones."""
    module = cls(*args, **kwargs)
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.is_floating_point():
            tensor.data = torch.rand_like(tensor) + 0.5
    return module


MOVEMENT = [
    ("view", lambda x: x.view(2, -1), (X,)),
    ("reshape", lambda x: x.reshape(3, 4, 5), (X,)),
    ("torch_reshape", lambda x: torch.reshape(x, (-1,)), (X,)),
    ("flatten", lambda x: x.flatten(1), (X,)),
    ("torch_flatten", lambda x: torch.flatten(x, 1), (IMAGE,)),
    ("unflatten", lambda x: x.unflatten(1, (2, 3)), (X,)),
    ("unsqueeze", lambda x: x.unsqueeze(0).squeeze(0).unsqueeze(-1).squeeze(), (X,)),
    ("view_as", lambda x, y: x.view_as(y).reshape_as(y), (X, Y)),
    ("ravel", lambda x: x.ravel(), (X,)),
    ("module_flatten", nn.Flatten(), (X,)),
    ("module_unflatten", nn.Unflatten(1, (2, 3)), (X,)),
    ("permute", lambda x: x.permute(2, 0, 1), (X,)),
    ("torch_permute", lambda x: torch.permute(x, (0, 2, -2)), (X,)),
    ("transpose", lambda x: x.transpose(1, 2).swapaxes(0, 1), (X,)),
    ("t", lambda x: x.t(), (TABLE,)),
    ("T", lambda x: x.T, (TABLE,)),
    ("mT", lambda x: x.mT, (X,)),
    ("movedim", lambda x: x.movedim(0, -1).moveaxis(0, 1), (X,)),
    ("cat", lambda x, y: torch.cat([x, y], dim=1), (X, Y)),
    ("concat", lambda x, y: torch.concat((x, y)), (X, Y)),
    ("stack", lambda x, y: torch.stack((x, y), 1), (X, Y)),
    ("hstack", lambda x, y: torch.hstack((x, y)), (X, Y)),
    ("vstack", lambda x, y: torch.vstack((x, y)), (X, Y)),
    ("dstack", lambda x, y: torch.dstack((x, y)), (X, Y)),
    ("cat_of_types", lambda x, i: torch.cat([x, i], 0), (torch.randn(3), P)),
    ("slices", lambda x: x[:, 1:5:2, ::3], (X,)),
    ("number", lambda x: x[1], (X,)),
    ("last", lambda x: x[:, -1], (X,)),
    ("ellipsis", lambda x: x[..., 1:], (X,)),
    ("new_axis", lambda x: x[:, None, 2], (X,)),
    ("positions", lambda x, p: x[:, p], (X, P)),
    ("two_positions", lambda x, p: x[p % 2, p], (X, P)),
    ("positions_apart", lambda x, p: x[p % 2, :, p], (X, P)),
    ("truth_constant", lambda x: x[:, torch.tensor([True, False, True, False, True, True])], (X,)),
    ("table_constant", lambda x: x[:, torch.tensor([[0, 1], [2, 3]])], (X,)),
    ("two_tables", lambda x: x[torch.arange(2), torch.tensor([3, 1])], (X,)),
    ("narrow", lambda x: x.narrow(1, 2, 3), (X,)),
    ("select", lambda x: x.select(1, -2), (X,)),
    ("split", lambda x: x.split(2, dim=1), (X,)),
    ("split_sizes", lambda x: torch.split(x, [1, 2, 3], 1), (X,)),
    ("chunk", lambda x: x.chunk(4, 1), (X,)),
    ("chunk_first", lambda x: x.chunk(2, -2)[1], (X,)),
    ("tensor_split", lambda x: torch.tensor_split(x, 4, 1), (X,)),
    ("unbind", lambda x: x.unbind(0), (X,)),
    ("unpacked", lambda x: operator.add(x.unbind(0)[0], x.unbind(0)[1]), (X,)),
    ("expand", lambda x: x[:, :1].expand(-1, 4, -1), (X,)),
    ("expand_as", lambda x, y: x[:1].expand_as(y), (X, Y)),
    ("broadcast_to", lambda x: torch.broadcast_to(x[0, 0], (3, 5)), (X,)),
    ("repeat", lambda x: x.repeat(2, 1, 3), (X,)),
    ("tile", lambda x: torch.tile(x, (2, 1)), (X,)),
    ("repeat_interleave", lambda x: x.repeat_interleave(2, dim=1), (X,)),
    ("repeat_interleave_each", lambda x: x.repeat_interleave(torch.tensor([1, 0, 2, 1, 3, 1]), dim=1), (X,)),
    ("repeat_interleave_flat", lambda x: torch.repeat_interleave(x, 3), (X,)),
    ("embedding", lambda p, w: F.embedding(p, w), (P, TABLE)),
    ("module_embedding", nn.Embedding(9, 4), (P,)),
    ("embedding_padded", nn.Embedding(9, 4, padding_idx=0), (P,)),
    ("index_select", lambda x, p: torch.index_select(x, 1, p), (X, P)),
    ("gather", lambda x, p: x.gather(1, p), (X, PLACES)),
    ("take_along_dim", lambda x, p: torch.take_along_dim(x, p, 1), (X, PLACES)),
    ("pad", lambda x: F.pad(x, (1, 2)), (X,)),
    ("pad_value", lambda x: F.pad(x, (1, 2, 0, 3), value=2.0), (X,)),
    ("pad_cut", lambda x: F.pad(x, (-1, 2)), (X,)),
    ("reflect", lambda x: F.pad(x, (1, 2, 3, 1), mode="reflect"), (IMAGE,)),
    ("replicate", lambda x: F.pad(x, (1, 2), mode="replicate"), (X,)),
    ("circular", lambda x: F.pad(x, (1, 2, 1, 1), mode="circular"), (IMAGE,)),
    ("pad_integers", lambda p: F.pad(p, (1, 2), value=7), (P,)),
    ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (BIG,)),
    ("module_pixel_shuffle", nn.PixelShuffle(2), (BIG,)),
    ("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 3), (BIG,)),
    ("module_pixel_unshuffle", nn.PixelUnshuffle(2), (BIG,)),
    ("channel_shuffle", lambda x: F.channel_shuffle(x, 4), (BIG,)),
    ("module_channel_shuffle", nn.ChannelShuffle(2), (BIG,)),
    *(
        (f"{cls.__name__}", cls(2), (inputs,))
        for cls, inputs in (
            (nn.ZeroPad1d, SEQUENCE),
            (nn.ZeroPad2d, IMAGE),
            (nn.ZeroPad3d, VOLUME),
            (nn.ReflectionPad1d, SEQUENCE),
            (nn.ReflectionPad2d, IMAGE),
            (nn.ReflectionPad3d, VOLUME),
            (nn.ReplicationPad1d, SEQUENCE),
            (nn.ReplicationPad2d, IMAGE),
            (nn.ReplicationPad3d, VOLUME),
            (nn.CircularPad1d, SEQUENCE),
            (nn.CircularPad2d, IMAGE),
            (nn.CircularPad3d, VOLUME),
        )
    ),
    *(
        (f"{cls.__name__}", cls((1, 2) * rank, 3.0), (inputs,))
        for cls, inputs, rank in ((nn.ConstantPad1d, SEQUENCE, 1), (nn.ConstantPad2d, IMAGE, 2), (nn.ConstantPad3d, VOLUME, 3))
    ),
    ("flip", lambda x: x.flip(1, 2), (X,)),
    ("torch_flip", lambda x: torch.flip(x, (0,)), (X,)),
    ("fliplr", lambda x: torch.fliplr(x), (X,)),
    ("rot90", lambda x: torch.rot90(x, 1, (1, 2)), (X,)),
    ("roll", lambda x: torch.roll(x, (1, -2), (0, 1)), (X,)),
    ("roll_flat", lambda x: torch.roll(x, 4), (X,)),
    ("tril", lambda x: torch.tril(x), (X,)),
    ("triu", lambda x: x.triu(1), (X,)),
    ("diag", lambda x: torch.diag(x[0], 1), (X,)),
    ("diagonal", lambda x: torch.diagonal(x, 0, 1, 2), (X,)),
    ("assign", _assign, (X,)),
    ("assign_rows", _assign_rows, (X, P)),
    ("mutate_part", _mutate_part, (X,)),
    ("scatter", lambda x, p, y: x.scatter(1, p, y[:, :3]), (X, PLACES, Y)),
    ("scatter_add", lambda x, p, y: x.scatter_add(1, p, y[:, :3]), (X, PLACES, Y)),
    ("scatter_number", lambda x, p: torch.zeros(2, 6, 5).scatter(1, p, 1.0) + x, (X, PLACES)),
    ("index_add", lambda x, p, y: x.index_add(1, p, y[:, :3]), (X, P, Y)),
    ("index_copy", lambda x, p, y: x.index_copy(1, p, y[:, :3]), (X, P, Y)),
    ("index_fill", lambda x, p: x.index_fill(1, p, 2.0), (X, P)),
    ("select_scatter", lambda x, y: torch.select_scatter(x, y[:, 0], 1, 2), (X, Y)),
    ("slice_scatter", lambda x, y: torch.slice_scatter(x, y[:, :2], 1, 3, 5), (X, Y)),
    ("one_hot", lambda p: F.one_hot(p, 5), (P,)),
    ("meshgrid", lambda p: torch.meshgrid(p, p * 2, indexing="ij"), (P,)),
    ("bucket", lambda x: (x[..., None] > torch.arange(3)).sum(-1), (X,)),
    ("unfold_view", lambda x: x.unfold(1, 3, 2), (X,)),
    ("unfold", lambda x: F.unfold(x, 3, padding=1, stride=2), (IMAGE,)),
    ("module_unfold", nn.Unfold((2, 3)), (IMAGE,)),
    ("fold", lambda x: F.fold(x, (8, 6), (2, 3), stride=(2, 3)), (torch.randn(2, 24, 8),)),
    ("module_fold", nn.Fold((5, 5), 3), (torch.randn(1, 18, 9),)),
]
NORMALIZATION = [
    ("batch_norm", _norm(nn.BatchNorm2d, 8), (IMAGE,)),
    ("batch_norm1d", _norm(nn.BatchNorm1d, 6), (X,)),
    ("batch_norm_rows", _norm(nn.BatchNorm1d, 5), (X[0],)),
    ("batch_norm3d", _norm(nn.BatchNorm3d, 4), (VOLUME,)),
    ("batch_norm_plain", nn.BatchNorm2d(8, affine=False), (IMAGE,)),
    (
        "batch_norm_function",
        lambda x, a, b, c, d: F.batch_norm(x, a, b, c, d, eps=1e-3),
        (IMAGE, torch.randn(8), torch.rand(8) + 0.5, torch.randn(8), torch.randn(8)),
    ),
    ("layer_norm", _norm(nn.LayerNorm, 5), (X,)),
    ("layer_norm_two", _norm(nn.LayerNorm, (6, 5)), (X,)),
    ("layer_norm_function", lambda x: F.layer_norm(x, (5,)), (X,)),
    ("rms_norm", _norm(nn.RMSNorm, 5), (X,)),
    ("rms_norm_function", lambda x: F.rms_norm(x, (5,), eps=1e-6), (X,)),
    ("group_norm", _norm(nn.GroupNorm, 4, 8), (IMAGE,)),
    ("group_norm_function", lambda x: F.group_norm(x, 2), (IMAGE,)),
    ("instance_norm1d", _norm(nn.InstanceNorm1d, 4, affine=True), (SEQUENCE,)),
    ("instance_norm", nn.InstanceNorm2d(8), (IMAGE,)),
    ("instance_norm_unbatched", nn.InstanceNorm1d(4), (SEQUENCE[0],)),
    ("instance_norm3d", nn.InstanceNorm3d(4), (VOLUME,)),
    ("instance_norm_tracked", _norm(nn.InstanceNorm2d, 8, track_running_stats=True), (IMAGE,)),
    ("instance_norm_function", lambda x: F.instance_norm(x), (IMAGE,)),
    ("normalize", lambda x: F.normalize(x, dim=-1), (X,)),
    ("normalize_1", lambda x: F.normalize(x, p=1.0, dim=1), (X,)),
    ("local_response_norm", nn.LocalResponseNorm(3), (IMAGE,)),
    ("local_response_norm_function", lambda x: F.local_response_norm(x, 5, k=2.0), (IMAGE,)),
    ("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, dim=-1), (X, Y)),
    ("module_cosine_similarity", nn.CosineSimilarity(1), (X, Y)),
    ("pairwise_distance", lambda x, y: F.pairwise_distance(x[0], y[0]), (X, Y)),
    ("cdist", lambda x, y: torch.cdist(x, y), (X, Y)),
]
_POOLED = {1: SEQUENCE, 2: IMAGE, 3: VOLUME}
POOLING = [
    *((f"MaxPool{r}d", getattr(nn, f"MaxPool{r}d")(3, 2, 1), (x,)) for r, x in _POOLED.items()),
    *((f"AvgPool{r}d", getattr(nn, f"AvgPool{r}d")(3, 2, 1), (x,)) for r, x in _POOLED.items()),
    *((f"AdaptiveAvgPool{r}d", getattr(nn, f"AdaptiveAvgPool{r}d")(1), (x,)) for r, x in _POOLED.items()),
    *((f"AdaptiveMaxPool{r}d", getattr(nn, f"AdaptiveMaxPool{r}d")(1), (x,)) for r, x in _POOLED.items()),
    *((f"max_pool{r}d", lambda x, r=r: getattr(F, f"max_pool{r}d")(x, 2), (x,)) for r, x in _POOLED.items()),
    *((f"avg_pool{r}d", lambda x, r=r: getattr(F, f"avg_pool{r}d")(x, 2, ceil_mode=True), (x,)) for r, x in _POOLED.items()),
    *((f"adaptive_avg_pool{r}d", lambda x, r=r: getattr(F, f"adaptive_avg_pool{r}d")(x, 2), (x,)) for r, x in _POOLED.items()),
    *((f"adaptive_max_pool{r}d", lambda x, r=r: getattr(F, f"adaptive_max_pool{r}d")(x, 3), (x,)) for r, x in _POOLED.items()),
    *((f"indices{r}d", lambda x, r=r: getattr(F, f"max_pool{r}d")(x, 2, return_indices=True), (x,)) for r, x in _POOLED.items()),
    *((f"lp_pool{r}d", lambda x, r=r: getattr(F, f"lp_pool{r}d")(x, 1, 2), (x,)) for r, x in _POOLED.items()),
    ("adaptive_unbatched", nn.AdaptiveAvgPool2d(2), (IMAGE[0],)),
    ("ceil_mode", nn.MaxPool2d(3, 2, ceil_mode=True), (IMAGE,)),
    ("dilated", nn.MaxPool2d(2, 1, dilation=2), (IMAGE,)),
    ("not_padded_count", nn.AvgPool2d(3, 2, 1, count_include_pad=False), (IMAGE,)),
    ("divisor", nn.AvgPool2d(3, 2, 1, divisor_override=4), (IMAGE,)),
    ("unbatched", nn.MaxPool2d(2), (IMAGE[0],)),
    ("indices", nn.MaxPool2d(2, return_indices=True), (IMAGE,)),
    ("indices_padded", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), (IMAGE,)),
    ("adaptive_sizes", nn.AdaptiveAvgPool2d((4, 7)), (IMAGE,)),
    ("adaptive_none", nn.AdaptiveAvgPool2d((None, 3)), (IMAGE,)),
    ("lp_pool", lambda x: F.lp_pool2d(x, 2.0, 3, 2), (IMAGE,)),
    *((f"LPPool{r}d", getattr(nn, f"LPPool{r}d")(2, 3, 2), (x,)) for r, x in _POOLED.items()),
    ("nearest", lambda x: F.interpolate(x, scale_factor=2), (IMAGE,)),
    ("nearest_size", lambda x: F.interpolate(x, size=(5, 11)), (IMAGE,)),
    ("bilinear", lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False), (IMAGE,)),
    ("corners", lambda x: F.interpolate(x, (13, 4), mode="bilinear", align_corners=True), (IMAGE,)),
    ("bicubic", lambda x: F.interpolate(x, (13, 15), mode="bicubic"), (IMAGE,)),
    ("linear", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), (SEQUENCE,)),
    ("trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), (VOLUME,)),
    ("area", lambda x: F.interpolate(x, (4, 3), mode="area"), (IMAGE,)),
    ("nearest_exact", lambda x: F.interpolate(x, (5, 11), mode="nearest-exact"), (IMAGE,)),
    ("antialias", lambda x: F.interpolate(x, (4, 3), mode="bilinear", antialias=True), (IMAGE,)),
    ("fraction", lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), (IMAGE,)),
    ("fraction_again", lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True), (IMAGE,)),
    ("upsample", nn.Upsample(scale_factor=2), (IMAGE,)),
    ("upsample_corners", nn.UpsamplingBilinear2d(scale_factor=2), (IMAGE,)),
    ("upsample_nearest", nn.UpsamplingNearest2d(scale_factor=3), (IMAGE,)),
    ("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), (IMAGE, torch.rand(2, 4, 5, 2) * 2.4 - 1.2)),
    ("grid_sample_border", lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=True), (IMAGE, torch.rand(2, 4, 5, 2) * 2.4 - 1.2)),
    ("affine_grid", lambda t: F.affine_grid(t, (2, 8, 4, 5), align_corners=False), (torch.randn(2, 2, 3),)),
]
def _turn(x, y):
    """Sums, products and views of complex numbers."""
    a, b = torch.view_as_complex(x), torch.view_as_complex(y)
    c = (a * b + a - b * 2.0).transpose(0, 1)[..., None, 0].expand(-1, 2)
    return torch.view_as_real(c.reshape(-1).clone()), torch.view_as_real(a * torch.view_as_complex(torch.ones(3, 2)))


PRODUCTS = [
    ("rotary", Rotary(), (torch.randn(2, 5, 4, 6),)),
    ("complex", _turn, (torch.randn(2, 3, 2), torch.randn(2, 3, 2))),
    ("polar", lambda x, y: torch.view_as_real(torch.polar(x, y)), (X, Y)),
    ("linear", nn.Linear(5, 3), (X,)),
    ("linear_plain", nn.Linear(5, 3, bias=False), (X,)),
    ("linear_function", lambda x, w: F.linear(x, w), (X, torch.randn(4, 5))),
    ("linear_vector", lambda x, w: F.linear(x, w), (X, torch.randn(5))),
    ("conv1d", nn.Conv1d(4, 6, 3, padding=1), (SEQUENCE,)),
    ("conv2d", nn.Conv2d(8, 6, 3, 2, 1, groups=2), (IMAGE,)),
    ("conv3d", nn.Conv3d(4, 6, 3), (VOLUME,)),
    ("depthwise", nn.Conv2d(8, 8, 3, groups=8, dilation=2), (IMAGE,)),
    ("same", nn.Conv2d(8, 4, 4, padding="same"), (IMAGE,)),
    ("valid", nn.Conv2d(8, 4, 2, padding="valid"), (IMAGE,)),
    ("reflected", nn.Conv2d(8, 4, 3, padding=1, padding_mode="reflect"), (IMAGE,)),
    ("circular", nn.Conv1d(4, 4, 3, padding=1, padding_mode="circular"), (SEQUENCE,)),
    ("circular_unbatched", nn.Conv2d(8, 4, 3, padding=1, padding_mode="circular"), (IMAGE[0],)),
    ("replicated", nn.Conv2d(8, 4, 3, padding=(1, 2), padding_mode="replicate"), (IMAGE,)),
    ("unbatched", nn.Conv2d(8, 4, 3), (IMAGE[0],)),
    ("strides", nn.Conv2d(8, 4, (3, 1), stride=(2, 1), padding=(1, 0)), (IMAGE,)),
    ("conv_function", lambda x: F.conv2d(x, torch.ones(4, 8, 3, 3), stride=2), (IMAGE,)),
    ("conv_transpose_function", lambda x: F.conv_transpose2d(x, torch.ones(8, 3, 2, 2)), (IMAGE,)),
    ("addr", lambda c, x, y: torch.addr(c, x, y, beta=0.5), (torch.randn(3, 4), torch.randn(3), torch.randn(4))),
    ("operator_matmul", operator.matmul, (X, Y.mT.contiguous())),
    ("conv_transpose1d", nn.ConvTranspose1d(4, 6, 3, 2), (SEQUENCE,)),
    ("conv_transpose2d", nn.ConvTranspose2d(8, 6, 3, 2, 1, 1, groups=2), (IMAGE,)),
    ("conv_transpose3d", nn.ConvTranspose3d(4, 2, 2, 2), (VOLUME,)),
    ("conv_transpose_unbatched", nn.ConvTranspose2d(8, 6, 3), (IMAGE[0],)),
    ("matmul", lambda x, y: x @ y.transpose(1, 2), (X, Y)),
    ("matmul_vector", lambda x, y: torch.matmul(x, y), (X, torch.randn(5))),
    ("vector_matmul", lambda y, x: torch.matmul(y, x), (torch.randn(6), X)),
    ("dot", lambda x, y: torch.dot(x, y), (torch.randn(7), torch.randn(7))),
    ("mm", lambda x, y: torch.mm(x, y), (TABLE, torch.randn(4, 3))),
    ("mv", lambda x, y: x.mv(y), (TABLE, torch.randn(4))),
    ("bmm", lambda x, y: torch.bmm(x, y.mT), (X, Y)),
    ("matmul_constant", lambda x: x @ torch.ones(5, 2), (X,)),
    ("addmm", lambda c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2), (torch.randn(3), TABLE, torch.randn(4, 3))),
    ("baddbmm", lambda c, x, y: torch.baddbmm(c, x, y.mT), (torch.randn(2, 6, 6), X, Y)),
    ("addbmm", lambda c, x, y: torch.addbmm(c, x, y.mT), (torch.randn(6, 6), X, Y)),
    ("addmv", lambda c, x, y: torch.addmv(c, x, y), (torch.randn(7), TABLE, torch.randn(4))),
    ("outer", lambda x, y: torch.outer(x, y), (torch.randn(3), torch.randn(4))),
    ("einsum", lambda x, y: torch.einsum("bij,bkj->bik", x, y), (X, Y)),
    ("einsum_list", lambda x, y: torch.einsum("bij,bij->bi", [x, y]), (X, Y)),
    ("tensordot", lambda x, y: torch.tensordot(x, y, dims=([2], [2])), (X, Y)),
    ("cross", lambda x, y: torch.linalg.cross(x, y, dim=1), (torch.randn(4, 3), torch.randn(4, 3))),
    ("kron", lambda x, y: torch.kron(x, y), (torch.randn(2, 3), torch.randn(3, 2))),
    ("bilinear", nn.Bilinear(5, 5, 3), (X, Y)),
    ("bilinear_function", lambda x, y, w: F.bilinear(x, y, w), (X, Y, torch.randn(3, 5, 5))),
    ("inner", lambda x, y: torch.inner(x, y), (X, Y)),
    ("attention", lambda x, y: F.scaled_dot_product_attention(x, y, y), (X, Y)),
    ("causal", lambda x, y: F.scaled_dot_product_attention(x, x, y, is_causal=True), (X, Y)),
    ("masked", lambda x, y: F.scaled_dot_product_attention(x, x, y, attn_mask=(y @ y.mT) > 0), (X, Y)),
    ("masked_constant", lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(6, 6).tril().bool()), (X,)),
    ("masked_rows", lambda x, y: F.scaled_dot_product_attention(x, x, y, attn_mask=(y @ y.mT) > 5), (X, Y)),
    ("masked_rows_of_numbers", lambda x, y: F.scaled_dot_product_attention(x, x, y, attn_mask=torch.where((y @ y.mT) > 5, 0.0, -torch.inf)), (X, Y)),
    ("masked_rows_constant", lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(6, 6).tril(-2).bool()), (X,)),
    ("masked_rows_of_constants", lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.full((6, 6), -torch.inf).triu(-1)), (X,)),
    ("biased", lambda x, y: F.scaled_dot_product_attention(x, x, y, attn_mask=y @ y.mT, scale=0.3), (X, Y)),
    ("grouped", lambda x, y: F.scaled_dot_product_attention(x.expand(1, 4, 6, 5), y, y, enable_gqa=True), (X[:1, None], Y[None])),
    ("embedding_bag", nn.EmbeddingBag(9, 4, mode="sum"), (torch.randint(0, 9, (2, 3)),)),
    ("embedding_bag_mean", nn.EmbeddingBag(9, 4), (torch.randint(0, 9, (2, 3)),)),
    ("embedding_bag_max", lambda p, w: F.embedding_bag(p, w, mode="max"), (torch.randint(0, 7, (2, 3)), TABLE)),
]
GROUPS = {"movement": MOVEMENT, "normalization": NORMALIZATION, "pooling": POOLING, "products": PRODUCTS}

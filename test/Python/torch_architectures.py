# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures with random weights, through FX's tracing and through torch.export, compared with PyTorch.

    python test/Python/torch_architectures.py [NAME...]    a line for each: operators, largest difference relative to the largest magnitude, or what failed

A name that is not in ARCHITECTURES is one of timm's models, at the size that timm gives it, at most 224 where others are allowed.
"""
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch
from torch import nn

import torch_compare as compare
from octet.torch.front import trace, translate
from octet.torch.front.export import translate_exported


LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def _image(size=64, batch=1):
    return [torch.randn(batch, 3, size, size)]


def _ids(length=16, words=100):
    return [torch.randint(0, words, (1, length))]


def _sentence(length=16, words=100):
    """Words, and a mask that hides none."""
    return [*_ids(length, words), torch.ones(1, length, dtype=torch.long)]


def _vision(name, size=64, **options):
    def make():
        # torchvision's own operators are missing beside a PyTorch of another build; the networks here need none.
        for operator in ("nms", "qnms"):
            if not hasattr(torch.ops.torchvision, operator):
                LIBRARY.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision.models as models
        place = models.segmentation if name.startswith("deeplab") else models
        return getattr(place, name)(weights=None, **options), _image(size)
    return make


def _timm(name, size=224, **options):
    def make():
        _vision("resnet18")()  # timm imports torchvision
        import timm
        return timm.create_model(name, pretrained=False, **options), _image(size)
    return make


def _any_of_timm(name):
    def make():
        import timm
        module = timm.create_model(name, pretrained=False)
        config = module.pretrained_cfg
        size = config["input_size"][-1]
        return module, _image(size if config.get("fixed_input_size") else min(size, 224))
    _vision("resnet18")()
    return make


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())  # noqa: E731
        self.down = nn.ModuleList([block(3, width), block(width, 2 * width)])
        self.middle, self.pool = block(2 * width, 4 * width), nn.MaxPool2d(2)
        self.rise = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.up, self.head = nn.ModuleList([block(4 * width, 2 * width), block(2 * width, width)]), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(x)
            kept.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for rise, up in zip(self.rise, self.up):
            x = up(torch.cat([rise(x), kept.pop()], 1))
        return self.head(x)


class Tagger(nn.Module):
    def __init__(self, words=100, width=32, hidden=24):
        super().__init__()
        self.words, self.tags = nn.Embedding(words, width), nn.Linear(2 * hidden, 9)
        self.lstm = nn.LSTM(width, hidden, 2, batch_first=True, bidirectional=True)

    def forward(self, ids):
        return self.tags(self.lstm(self.words(ids))[0]).log_softmax(-1)


class Denoiser(nn.Module):
    """A mask for the bands of each frame, as speech denoisers have it."""

    def __init__(self, bands=40, hidden=48):
        super().__init__()
        self.into, self.gru, self.mask = nn.Linear(bands, hidden), nn.GRU(hidden, hidden, 2, batch_first=True), nn.Linear(hidden, bands)

    def forward(self, frames, state):
        y, state = self.gru(torch.tanh(self.into(frames)), state)
        return frames * torch.sigmoid(self.mask(y)), state


class Backbone(nn.Module):
    """SSDLite's feature maps, which its heads read."""

    def __init__(self):
        super().__init__()
        _vision("mobilenet_v3_large")()
        from torchvision.models.detection import ssdlite320_mobilenet_v3_large
        self.backbone = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None).backbone

    def forward(self, x):
        return list(self.backbone(x).values())


def _transformers(make):
    def build():
        _vision("resnet18")()
        import transformers
        transformers.logging.set_verbosity_error()
        return make(transformers)
    return build


def _bert(length=16, hidden_size=32, num_attention_heads=4, intermediate_size=64, num_hidden_layers=2, vocab_size=100, max_position_embeddings=64):
    sizes = dict(hidden_size=hidden_size, num_attention_heads=num_attention_heads, intermediate_size=intermediate_size, num_hidden_layers=num_hidden_layers,
                 vocab_size=vocab_size, max_position_embeddings=max_position_embeddings)
    return _transformers(lambda t: (OfTwo(t.BertModel(t.BertConfig(**sizes))), _sentence(length, vocab_size)))


def _distilbert(length=16, **sizes):
    def make(t):
        config = t.DistilBertConfig(**sizes)
        return Outputs(t.DistilBertForSequenceClassification(config)), _sentence(length, config.vocab_size)
    return _transformers(make)


def _whisper(**sizes):
    def make(t):
        config = t.WhisperConfig(**sizes)
        return Outputs(t.models.whisper.modeling_whisper.WhisperEncoder(config)), [torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions)]
    return _transformers(make)


class Outputs(nn.Module):
    """Tensors in place of the classes of transformers."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        results = self.model(*inputs, return_dict=False)
        return [x for x in results if isinstance(x, torch.Tensor)]


class OfTwo(Outputs):
    def forward(self, ids, mask):
        return [x for x in self.model(ids, attention_mask=mask, return_dict=False) if isinstance(x, torch.Tensor)]


#: What FX does not trace: programs whose sizes and keyword arguments steer them. torch.export does.
NOT_TRACED = {("bert_tiny", "fx"), ("minilm", "fx"), ("distilbert", "fx"), ("whisper_encoder", "fx")}
ARCHITECTURES = {
    "resnet18": _vision("resnet18"), "resnet50": _vision("resnet50"), "mobilenet_v2": _vision("mobilenet_v2"), "mobilenet_v3_small": _vision("mobilenet_v3_small"),
    "mobilenet_v3_large": _vision("mobilenet_v3_large"), "efficientnet_b0": _vision("efficientnet_b0"), "shufflenet_v2": _vision("shufflenet_v2_x1_0"),
    "squeezenet": _vision("squeezenet1_1"), "densenet121": _vision("densenet121"), "regnet": _vision("regnet_y_400mf"), "convnext_tiny": _vision("convnext_tiny"),
    "swin_tiny": _vision("swin_t"), "vit_b_16": _vision("vit_b_16", 32, image_size=32), "deeplabv3": _vision("deeplabv3_mobilenet_v3_large", weights_backbone=None),
    "vit_tiny": _timm("vit_tiny_patch16_224"), "deit_tiny": _timm("deit_tiny_patch16_224"), "swin_tiny_of_timm": _timm("swin_tiny_patch4_window7_224"),
    "unet": lambda: (UNet(), _image(32)), "ssdlite_backbone": lambda: (Backbone(), _image(128)), "lstm_tagger": lambda: (Tagger(), _ids(12)),
    "gru_denoiser": lambda: (Denoiser(), [torch.rand(1, 10, 40), torch.zeros(2, 1, 48)]),
    "bert_tiny": _bert(), "minilm": _bert(24, hidden_size=48, num_attention_heads=12),
    "distilbert": _distilbert(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64),
    "whisper_encoder": _whisper(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, num_mel_bins=20, max_source_positions=50),
}
#: Those that are smaller above than they are used, at the size that people use.
AT_FULL_SIZE = {
    **{name: _vision(name, 224) for name in ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0",
                                             "densenet121", "convnext_tiny", "vit_b_16")},
    "shufflenet_v2": _vision("shufflenet_v2_x1_0", 224), "squeezenet": _vision("squeezenet1_1", 224), "regnet": _vision("regnet_y_400mf", 224),
    "swin_tiny": _vision("swin_t", 224), "deeplabv3": _vision("deeplabv3_mobilenet_v3_large", 224, weights_backbone=None),
    "unet": lambda: (UNet(32), _image(256)), "ssdlite_backbone": lambda: (Backbone(), _image(320)),
    "lstm_tagger": lambda: (Tagger(10000, 128, 256), _ids(32, 10000)),
    "gru_denoiser": lambda: (Denoiser(257, 256), [torch.rand(1, 100, 257), torch.zeros(2, 1, 256)]),
    "bert_tiny": _bert(128, 128, 2, 512, 2, 30522, 512), "minilm": _bert(128, 384, 12, 1536, 6, 30522, 512), "distilbert": _distilbert(128),
    "whisper_encoder": _whisper(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536),
}


def build(name, is_full=False):
    """A module with seeded weights, and inputs. What networks begin with as zeros or almost so gets numbers that show in the result."""
    torch.manual_seed(7)
    make = is_full and AT_FULL_SIZE.get(name) or ARCHITECTURES.get(name) or _any_of_timm(name)
    module, inputs = make()
    for tensor in module.parameters():
        if tensor.abs().max() < 1e-3:
            nn.init.normal_(tensor, std=0.1)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.uniform_(part.running_mean, -0.2, 0.2)
            nn.init.uniform_(part.running_var, 0.8, 1.2)
    return module.eval(), inputs


def make_network(module, inputs, way):
    if way == "fx":
        return translate(trace.trace(module, trace.Tracer()), compare.copy_of(inputs))
    with torch.no_grad():
        return translate_exported(torch.export.export(module, tuple(compare.copy_of(inputs))))


def measure(module, inputs, network, folder):
    """The largest difference from PyTorch relative to the largest magnitude of its output."""
    with torch.no_grad():
        expected = compare.leaves(module(*compare.copy_of(inputs)))
    found = compare.run_compiled(network, inputs, folder)
    assert len(found) == len(expected)
    return max(float((torch.from_numpy(a) - b).abs().max() / b.abs().max()) for a, b in zip(found, expected))


def main(names):
    warnings.simplefilter("ignore")
    for name in names or ARCHITECTURES:
        for way in ("fx", "export"):
            start = time.monotonic()
            try:
                module, inputs = build(name)
                network = make_network(module, inputs, way)
                with tempfile.TemporaryDirectory() as folder:
                    difference = f"{measure(module, inputs, network, Path(folder)):.1e}"
                print(f"{name:20} {way:7} {len(network.lines):5} operators, difference {difference}, {time.monotonic() - start:.0f} s", flush=True)
            except Exception as error:  # noqa: BLE001  (a table of what fails)
                print(f"{name:20} {way:7} {type(error).__name__}: {' | '.join(str(error).strip().splitlines())[:700]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

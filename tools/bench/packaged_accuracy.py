#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What int8 costs in networks of Python packages, default settings, beside onnxruntime's static int8 and NNCF's best preset.

    tools/bench/packaged_accuracy.py                       all whose package is installed (tools/dev/setup --networks)
    tools/bench/packaged_accuracy.py ppocr4_rec nudenet --evaluate 200
    tools/bench/packaged_accuracy.py --files zoo/          networks of make_networks.py as well: signal to noise, dB

Lines and pages of text are drawn, pictures and sound are those of the shared data, files those of Python's library. Calibration and evaluation
have no sample in common. Every measure compares with float, which is onnxruntime's: "characters" is 1 less the edit distance over the
length of what float reads; "boxes" is the F1 of detections, "pixels" that of the pixels that are text; "same" is the share of samples
with the same answer; "SQNR" in dB. "error" is the standard error of Octet's figure, in percent or dB, by how far parts of the samples
differ: a difference of less than twice as much may be chance. "conv" is the share of the convolutions' multiply-adds whose operands and
result are integers; "all" of all multiply-adds, "to float" with those that have float results.
"""
from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import networks
import numpy as np
import onnx_files
import packaged
import peers
import tables
from survey import get_decibels

PEERS = {"ort": ("ort-u8s8",), "nncf": ("ov-int8", "ov-mixed", "ov-transf")}


# ---- samples -------------------------------------------------------------------------------------------------------------
def list_pictures():
    folder = networks.SHARED / "models" / "data" / "imagenet_sample_500"
    if not folder.is_dir():
        raise SystemExit(f"no pictures: {folder} is missing (set OCTET_SHARED)")
    return sorted(folder.glob("*.jpg"))


def read_picture(index, size):
    from PIL import Image

    files = list_pictures()
    return np.asarray(Image.open(files[index % len(files)]).convert("RGB").resize(size, Image.BILINEAR), np.float32)


def draw_text(index, width):
    """A line of words in one of some fonts, sizes and colours, with noise: pixels of 48 rows and at most `width` columns."""
    import pydoc_data.topics
    from PIL import Image, ImageDraw, ImageFont

    rng, fonts = np.random.default_rng(index), sorted(Path("/usr/share/fonts/truetype/dejavu").glob("DejaVuS*.ttf"))
    if not fonts:
        raise SystemExit("no fonts: install fonts-dejavu")
    words = [word for _, text in sorted(pydoc_data.topics.topics.items()) for word in text.split() if word.isascii()]
    text = " ".join(words[(start := int(rng.integers(len(words) - 4))): start + int(rng.integers(1, 4))])[:24]
    font = ImageFont.truetype(str(fonts[rng.integers(len(fonts))]), 30)
    paper, ink = rng.integers(150, 256, 3), rng.integers(0, 100, 3)
    image = Image.new("RGB", (int(font.getlength(text)) + 12, 48), tuple(map(int, paper)))
    ImageDraw.Draw(image).text((6, 5), text, tuple(map(int, ink)), font)
    image = image.resize((min(width, image.width), 48), Image.BILINEAR)
    return np.clip(np.asarray(image, np.float32) + rng.normal(scale=rng.uniform(0, 12), size=(48, image.width, 1)), 0, 255)


def draw_line(index, width=320):
    """A line of text as PP-OCR's recognition reads it."""
    pixels, line = draw_text(index, width), np.zeros((3, 48, width), np.float32)
    line[:, :, : pixels.shape[1]] = (pixels.transpose(2, 0, 1)[::-1] / 255 - 0.5) / 0.5
    return {"x": line[None]}


def draw_page(index, size=320):
    """A picture with lines of text on it as PP-OCR's detection sees it."""
    from PIL import Image

    rng, page = np.random.default_rng(index), read_picture(index, (size, size)).copy()
    for line in range(rng.integers(2, 7)):
        text, height = draw_text(1000 * index + line, size), int(rng.integers(14, 40))
        width = min(size, text.shape[1] * height // 48)
        top, left = rng.integers(0, size - height + 1), rng.integers(0, size - width + 1)
        text = Image.fromarray(text.astype(np.uint8)).resize((width, height), Image.BILINEAR)
        page[top: top + height, left: left + width] = np.asarray(text, np.float32)
    page = (page[..., ::-1] / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    return {"x": np.ascontiguousarray(page.transpose(2, 0, 1), np.float32)[None]}


def turn_line(index):
    """A line as PP-OCR's classifier of directions reads it; every second one is upside down."""
    line = draw_line(index, 192)["x"]
    return {"x": np.ascontiguousarray(line[..., ::-1, ::-1]) if index % 2 else line}


def make_image(index, name, size, scale, offset, is_last):
    """A picture as numbers x * scale + offset, channels first or last."""
    picture = read_picture(index, size) * np.float32(scale) + np.float32(offset)
    return {name: np.ascontiguousarray(picture if is_last else picture.transpose(2, 0, 1), np.float32)[None]}


def read_bytes(index):
    """The first and last 1024 bytes of a file of Python's library, as magika reads them."""
    import os

    files = sorted(path for path in Path(os.__file__).parent.glob("**/*") if path.is_file() and path.stat().st_size > 2048)
    data = files[index * 7919 % len(files)].read_bytes()
    return {"bytes": np.frombuffer(data[:1024].lstrip().ljust(1024, b"\0")[:1024] + data[-1024:], np.uint8).astype(np.int32)[None]}


def crop_picture(index, name, size):
    """A window of a picture, as the second and third network of MTCNN read it."""
    rng, picture = np.random.default_rng(index), read_picture(index, (96, 96))
    top, left = rng.integers(0, 96 - size, 2)
    return {name: ((picture[top: top + size, left: left + size] - 127.5) / 128)[None]}


# ---- measures ------------------------------------------------------------------------------------------------------------
def count_edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def read_line(outputs):
    """What the best class of every column says, equal neighbours once, without blanks."""
    best = outputs[0][0].argmax(-1)
    return [int(c) for c, before in zip(best, [0, *best[:-1]]) if c and c != before]


def count_lines(expected, got):
    a, b = read_line(expected), read_line(got)
    return count_edits(a, b), len(a)


def find_boxes(outputs, least=0.2, overlap=0.45):
    """(class, corners) of YOLOv8's detections."""
    evaluate, found = networks.load_evaluate(), outputs[0][0].T
    scores, classes = found[:, 4:].max(1), found[:, 4:].argmax(1)
    corners, kept = np.concatenate([found[:, :2] - found[:, 2:4] / 2, found[:, :2] + found[:, 2:4] / 2], 1), []
    for i in np.argsort(-scores, kind="stable"):
        if scores[i] < least:
            break
        if all(classes[i] != classes[j] or evaluate.iou(corners[i], corners[j]) < overlap for j in kept):
            kept.append(i)
    return [(classes[i], corners[i]) for i in kept]


def count_boxes(expected, got):
    evaluate, both, found, others = networks.load_evaluate(), 0, find_boxes(expected), find_boxes(got)
    count = len(found) + len(others)
    for kind, box in found:
        match = next((i for i, (other, place) in enumerate(others) if other == kind and evaluate.iou(box, place) >= 0.5), None)
        if match is not None:
            both += 1
            others.pop(match)
    return 2 * both, count


def count_pixels(expected, got, least=0.3):
    """Pixels that are text in both, twice, and in either."""
    found, others = expected[0] > least, got[0] > least
    return 2 * (found & others).sum(), found.sum() + others.sum()


def count_classes(expected, got):
    return np.argmax(expected[0]) == np.argmax(got[0]), 1


def make_threshold_count(least, output):
    """How many elements' last column is on the same side of a threshold."""

    def count(expected, got):
        same = (expected[output][..., -1] > least) == (got[output][..., -1] > least)
        return same.sum(), same.size

    return count


def count_noise(expected, got):
    """Of every output: squares of errors, numbers, their squares, how many."""
    pairs = [(np.float64(a), np.float64(b)) for a, b in zip(expected, got)]
    return [[np.square(a - b).sum(), a.sum(), np.square(a).sum(), a.size] for a, b in pairs]


def get_noise(sums):
    errors, numbers, squares, counts = np.transpose(sums)
    return get_decibels(errors / counts, squares / counts - np.square(numbers / counts))


@dataclass(frozen=True)
class Measure:
    """A figure that follows from sums over samples, of which each gives its part."""

    name: str
    count: object  # (outputs of float, outputs) -> numbers
    rate: object  # their sums -> the figure

    def get_figure(self, counts):
        return float(self.rate(np.sum(counts, axis=0, dtype=np.float64)))

    def get_standard_error(self, counts, parts=16):
        """That of the figure, by its values over `parts` interleaved parts of the samples; None of too few samples."""
        parts = min(parts, len(counts) // 2)
        if parts < 2:
            return None
        return float(np.std([self.get_figure(counts[part::parts]) for part in range(parts)], ddof=1) / np.sqrt(parts))


def get_share(sums):
    return sums[0] / max(1, sums[1])


CHARACTERS = Measure("characters", count_lines, lambda sums: 1 - get_share(sums))
PIXELS = Measure("pixels", count_pixels, get_share)
BOXES = Measure("boxes", count_boxes, get_share)
SAME = Measure("same", count_classes, get_share)
SQNR = Measure("SQNR", count_noise, get_noise)


@dataclass(frozen=True)
class Case:
    """How a network is fed and judged."""

    sample: object  # index -> feed
    measure: Measure


def make_cases():
    line, turned = Case(draw_line, CHARACTERS), Case(turn_line, SAME)
    picture = lambda **arguments: lambda index: make_image(index, **arguments)  # noqa: E731
    page = Case(draw_page, PIXELS)
    mtcnn = {"size": (160, 120), "scale": 1 / 128, "offset": -127.5 / 128, "is_last": True}
    threshold = lambda least, output: Measure("same", make_threshold_count(least, output), get_share)  # noqa: E731
    return {
        "ppocr4_rec": line, "ppocr5_rec": line, "ppocr6_rec": line, "ppocr4_cls": turned, "ppocr5_cls": turned, "ppocr4_det": page, "ppocr5_det": page,
        "ppocr6_det": page,
        "nudenet": Case(picture(name="images", size=(320, 320), scale=1 / 255, offset=0, is_last=False), BOXES),
        "magika": Case(read_bytes, SAME),
        "mtcnn_pnet": Case(picture(name="input_1", **mtcnn), threshold(0.6, 1)),
        "mtcnn_rnet": Case(lambda index: crop_picture(index, "input_2", 24), threshold(0.7, 1)),
        "mtcnn_onet": Case(lambda index: crop_picture(index, "input_3", 48), threshold(0.7, 2)),
    }


# ---- libraries -----------------------------------------------------------------------------------------------------------
def load_peer(name, task):
    """feed -> outputs of a peer's int8."""
    path = peers.PEERS[name][1](task)
    if path.suffix == ".xml":
        import openvino

        compiled = openvino.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return lambda feed: [np.array(array) for array in compiled(feed).values()]
    session = onnx_files.make_session(path)
    return lambda feed: session.run(None, feed)


def load_peers(names, task):
    """Those that take the network, by name."""
    runs = {}
    for name in names:
        try:
            run = load_peer(name, task)
            run(task.calib()[0])
            runs[name] = run
        except Exception as error:  # whatever a peer throws
            print(f"  {task.name}: {name}: {str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__}", file=sys.stderr)
    return runs


def count_samples(runs, task, feeds, measure):
    """What every sample gives to the measure, by the names of `runs`; outputs are not kept."""
    counts = {name: [] for name in runs}
    for feed in feeds:
        expected = task.session.run(None, feed)
        for name, run in runs.items():
            counts[name].append(measure.count(expected, run(feed)))
    return counts


def get_shares(report):
    """Of convolutions in integers throughout; of all operators; of these with float results."""
    count = lambda rows: sum(row.macs for row in rows)  # noqa: E731
    convolutions = [row for row in report if row.operator.startswith("nn.conv")]
    whole = lambda rows: count(row for row in rows if row.verdict == "int8")  # noqa: E731
    products = whole(report) + count(row for row in report if row.verdict == "int8 to float")
    total = max(1, count(report))
    return whole(convolutions) / max(1, count(convolutions)), whole(report) / total, products / total


def measure_network(octet, task, feeds, measure):
    model = octet.compile(task.onnx, calibration_data=networks.as_arrays(task.calib()), input_shapes=task.shapes or None)
    runs = {"octet": lambda feed: list(model.run(feed).values()), **load_peers(sum(PEERS.values(), ()), task)}
    counts = count_samples(runs, task, feeds, measure)
    best = [max((measure.get_figure(counts[name]) for name in names if name in counts), default=None) for names in (("octet",), *PEERS.values())]
    show = lambda value: "-" if value is None else f"{value:.1f} dB" if measure is SQNR else f"{value:.2%}"  # noqa: E731
    error = measure.get_standard_error(counts["octet"])
    error = "-" if error is None else f"{error * (1 if measure is SQNR else 100):.2f}"
    shares = [f"{share:.1%}" for share in get_shares(model.report)]
    return [measure.name, show(best[0]), error, *map(show, best[1:]), *shares, len(counts["octet"])]


def make_packaged_task(name, case, count):
    network = packaged.find([name])
    if not network:
        return None
    network, calibration = network[0], [case.sample(index) for index in range(count)]
    return SimpleNamespace(name=name, onnx=network.path, shapes=network.shapes, session=onnx_files.make_session(network.path), calib=lambda: calibration)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = make_cases()
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(cases) + "; all by default")
    parser.add_argument("--files", nargs="*", type=Path, default=[], help="ONNX files or folders; the first half of their samples calibrates")
    parser.add_argument("--calibrate", type=int, default=64, help="number of samples that calibrate")
    parser.add_argument("--evaluate", type=int, default=128, help="number of samples that judge")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(cases)):
        parser.error(f"unknown network {', '.join(unknown)}; there are {', '.join(cases)}")
    octet, table = tables.import_octet(), tables.Table(network=24, measure=10, octet=9, error=5, ort=9, nncf=9, conv=7, all=7, to_float=8, samples=7)
    for name in options.names or ([] if options.files else cases):
        if task := make_packaged_task(name, cases[name], options.calibrate):
            feeds = map(cases[name].sample, range(options.calibrate, options.calibrate + options.evaluate))
            table.row(name, *measure_network(octet, task, feeds, cases[name].measure))
    for file in onnx_files.find_files(options.files):
        task = onnx_files.make_task(file, {})
        feeds = task.calib()
        calibration, feeds = feeds[: len(feeds) // 2], feeds[len(feeds) // 2:]
        task.calib = lambda kept=calibration: kept
        table.row(task.name, *measure_network(octet, task, feeds, SQNR))


if __name__ == "__main__":
    main()

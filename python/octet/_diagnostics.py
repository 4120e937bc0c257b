# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Diagnostics of octet-compile (`--diagnostics=json`) as fields."""
from __future__ import annotations

import json
from typing import List, NamedTuple, Optional, Sequence, Tuple


class Diagnostic(NamedTuple):
    """One error or warning of the compiler. Its text is the one that octet-compile prints."""

    severity: str
    message: str  # without the place
    rendered: str  # the text that octet-compile prints
    code: str = ""  # stable, for example "OCT307"; empty if there is none
    remedy: str = ""  # the remedy in the message, if it is known
    file: str = ""
    line: int = 0
    column: int = 0
    node: str = ""  # of the network, that the message is about
    samples: str = ""  # the file of calibration data that the message is about
    array: str = ""  # the array in that file
    expected_shape: Optional[Sequence[int]] = None
    actual_shape: Optional[Sequence[int]] = None
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        return self.rendered


def parse_diagnostics(output: str, folder: str) -> Tuple[List[Diagnostic], str]:
    """The diagnostics in the compiler's output, and the rest of the output. Paths in `folder`, a temporary folder, are given
    relative to it."""
    diagnostics, rest = [], []
    for line in output.split("\n"):  # splitlines also cuts at separators that JSON text may contain
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if not isinstance(fields, dict) or not {"severity", "message"} <= fields.keys():
            rest.append(line)
            continue
        known = {key: value for key, value in fields.items() if key in Diagnostic._fields}
        for key in ("file", "samples", "message", "rendered"):
            known[key] = known.get(key, "").replace(folder, "")
        diagnostics.append(Diagnostic(**known))
    return diagnostics, "\n".join(rest).strip()

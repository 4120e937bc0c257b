# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What octet-compile has to say (`--diagnostics=json`), as fields."""
from __future__ import annotations

import json
from typing import List, NamedTuple, Optional, Sequence, Tuple


class Diagnostic(NamedTuple):
    """One error or warning of the compiler. As text, it reads as octet-compile prints it."""

    severity: str
    message: str  # without the place
    rendered: str  # the whole, for people
    code: str = ""  # stable, for example "OCT307"; empty if there is none
    remedy: str = ""  # the end of the message, if it is known apart
    file: str = ""
    line: int = 0
    column: int = 0
    node: str = ""  # of the network
    samples: str = ""  # the file of calibration data that this is about
    array: str = ""  # the one in that file
    expected_shape: Optional[Sequence[int]] = None
    actual_shape: Optional[Sequence[int]] = None
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        return self.rendered


def parse_diagnostics(output: str, folder: str) -> Tuple[List[Diagnostic], str]:
    """The diagnostics in what the compiler wrote, and what else it wrote. Files in `folder`, which its caller does not
    know, are named without it."""
    diagnostics, rest = [], []
    for line in output.splitlines():
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            rest.append(line)
            continue
        known = {key: value for key, value in fields.items() if key in Diagnostic._fields}
        for key in ("file", "samples", "message", "rendered"):
            known[key] = known.get(key, "").replace(folder, "")
        diagnostics.append(Diagnostic(**known))
    return diagnostics, "\n".join(rest).strip()

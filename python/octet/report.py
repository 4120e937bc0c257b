# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The verdict on every operator, and its reason."""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Dict, List, NamedTuple, Optional


class Verdict(NamedTuple):
    """One operator of the network, or one group of operators that is quantized as a whole."""

    name: str
    operator: str
    verdict: str
    pattern: str = ""
    code: str = ""
    reason: str = ""
    remedy: str = ""
    location: str = ""
    macs: int = 0
    note: str = ""


def show(foreign: str) -> str:
    """Text from a file on one line: characters that are not printable are escaped, the middle of a long text is omitted."""
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in foreign)
    return text if len(text) <= 200 else f"{text[:120]}...({len(text) - 180} more)...{text[-60:]}"


def _restore_defaults(row: Dict[str, Any]) -> None:
    """Adds the fields that the short form omits because they are empty, zero or false."""
    row.setdefault("name", "")
    row.setdefault("macs", 0)
    row.setdefault("refused", False)
    if "code" in row:
        row.setdefault("remedy", "")


class Report(Sequence):  # type: ignore[type-arg]
    """The verdict table of a compiled network: a sequence of `Verdict`s that prints as a table.

    `data` is the report of `octet-compile --report` as a dict: every verdict with all its fields, the network's size and, if
    there is machine code, the code's size. That of a library lacks places: `location`, and `page`, which explains a code.
    """

    def __init__(self, data: Dict[str, Any]) -> None:
        self.data = data
        self._rows = [
            Verdict(**{field: row[field] for field in Verdict._fields if row.get(field) is not None})
            for row in data.get("operators", [])
        ]

    @classmethod
    def parse(cls, text: str) -> "Report":
        """Parses the JSON of `octet-compile --report`, or the short form in a library, which holds fields that operators have in
        common once (`kinds`). An empty text gives an empty report."""
        data = json.loads(text) if text else {}
        kinds = data.pop("kinds", None)
        if kinds is not None:
            for row in data.get("operators", []):
                row.update(kinds[row.pop("kind")])
                _restore_defaults(row)
        return cls(data)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self._rows)

    @property
    def refused(self) -> List[Verdict]:
        """Operators that stay float although the policy asks for int8; `strict=True` makes them an error."""
        return [row for row, record in zip(self._rows, self.data.get("operators", [])) if record.get("refused")]

    @property
    def int8_share(self) -> Optional[float]:
        """The share of the multiply-adds of all products that runs in int8; None if there are none."""
        total = sum(row.macs for row in self._rows)
        return sum(row.macs for row in self._rows if row.verdict.startswith("int8")) / total if total else None

    def __str__(self) -> str:
        lines = [("layer", "operator", "verdict", "why")]
        for row in self._rows:
            why = f"{row.code} {row.reason}" if row.code else row.pattern
            lines.append((show(row.name), show(row.operator), row.verdict, show(why)))
            if row.remedy:
                lines.append(("", "", "", f"-> {show(row.remedy)}"))
            if row.note:
                lines.append(("", "", "", f"note: {show(row.note)}"))
        widths = [max(len(line[column]) for line in lines) for column in range(3)]
        table = ["  ".join([*(text.ljust(width) for text, width in zip(line, widths)), line[3]]).rstrip() for line in lines]
        has_codes = any(row.code or row.note for row in self._rows)
        return "\n".join([*table, "what the codes mean: docs/reasons.md"] if has_codes else table)

    def __repr__(self) -> str:
        return f"<octet.Report of {len(self._rows)} operators>"

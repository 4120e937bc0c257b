# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, by kind. Every message names the place and the remedy."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ._diagnostics import Diagnostic


class Error(Exception):
    """The base of all errors of this package."""


class CompileError(Error):
    """The compiler refused a network or an option; the message is the compiler's, and `diagnostics` has it as fields."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class CompileWarning(UserWarning):
    """The compiler did something otherwise than asked, and says what; the message is the compiler's."""


class LoadError(Error):
    """A file is no network that can run here."""


class SaveError(Error, OSError):
    """A file cannot be written; the message names the path that was given."""


class InputError(Error, ValueError):
    """An array does not fit the network, or calibration data are no samples."""


def show_path(path: Any) -> str:
    """A path as messages show it: as text that can be printed and stored, whatever its bytes."""
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode("utf-8")


def check_text(argument: str, text: str) -> str:
    """The text, if a process can be given it."""
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise InputError(f"{argument}: expected text without null characters and halves of surrogate pairs, but got {text!r}")
    return text

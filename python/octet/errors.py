# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors of the package. Every message names the place and the remedy."""
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
    """The compiler did not do all that was asked; the message is the compiler's."""


class LoadError(Error):
    """A file is not a network that can run here."""


class SaveError(Error, OSError):
    """A file cannot be written; the message names its path."""


class InputError(Error, ValueError):
    """An array does not fit the network, or calibration data do not have the form of samples."""


def show_path(path: Any) -> str:
    """A path for a message: text that can be printed and stored, whatever the path's bytes."""
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode("utf-8")


def check_text(argument: str, text: str) -> str:
    """The text; refuses text that cannot be an argument of a process."""
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise InputError(f"{argument}: expected text without null characters and halves of surrogate pairs, but got {text!r}")
    return text

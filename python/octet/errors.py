# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, by kind. Every message names the place and the remedy."""
from __future__ import annotations


class Error(Exception):
    """The base of all errors of this package."""


class CompileError(Error):
    """The compiler refused a network or an option; the message is the compiler's."""


class CompileWarning(UserWarning):
    """The compiler did something otherwise than asked, and says what; the message is the compiler's."""


class LoadError(Error):
    """A file is no network that can run here."""


class SaveError(Error, OSError):
    """A file cannot be written; the message names the path that was given."""


class InputError(Error, ValueError):
    """An array does not fit the network, or calibration data are no samples."""

# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CPU levels, as the compiler lists them (include/octet/Runtime/Levels.def)."""
import os
import pathlib
import shutil
import subprocess
from typing import NamedTuple

BUILD = pathlib.Path(os.environ.get("OCTET_BUILD") or pathlib.Path(__file__).resolve().parents[2] / "build")


class Level(NamedTuple):
    name: str
    architecture: str
    is_default: bool
    runs_here: bool
    features: str


def read_levels(build=BUILD):
    """All levels, the best of each architecture first; none if the compiler is not built."""
    compiler = shutil.which("octet-compile", path=str(pathlib.Path(build) / "bin")) or shutil.which("octet-compile")
    if not compiler:
        return []
    listing = subprocess.run([compiler, "--list-cpu-levels"], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines()[1:]]
    return [Level(name, architecture, default == "yes", here == "yes", "" if features == "-" else features)
            for name, architecture, default, here, features in rows]


def get_names(architecture):
    """The levels of an architecture ("x86_64", "aarch64"), best first, with those of any."""
    return [level.name for level in read_levels() if level.architecture in (architecture, "any")]

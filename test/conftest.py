"""What every Python test may ask for: the shared networks, the build, the tools. Absent things skip with a reason.

Where OCTET_COMPLETE is set (tools/dev/check), everything was built: what is not there then is lost, and fails.
"""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("OCTET_BUILD") or SOURCE / "build")
SHARED = pathlib.Path(os.environ.get("OCTET_SHARED") or SOURCE.parent / "shared")

COMPLETE = bool(os.environ.get("OCTET_COMPLETE"))

# The Python package as the build lays it out; an installed one is found the ordinary way.
if (BUILD / "python" / "octet").is_dir():
    sys.path.insert(0, str(BUILD / "python"))
if COMPLETE:
    import cv2, octet, onnx, onnxruntime  # noqa: E401, F401  (the tests that need them would be skipped)


@pytest.fixture(scope="session")
def unbuilt():
    """unbuilt(reason) skips the test, or fails it where the build is complete."""
    return pytest.fail if COMPLETE else pytest.skip


@pytest.fixture(scope="session")
def source():
    """The root of the repository."""
    return SOURCE


@pytest.fixture(scope="session")
def build(unbuilt):
    """The build folder."""
    if not (BUILD / "CMakeCache.txt").is_file():
        unbuilt(f"nothing is built in {BUILD}")
    return BUILD


@pytest.fixture(scope="session")
def shared_models():
    """The folder of real networks and their data."""
    if not (SHARED / "models" / "evaluate.py").is_file():
        pytest.skip(f"the shared networks are absent ({SHARED / 'models'}; set OCTET_SHARED)")
    return SHARED / "models"


@pytest.fixture(scope="session")
def shared_spec():
    """The folder of recorded facts."""
    if not (SHARED / "spec").is_dir():
        pytest.skip(f"the shared specification is absent ({SHARED / 'spec'}; set OCTET_SHARED)")
    return SHARED / "spec"


@pytest.fixture(scope="session")
def tool(build, unbuilt):
    """tool("octet-opt", args..., check=True) runs one of the built tools and returns the completed process."""

    def run(name, *arguments, check=True, **options):
        path = build / "bin" / name
        if not path.is_file():
            unbuilt(f"{name} is not built")
        done = subprocess.run([str(path), *map(str, arguments)], capture_output=True, text=True, **options)
        if check and done.returncode != 0:
            pytest.fail(f"{name} {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}")
        return done

    return run

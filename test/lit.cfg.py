"""lit configuration: substitutions, and features probed on the host."""

import os
import shutil
import sys

import lit.formats

config.name = "Octet"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Integration", "Python", "Reference", "Unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.octet_obj_root, "test")

shared = os.environ.get("OCTET_SHARED") or os.path.join(config.octet_src_root, "..", "shared")

tool_dirs = [os.path.join(config.octet_obj_root, "bin"), config.llvm_tools_dir]
config.environment["PATH"] = os.pathsep.join(tool_dirs + [os.environ["PATH"]])
config.environment["OCTET_SHARED"] = os.path.abspath(shared)
# A variable that outlives its CHECK-LABEL block, or a prefix that no line uses, is a mistake in the test.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

config.substitutions += [
    ("%octet_src", config.octet_src_root),
    ("%octet_obj", config.octet_obj_root),
    ("%octet_shared", os.path.abspath(shared)),
    ("%python", config.python),
    ("%qemu_aarch64", "qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu"),
    ("%qemu_cortex_a72", "qemu-aarch64-static -cpu cortex-a72 -L /usr/aarch64-linux-gnu"),
]


config.available_features.add(config.host_arch.lower().replace("_", "-"))

if shutil.which("qemu-aarch64-static") and os.path.isdir("/usr/aarch64-linux-gnu"):
    config.available_features.add("qemu-aarch64")
if shutil.which("aarch64-linux-gnu-gcc"):
    config.available_features.add("aarch64-gcc")
if os.path.isfile(os.path.join(shared, "models", "evaluate.py")):
    config.available_features.add("shared-models")
if shutil.which("mlir-opt", path=config.llvm_tools_dir):
    config.available_features.add("mlir-opt")
# The CPU levels that run here.
sys.path.insert(0, os.path.join(config.octet_src_root, "tools", "dev"))
import levels

config.available_features |= {level.name for level in levels.read_levels(config.octet_obj_root) if level.runs_here}
# A tool or plugin that is not built makes its tests unsupported, by name; in a complete build (tools/dev/check) it is lost.
products = {tool: f"bin/{tool}" for tool in ("octet-translate", "octet-compile", "octet-run")}
products["octet-plugin"] = "lib/OctetPlugin.so"
for product, path in products.items():
    if os.access(os.path.join(config.octet_obj_root, path), os.X_OK):
        config.available_features.add(product)
    elif os.environ.get("OCTET_COMPLETE"):
        lit_config.fatal(f"{path} is not built")

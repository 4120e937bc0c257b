# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts what the networks of networks.py take on AArch64 cores that are not at hand.

  model.py                              all of them, level dotprod
  model.py --level neon --cpu cortex-a72,cortex-a55 resnet20_cifar10
  model.py --kernels resnet20_cifar10   one line for each kernel

QEMU runs the int8 library and says how often it executes each block of instructions; llvm-mca says how many cycles a core takes for each
block when it repeats. Cycles are executions times cycles of blocks, so that nothing outside innermost loops is left out. The limit is that of the
level's multiply instruction, also by llvm-mca. All figures are a model's word: there are no caches in it, and blocks do not overlap with those before
and after.
"""
import argparse
import bisect
import collections
import functools
import pathlib
import re
import subprocess
import tempfile

import networks

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
SYSROOT = "/usr/aarch64-linux-gnu"
CPUS = ("cortex-a55", "cortex-a72", "cortex-a76", "cortex-x1", "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2")


class Level:
    """The multiply instructions of a CPU level: products of one by its pattern, and operands for the model's limit, of the first."""

    def __init__(self, products, example, attributes="", cpus=CPUS, qemu="max,sve=off"):
        self.patterns = {re.compile(pattern): count for pattern, count in products.items()}
        self.example, self.attributes, self.cpus, self.qemu = example, attributes, cpus, qemu

    def count(self, text):
        """Products of an instruction."""
        return next((count for pattern, count in self.patterns.items() if pattern.match(text)), 0)

    def most(self):
        return max(self.patterns.values())


DOT = r"^[su]dot\b"
LEVELS = {
    "sve512": Level({r"^sdot z": 64}, "sdot z{0}.s, z30.b, z31.b", "+sve", ("a64fx",), "a64fx"),
    "sve256": Level({r"^smmla z": 64, DOT: 16}, "smmla z{0}.s, z30.b, z31.b", "+sve,+dotprod,+i8mm", ("neoverse-v1",), "max,sve256=on"),
    "i8mm": Level({r"^smmla\b": 32, DOT: 16}, "smmla v{0}.4s, v30.16b, v31.16b", "+dotprod,+i8mm", ("neoverse-n2", "neoverse-v1", "neoverse-v2")),
    "dotprod": Level({DOT: 16}, "sdot v{0}.4s, v30.16b, v31.16b", "+dotprod"),
    "neon": Level({r"^[su](mull|mlal)2?\b": 8}, "smlal v{0}.8h, v30.8b, v31.8b"),
}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{pathlib.Path(command[0]).name}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


PAGE = 4096
JUMP = re.compile(r"(b|bl|blr|br|ret|b\..*|cbz|cbnz|tbz|tbnz|svc)\b")


# ---- what is executed ----------------------------------------------------------------------------------------------------
class Library:
    """The instructions of a shared library, by address, and where its functions begin."""

    def __init__(self, path):
        self.path = path
        self.instructions, self.targets = {}, {}
        for line in run(LLVM / "llvm-objdump", "-d", "--no-show-raw-insn", "--mattr=+all", path).splitlines():
            if match := re.match(r"\s*([0-9a-f]+):\s+(.*)", line):
                text = match[2].replace("\t", " ").split("//")[0].strip()
                self.instructions[int(match[1], 16)] = re.sub(r"0x[0-9a-f]+ <.*>", "there", text)
                if target := re.search(r"0x([0-9a-f]+) <", text):
                    self.targets[int(match[1], 16)] = int(target[1], 16)
        symbols = [line.split() for line in run("nm", path).splitlines()]
        self.functions = {int(words[0], 16): words[2] for words in symbols if len(words) == 3 and words[1] in "tT" and words[2][0] != "$"}
        self.entry = next(words[-1] for words in symbols if words[-1].endswith("_octet_model_v1"))

    @functools.cache
    def block(self, address):
        """The instructions from an address to the first that jumps."""
        found = []
        while address in self.instructions:
            found.append(self.instructions[address])
            address += 4
            if JUMP.match(found[-1]):
                break
        return tuple(found)

    def continues(self, before, address):
        """Whether a block is but the rest of the one executed before, which QEMU divides at the ends of pages and where it is long."""
        last = before + 4 * len(self.block(before)) - 4
        return before < address <= last and (address % PAGE == 0 or self.targets.get(last) != address)


def trace(library, driver, level, cpu, inputs, runs, folder):
    """The addresses of the library's blocks that are executed, with so many runs of the network."""
    log, samples = folder / "trace", folder / "samples"
    samples.write_bytes(inputs * runs)
    run("qemu-aarch64-static", "-L", SYSROOT, "-cpu", cpu, "-d", "exec,nochain", "-D", log, driver, library.path, library.entry,
        level, "1", samples, folder / "outputs")
    addresses = [int(line.split("/")[1], 16) for line in log.read_text().splitlines() if line.startswith("Trace")]
    entry = next(address for address, name in library.functions.items() if name == library.entry)
    # The library lies where most of its functions are executed.
    executed = collections.Counter(addresses)
    bases = {address - entry for address in executed if (address - entry) % PAGE == 0}
    base = max(bases, key=lambda base: sum(base + function in executed for function in library.functions))
    blocks = [address - base for address in addresses if address - base in library.instructions]
    return [block for before, block in zip([0, *blocks], blocks) if not library.continues(before, block)]


# ---- what it takes -------------------------------------------------------------------------------------------------------
def predict(blocks, cpu, attributes):
    """block -> cycles of one repetition, for all blocks at once."""
    text = "".join(f"// LLVM-MCA-BEGIN b{number}\n" + "\n".join(block) + "\n// LLVM-MCA-END\n" for number, block in enumerate(blocks))
    out = run(LLVM / "llvm-mca", "-mtriple=aarch64-linux-gnu", f"-mcpu={cpu}", f"-mattr={attributes}", "-iterations=200", "-all-views=false",
              "-summary-view", "-skip-unsupported-instructions=any", input=text)
    regions = re.findall(r"Code Region - b(\d+)\s+Iterations:\s+(\d+)\s+Instructions:\s+\d+\s+Total Cycles:\s+(\d+)", out)
    return {blocks[int(number)]: int(cycles) / int(iterations) for number, iterations, cycles in regions}


# ---- tables --------------------------------------------------------------------------------------------------------------
class Kernel:
    """A function of the library: how often each of its blocks of instructions is executed."""

    def __init__(self, name, level):
        self.name, self.level, self.calls = name, level, 0
        self.blocks = collections.Counter()

    def multiplies(self, block):
        return sum(self.level.count(text) > 0 for text in block)

    def products_of(self, block):
        return sum(self.level.count(text) for text in block)

    def instructions(self):
        return sum(len(block) * count for block, count in self.blocks.items())

    def products(self):
        return sum(self.products_of(block) * count for block, count in self.blocks.items())

    def inner(self):
        """The block that multiplies most."""
        return max(self.blocks, key=lambda block: self.products_of(block) * self.blocks[block], default=())

    def inner_instructions(self):
        """Those of the loop around that block. Its first turn is the end of the block in front of it."""
        loop = self.inner()
        return len(loop) * sum(count for block, count in self.blocks.items() if block[-len(loop):] == loop)

    def cycles(self, model):
        return sum(model[block] * count for block, count in self.blocks.items())


def get_limit(level, cpu):
    """Products of a cycle, for independent multiplications."""
    block = tuple(level.example.format(number) for number in range(24))
    return level.most() * len(block) / predict([block], cpu, level.attributes)[block]


def count_kernels(library, addresses, level):
    """The library's functions, with what of them is executed."""
    starts = sorted(library.functions)
    kernels = {}
    for address, count in collections.Counter(addresses).items():
        if (block := library.block(address)) and (place := bisect.bisect_right(starts, address)):
            start = starts[place - 1]
            kernel = kernels.setdefault(start, Kernel(library.functions[start], level))
            kernel.blocks[block] += count
            kernel.calls += count if address == start else 0
    return [kernels[start] for start in sorted(kernels)]


def quantize(task, path):
    """Writes the integer program; returns the bytes of one sample."""
    import numpy as np
    import octet

    quantized = octet.quantize(str(task.onnx), calibration_data=networks.as_arrays(task.calib()), input_shapes=networks.get_input_shapes(task))
    path.write_bytes(quantized._bytecode)
    return b"".join(np.ascontiguousarray(value).tobytes() for value in task.feed(task._evals[0]).values())


def model(task, level_name, cpus, driver, folder):
    """The kernels of a network, and for each core the cycles of blocks and the limit."""
    level, path, program = LEVELS[level_name], folder / "net.so", folder / "net.mlirbc"
    inputs = quantize(task, program)
    run(ROOT / "build" / "bin" / "octet-compile", program, "--target=aarch64-linux-gnu", f"--cpu-level={level_name}", "-o", path, "--name=net")
    library = Library(path)
    # What one run more executes; the rest is loading and the prologue.
    once, twice = (collections.Counter(trace(library, driver, level_name, level.qemu, inputs, runs, folder)) for runs in (1, 2))
    kernels = count_kernels(library, twice - once, level)
    blocks = sorted({block for kernel in kernels for block in kernel.blocks})
    return kernels, {cpu: (predict(blocks, cpu, level.attributes), get_limit(level, cpu)) for cpu in cpus}


def print_network(network, kernels, models, has_kernels):
    products = sum(kernel.products() for kernel in kernels)
    instructions = sum(kernel.instructions() for kernel in kernels)
    inner = sum(kernel.inner_instructions() for kernel in kernels if kernel.products())
    print(f"\n{network}: {products / 1e6:.1f} M products, {instructions / 1e6:.2f} M instructions, {instructions / max(1, inner):.2f} x those of inner loops")
    print(f"  {'core':14} {'cycles':>10} {'of the limit':>13}")
    for cpu, (cycles, limit) in models.items():
        total = sum(kernel.cycles(cycles) for kernel in kernels)
        print(f"  {cpu:14} {total:10.0f} {100 * products / limit / total:11.0f} %")
    if not has_kernels:
        return
    print(f"  {'kernel':28} {'calls':>5} {'products':>9} {'instr.':>8} {'inner':>10}  " + "  ".join(f"{cpu[-12:]:>14}" for cpu in models))
    for kernel in sorted(kernels, key=Kernel.instructions, reverse=True):
        block = kernel.inner()
        cells = []
        for cycles, limit in models.values():
            rate = kernel.products_of(block) / cycles[block] / limit
            cells.append(f"{kernel.cycles(cycles):8.0f} {100 * rate:3.0f} %")
        row = f"{kernel.name[-28:]:28} {kernel.calls:5} {kernel.products():9} {kernel.instructions():8} {kernel.multiplies(block):3} of {len(block):3}"
        print(f"  {row}  " + "  ".join(f"{cell:>14}" for cell in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="network", help="names of networks (default: all but the transformer)")
    parser.add_argument("--level", default="dotprod", choices=LEVELS)
    parser.add_argument("--cpu", help="cores, as llvm-mca names them (default: those that have the level)")
    parser.add_argument("--kernels", action="store_true", help="a line for each kernel: cycles, and the inner loop's share of the limit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        driver = folder / "run_samples"
        run("aarch64-linux-gnu-gcc", "-O1", "-I", ROOT / "include", ROOT / "test/Integration/run_samples.c", "-o", driver, "-ldl")
        for task in networks.get_tasks(options.networks or None):
            kernels, models = model(task, options.level, options.cpu.split(",") if options.cpu else LEVELS[options.level].cpus, driver, folder)
            print_network(task.name, kernels, models, options.kernels)


if __name__ == "__main__":
    main()

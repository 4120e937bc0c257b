# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fenced blocks of a page of docs, for the tests that run them."""
import pathlib
import re
import shlex

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def read_blocks(text):
    """(kind, text) of the fenced blocks, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)


def read_sections(page):
    """{title: (prose, blocks)} of the sections of docs/<page>."""
    parts = re.split(r"^## (.+)\n", (SOURCE / "docs" / page).read_text(), flags=re.M)[1:]
    return {title: (re.sub(r"^```.*?^```$", "", body, flags=re.M | re.S), read_blocks(body))
            for title, body in zip(parts[::2], parts[1::2])}


def run_page(page, tool, folder):
    """Writes the blocks below a line like `name.mlir`: as files and runs the console blocks, in order. Every line that a console block
    shows must have been printed; a command without lines prints nothing. Returns the number of commands."""
    text, commands = (SOURCE / "docs" / page).read_text(), 0
    for name, kind, block in re.findall(r"(?:^`([\w.-]+)`:\n\n)?^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        if kind != "console":
            assert name, f"no file name above the block {block[:60]!r}"
            (folder / name).write_text(block)
            continue
        for command in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = command.splitlines()
            program, *arguments = shlex.split(command)
            done = tool(program, *arguments, check=False, cwd=folder)
            printed = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
            assert lines or not printed, (command, printed)
            for line in lines:
                assert " ".join(line.split()) in printed, (command, line, done.stdout + done.stderr)
            commands += 1
    return commands

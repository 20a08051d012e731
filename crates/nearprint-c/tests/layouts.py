#!/usr/bin/env python3
"""Compares the binary interface of nearprint.h with tests/layouts.txt: the offset and size of each field, the value of
each constant, the type of each function and callback.

    tests/layouts.py HEADER            prints what differs, and fails if anything does
    tests/layouts.py HEADER --write    adds what is new to the list

What is in the list stays as it is, unless NEARPRINT_ABI_VERSION changes: programs were compiled with it.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

LIST = pathlib.Path(__file__).with_name("layouts.txt")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", re.sub(r"//.*", "", text), flags=re.S)


def fields(text):
    for body, name in re.findall(r"typedef struct \{\n(.*?)\n\} (\w+);", text, re.S):
        yield from ((name, field) for field in re.findall(r"(\w+);", body))


def layouts(header, text):
    """What a C compiler makes of the structures and constants."""
    lines = [f'  printf("{s}.{f} at %zu, %zu bytes\\n", offsetof({s}, {f}), sizeof((({s} *)0)->{f}));' for s, f in fields(text)]
    constants = re.findall(r"^#define (NEARPRINT_\w+) (?:-?\d+)$", text, re.M)
    lines += [f'  printf("{name} = %lld\\n", (long long){name});' for name in constants if name != "NEARPRINT_VERSION_NUMBER"]
    lines += [f'  printf("{name} of %zu bytes\\n", sizeof({name}));' for name in re.findall(r"^typedef \w+ (\w+);$", text, re.M)]
    program = "#include <stdio.h>\n#include <nearprint.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "layouts.c"), pathlib.Path(folder, "layouts")
        source.write_text(program)
        subprocess.run(["cc", "-std=c99", "-I", header.parent, "-o", binary, source], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout.splitlines()


def functions(text):
    """The types of functions, without the names of parameters."""
    text = re.sub(r"^#.*", "", text, flags=re.M)
    for result, name, parameters in re.findall(r"^(?:typedef )?([a-z_0-9 ]+?[ *]+)\(?\*?(\w+)\)?\(([^()]*)\);", text, re.M):
        types = [re.sub(r"\s*\b\w+$", "", " ".join(parameter.split())) for parameter in parameters.split(",")]
        yield f"{result.strip()} {name}({', '.join(kind or 'void' for kind in types)})"


def main():
    header = pathlib.Path(sys.argv[1])
    text = without_comments(header.read_text())
    lines = layouts(header, text) + list(functions(text))
    known = LIST.read_text().splitlines() if LIST.exists() else []
    missing = [line for line in known if line not in lines]
    new = [line for line in lines if line not in known]
    if "--write" in sys.argv[2:]:
        version = next(line for line in lines if line.startswith("NEARPRINT_ABI_VERSION"))
        if missing and version in known:
            sys.exit("\n".join(["programs were compiled with what is gone:", *missing]))
        kept = [line for line in known if line in lines]
        LIST.write_text("\n".join(kept + new) + "\n")
    elif missing or new:
        sys.exit("\n".join(["the binary interface is not tests/layouts.txt:", *(f"-{line}" for line in missing), *(f"+{line}" for line in new)]))


main()

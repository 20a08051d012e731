"""Whether the engine is compiled once: the other crates of the program have none of its functions.

    tools/copies.py LIMIT OPTION...     options of `cargo build`, of a build that is there

What is generic over code or values of its caller does not count: the rooms below. LIMIT is in bytes, for closures of the
public API and for sorters of rows that the engine does not know. Needs nm of binutils.
"""

import json
import re
import subprocess
import sys

ENGINE = re.compile(r"<?nearprint::(?!any::|error::|fingerprint::|util::)")


def libraries(options):
    """The libraries of a build, by the names of their crates."""
    command = ["cargo", "build", "--quiet", "--message-format", "json", *options]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    built = [json.loads(line) for line in lines]
    built = [each for each in built if each["reason"] == "compiler-artifact" and "lib" in each["target"]["kind"]]
    return {each["target"]["name"]: each["filenames"][0] for each in built}


def functions(library):
    """The functions of the engine in a library, with their bytes."""
    command = ["nm", "--print-size", "--defined-only", "--demangle=rust", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    symbols = [line.split(None, 3) for line in lines]
    symbols = [symbol for symbol in symbols if len(symbol) == 4 and symbol[2] in "tTwW"]
    return [(int(size, 16), name) for _, size, _, name in symbols if ENGINE.match(name)]


limit, options = int(sys.argv[1]), sys.argv[2:]
found = libraries(options)
assert functions(found.pop("nearprint")), "the engine has no functions"
copies = [each for name, path in found.items() if name.startswith("nearprint") for each in functions(path)]
total = sum(size for size, _ in copies)
print(f"{total} bytes of the engine are in other crates; {limit} may be")
if total > limit:
    for size, name in sorted(copies, reverse=True)[:20]:
        print(f"{size:8} {name}")
    sys.exit(1)

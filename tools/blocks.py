#!/usr/bin/env python3
"""Runs the blocks of shell in the pages, and says who runs the others.

    tools/blocks.py                        counts who runs what; fails for a block that nobody runs
    tools/blocks.py all FOLDER [PAGE...]   also runs the blocks of each page in FOLDER/NAME, in their order
    tools/blocks.py STEP FOLDER            runs the blocks of a step of CI in FOLDER

A block of `sh` runs in bash, one of `console` command by command. What stands below a command, or in a block of `text`
right below one of `sh`, is compared with what a terminal shows: standard output, standard error, or one and then the
other, without empty lines. `…` is any text within a line, and on a line of its own any lines. Above a block:
    <!-- prepare: NAME -->     a function of tools/ci/prepare.sh that runs before it
    <!-- file: NAME -->        the block is this file of the folder, and executable
    <!-- run by: STEP -->      a step of CI runs it
    <!-- not run: REASON -->   nobody runs it
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
THIS = "tools/blocks.py"
#: The files that run the blocks of a language: they have the paths of the pages, or the pattern of all.
RUNNERS = {
    "python": ["python/tests/test_spark.py", "python/tests/test_readme.py"],
    "rust": ["src/lib.rs", "crates/nearprint-text/src/lib.rs", "crates/nearprint-image/src/lib.rs"],
    "hexdump": ["src/testing/golden.rs"],
    "c": ["crates/nearprint-c/tests/docs.sh"],
}
DOCS = {file.resolve().relative_to(ROOT) for folder in ("", "docs") for file in (ROOT / folder).glob("*.md")}
BLOCK = re.compile(r"((?:^ *<!--.*-->\n)*)^ *```(.*)\n((?s:.*?))^ *```$", re.MULTILINE)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block, the comments above it and the output below it."""

    place: str
    language: str
    text: str
    marks: dict[str, str]
    end: int
    output: str = "…"


def pages() -> list[Path]:
    """All pages: README.md, those of the site in its order, and the others."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, check=True, text=True)
    site = re.findall(r": (\S+\.md)$", (ROOT / "properdocs.yml").read_text("utf-8"), re.MULTILINE)
    names = ["README.md", *(f"docs/{name}" for name in site), *listed.stdout.splitlines()]
    return list(dict.fromkeys((ROOT / name).resolve().relative_to(ROOT) for name in names))


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page. A block of `text` right below one of `sh` is its output."""
    blocks: list[Block] = []
    content = (ROOT / page).read_text("utf-8")
    for match in BLOCK.finditer(content):
        comments, language, text = match.groups()
        below = blocks and blocks[-1].language == "sh" and not content[blocks[-1].end : match.start(2)].strip("\n`")
        if below and language == "text":
            blocks[-1] = blocks[-1]._replace(output=text)
            continue
        marks = dict(re.findall(r"<!-- ([a-z ]+): (.*) -->", comments))
        place = f"{page}:{content.count(chr(10), 0, match.start(2)) + 1}"
        blocks.append(Block(place, language, text, marks, match.end()))
    return blocks


def runner_of(block: Block, page: Path) -> str:
    """Who runs a block."""
    if "not run" in block.marks:
        return "not run"
    if step := block.marks.get("run by"):
        texts = [file.read_text("utf-8") for file in (ROOT / "justfile", *ROOT.glob("tools/ci/*.sh"))]
        return f"the step {step}" if any(f"{THIS} {step} " in text for text in texts) else "nobody"
    language = "c" if page.name == "c.md" else block.language
    if "file" in block.marks or language in ("sh", "console"):
        return THIS
    for runner in RUNNERS.get(language, []):
        paths = {str(page), os.path.relpath(page, Path(runner).parent), '"*.md"' if page in DOCS else str(page)}
        if any(path in (ROOT / runner).read_text("utf-8") for path in paths):
            return runner
    return "nobody"


def run(command: str, folder: Path, output: str = "…", *, silent: bool = True) -> None:
    """Runs a command in a folder. If it has an output, it runs on a terminal, and what it prints is compared."""
    line, compared = ["bash", "-euo", "pipefail", "-c", command], output != "…"
    with tempfile.NamedTemporaryFile("r") as messages:
        shown = ["env", "SHELL=/bin/bash", "script", "-qec", f"{shlex.join(line)} 2> {messages.name}", "/dev/null"]
        used = {"cwd": folder, "stdin": subprocess.DEVNULL, "capture_output": silent or compared, "text": True}
        done = subprocess.run(shown if compared else line, **used)
        stdout, stderr = re.sub(r"\r|\x1b\[[\d;]*m", "", done.stdout or ""), (done.stderr or "") + messages.read()
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}\n{stdout}{stderr}")
    texts = (output, stdout, stderr, stdout + stderr, stderr + stdout)
    said, *printed = (re.sub(r"\n+", "\n", f"\n{text}\n") for text in texts)
    pattern = re.escape(said).replace("\\\n…\\\n", "\n(?:.*\n)*").replace("…", ".*")
    if not any(re.fullmatch(pattern, text) for text in printed):
        raise RuntimeError(f"the page says\n{output}and this is printed\n{stdout}{stderr}")


def run_block(block: Block, folder: Path, *, silent: bool) -> None:
    """Runs a block of shell, or makes the file that it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if prepare := block.marks.get("prepare"):
        run(f"ROOT='{ROOT}'; source \"$ROOT/tools/ci/prepare.sh\"; {prepare}", folder)
    if name := block.marks.get("file"):
        run(f"cat > {name} << 'end of the file'\n{block.text}end of the file\nchmod +x {name}", folder)
    elif block.language == "console":
        for command, output in COMMAND.findall(block.text):
            run(command, folder, output)
    else:
        run(block.text, folder, block.output, silent=silent)


def main(step: str = "", work: str = "", *names: str) -> int:
    """Runs what is asked for, and says whether all of it does what the pages say."""
    every, path, failed = step in ("", "all"), os.environ["PATH"], False
    wanted, kinds = THIS if every else f"the step {step}", Counter[tuple[str, str]]()
    for page in map(Path, names) if names else pages():
        folder = Path(work, page.with_suffix("") if every else "").resolve()
        if every:
            os.environ |= {"HOME": str(folder), "PATH": f"{folder}/bin:{path}"}
        try:
            for block in blocks_of(page):
                runner = runner_of(block, page)
                kinds[runner, block.language + (" with its output" if block.output != "…" else "")] += 1
                if every and runner in ("nobody", "not run"):
                    print(f"{block.place}: {runner}: {block.marks.get('not run', 'no reason is given')}")
                if step and runner == wanted:
                    run_block(block, folder, silent=every)
        except RuntimeError as fault:
            failed = True
            print(f"{block.place}: {fault}")
    if every:
        print(*(f"{count:4} {language}: {runner}" for (runner, language), count in sorted(kinds.items())), sep="\n")
    runners = {runner for runner, _ in kinds}
    return int(failed or wanted not in runners or (every and "nobody" in runners))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""The programs in the pages do what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from .conftest import needs

#: A block with a reason why it is not run, or with the name of a file, is one of tools/blocks.py's.
BLOCK = re.compile(r"^(<!-- (?:not run|file): .*-->\n)?```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = Path(__file__).parent.parent
PROGRAMS = {
    program: f"{page.stem}-{number}"
    # Those beside this package are pages of docs, too.
    for folder in (PYTHON, PYTHON.parent, PYTHON.parent / "docs")
    for page in sorted(folder.glob("*.md"))
    for number, (excused, program) in enumerate(BLOCK.findall(page.read_text("utf-8")))
    # test_spark.py has a Spark for its one.
    if not excused and "import spark" not in program
}
#: A library that a program imports, or has its module of nearprint import.
LIBRARY = re.compile(
    r"^(?:from|import) (?:nearprint\.)?(PIL|da\w+|duckdb|pandas|polars|pyarrow|sklearn)\b", re.MULTILINE
)
#: What a line says that it prints, behind it or in the lines after it.
SAID = re.compile(r"(?:^|  )# ([\[{].*)$", re.MULTILINE)
COMMENT = re.compile(r"# (.*)$", re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=PROGRAMS.values())
def test_programs_print_what_they_say(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in set(LIBRARY.findall(program)):
        if library == "datasets":
            pytest.importorskip(library, reason="Hugging Face has no wheel for every Python")
        needs(library)
    monkeypatch.chdir(tmp_path)
    for name in ("simhash", "datasketch"):
        monkeypatch.setitem(sys.modules, name, None)
    exec(compile(program, "a program of a page", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    for said in SAID.findall(program):
        assert said in printed
    assert set(printed) <= set(COMMENT.findall(program)), "the page says all that is printed"

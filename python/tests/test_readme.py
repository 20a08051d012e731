"""The programs in the pages do what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from .conftest import needs

PAGES = [Path(__file__).parent.parent / name for name in ("README.md", "FRAMES.md")]
PROGRAMS = [
    program for page in PAGES for program in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
]
#: A library that a program imports, or has its module of nearprint import.
LIBRARY = re.compile(
    r"^(?:from|import) (?:nearprint\.)?(PIL|da\w+|duckdb|pandas|polars|pyarrow|sklearn)\b", re.MULTILINE
)
#: What a line says that it prints, behind it or in the lines after it.
SAID = re.compile(r"(?:^|  )# ([\[{].*)$", re.MULTILINE)
COMMENT = re.compile(r"# (.*)$", re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
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

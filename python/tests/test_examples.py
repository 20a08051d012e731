"""The programs among the examples find what one list has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_programs_find_all_pairs(program: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "20000 pairs; of one list 20000"


def test_there_is_an_example_of_each() -> None:
    assert [program.stem for program in PROGRAMS] == ["pairs_with_multiprocessing"]

"""The program that comes with the package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nearprint


def run(*arguments: str, program: tuple[str, ...] = (sys.executable, "-m", "nearprint")) -> tuple[int, str, str]:
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_the_program_is_that_of_the_command_line(tmp_path: Path) -> None:
    assert run("--version") == (0, f"nearprint {nearprint.__version__}\n", "")
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "one two three four"}\n{"text": "one, two, three, four!"}\n')
    unique = tmp_path / "unique.jsonl"
    code, _, summary = run("dedup", str(texts), "-o", str(unique))
    assert code == 0 and summary.startswith("2 records read: 1 kept, 1 duplicate (1 copy, 0 near)")
    assert unique.read_text().count("\n") == 1
    code, _, message = run("query", str(tmp_path / "none.np"), "0x1")
    assert code == 1 and "no database there" in message
    code, _, message = run("compare", "--nonsense")
    assert code == 2 and "--nonsense" in message


def test_installed_programs_run() -> None:
    installed = Path(sys.executable).parent / "nearprint"
    if installed.exists():
        assert run("--version", program=(str(installed),))[0] == 0


def test_signals_end_the_program(tmp_path: Path) -> None:
    database = str(tmp_path / "corpus.np")
    command = [sys.executable, "-m", "nearprint", "build", database, "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        staging = tmp_path / "corpus.np.building"
        for _ in range(200):
            if staging.exists():
                break
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGINT)
        # At the end of its input the build would be complete.
        assert child.wait(timeout=30) == 130
        assert child.stderr is not None and "interrupted" in child.stderr.read()
    assert not staging.exists()

"""The program ``nearprint``, which comes with the package."""

from __future__ import annotations

import sys

from ._nearprint import run_command


def main() -> int:
    """Runs the program with the arguments of this process, and returns its exit code."""
    return run_command(["nearprint", *sys.argv[1:]])

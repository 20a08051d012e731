"""Temporary folders that go with an object."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


def folder_of(owner: object, prefix: str) -> str:
    """A new temporary folder. It goes with the object, in the process that made it: not at the end of a child."""
    folder = tempfile.mkdtemp(prefix=prefix)
    weakref.finalize(owner, _remove, folder, os.getpid())
    return folder


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)

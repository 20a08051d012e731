"""What can go wrong."""

from __future__ import annotations


class Error(Exception):
    """The base of what nearprint raises about databases: no database there, a full disk, a closed database."""


class CorruptionError(Error):
    """A file is damaged. ``file``, ``section`` and ``offset`` (in bytes) tell where."""

    def __init__(self, why: str, file: str = "", section: str = "", offset: int = 0) -> None:
        super().__init__(why)
        self.file = file
        self.section = section
        self.offset = offset


class LockedError(Error):
    """Another writer is at work, in this process or another one."""


class InputError(Error, ValueError):
    """What was given cannot be what was asked for; also a ``ValueError``."""

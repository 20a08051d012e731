"""Exceptions."""

from __future__ import annotations

import errno


class Error(Exception):
    """The base of all exceptions about databases: no database, a full disk, a closed database."""


class CorruptionError(Error):
    """A file is damaged, at ``offset`` (in bytes) in ``section`` of ``file``."""

    def __init__(self, why: str, file: str = "", section: str = "", offset: int = 0) -> None:
        super().__init__(why)
        self.file = file
        self.section = section
        self.offset = offset


class LockedError(Error):
    """Another writer has the database open, in this process or another one."""


class ForkError(Error):
    """The child of a fork has used what its parent had opened; nothing was changed."""


class InputError(Error, ValueError):
    """An argument is invalid, or does not fit the database; also a ``ValueError``."""


class ExistsError(Error, FileExistsError):
    """The path of a new database exists already; also a ``FileExistsError``."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.errno = errno.EEXIST


class NotFoundError(Error, FileNotFoundError):
    """There is no database or file at a path; also a ``FileNotFoundError``."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.errno = errno.ENOENT

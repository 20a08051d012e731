"""A second folder that is kept as a database is."""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple, Optional

from . import _nearprint
from ._progress import Progress, listening


class Update(NamedTuple):
    """What an update of a :class:`Follower` has brought: the bytes that were copied, and whether the folder changed."""

    bytes: int
    changed: bool


class Follower:
    """A folder that follows a database. :meth:`Database.follow` makes one.

    It locks the folder until it is closed, and not the database. Readers open the folder as any database; a writer
    refuses it, until somebody removes its file ``FOLLOWER``.
    """

    def __init__(self, core: _nearprint.Follower) -> None:
        self._core = core

    def update(self, *, progress: Progress = None) -> Update:
        """Brings the folder up to what is committed, and costs a copy of that.

        Raises :class:`CorruptionError` for damage in the database; the folder keeps what it has. Raises
        :class:`Error` if the database is another one by now, or an earlier state of this one.
        """
        with listening(progress) as listener:
            return Update(*self._core.update(listener))

    def close(self) -> None:
        """Releases the lock of the folder. A second call does nothing."""
        self._core.close()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

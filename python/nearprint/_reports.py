"""Reports on databases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Explanation:
    """The query plan for ``k``: how each run is searched, and at what cost. Prints as text."""

    k: int
    text: str
    #: One dict for each run, the oldest first.
    runs: list[dict[str, Any]]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Damage:
    """Damage in a file: where (``offset`` in bytes), and the expected and the found content."""

    file: str
    section: str
    offset: int
    expected: str
    found: str


@dataclass(frozen=True)
class Verification:
    """The result of a check of every byte."""

    files: int
    bytes: int
    damage: list[Damage]

    @property
    def sound(self) -> bool:
        """Whether no file is damaged."""
        return not self.damage


@dataclass(frozen=True)
class Ingested:
    """The numbers of ingested runs, of skipped runs, and of rows of the ingested runs."""

    adopted: int
    skipped: int
    rows: int


@dataclass(frozen=True)
class Finding:
    """A finding of a repair: ``what`` describes the state of a ``file`` of the damaged database.

    ``kind`` is ``damaged``, ``recovered`` (restored from other files), ``lost`` (not in the new
    database), or ``note``.
    """

    kind: str
    file: str
    what: str


@dataclass(frozen=True)
class Salvage:
    """The result of a repair."""

    #: Whether there is a new database. There is none if no row could be saved.
    made: bool
    #: Whether the new database has everything that the old one had, and no deleted rows. A damaged
    #: last commit of the log is the exception: it cannot be distinguished from an interrupted one.
    complete: bool
    rows: int
    lost_rows: int
    #: Distinct fingerprints that were lost from all tables.
    lost_fingerprints: int
    #: Distinct fingerprints that were restored from other tables.
    recovered: int
    findings: list[Finding]

"""What databases tell of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Explanation:
    """How queries at ``k`` are answered, at what cost, and why. Prints as text."""

    k: int
    text: str
    #: One dict for each run, the oldest first.
    runs: list[dict[str, Any]]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Damage:
    """Where a file is damaged (``offset`` in bytes), what should stand there, and what does."""

    file: str
    section: str
    offset: int
    expected: str
    found: str


@dataclass(frozen=True)
class Verification:
    """What a check of every byte has found."""

    files: int
    bytes: int
    damage: list[Damage]

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damage


@dataclass(frozen=True)
class Ingested:
    """Runs that were adopted, runs that had been before, and rows of those adopted."""

    adopted: int
    skipped: int
    rows: int


@dataclass(frozen=True)
class Finding:
    """One thing that a repair has met with: ``what`` is the matter with a ``file`` of the damaged database.

    ``kind`` is ``damaged``, ``recovered`` (put together from other files), ``lost`` (not in the new database), or
    ``note``.
    """

    kind: str
    file: str
    what: str


@dataclass(frozen=True)
class Salvage:
    """What a repair has saved."""

    #: Whether there is a new database. There is none where damage has left not a single row.
    made: bool
    #: Whether it has everything that the old one had, and nothing that was deleted; but for the last commit of the
    #: log, where it is damaged: nobody can tell it from one that was cut off.
    complete: bool
    rows: int
    lost_rows: int
    #: Distinct fingerprints that are in no table any more.
    lost_fingerprints: int
    #: Distinct fingerprints that were put back from other tables.
    recovered: int
    findings: list[Finding]

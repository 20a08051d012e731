"""Reports on databases."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from ._result import Result
from ._shown import html_report, html_text


@dataclass(frozen=True)
class Explanation:
    """The query plan for ``k``: how each run is searched, and at what cost. Prints as text."""

    k: int
    text: str
    #: One dict for each run, the oldest first.
    runs: list[dict[str, Any]]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return html_text(self.text)


class LeftOut(NamedTuple):
    """A document that a job left out, because it was near a kept one."""

    #: The key of the kept document. ``None`` if it is not stored any more.
    kept: Optional[str]
    #: Its id.
    kept_id: int
    #: The similarity of the two, from 0 to 1, with four decimals.
    similarity: float
    #: The number of the job, as ``nearprint jobs`` lists it. ``None`` for documents that were decided one by one.
    job: Optional[int]


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


class IfNew(NamedTuple):
    """What became of rows that were inserted only where they are new.

    ``inserted`` says so for each row; ``ids`` are the ids of the rows, or of the rows that they met. ``met`` has the
    columns of :meth:`Database.query_batch`: for each row that was not inserted, the nearest stored one.
    """

    inserted: npt.NDArray[np.bool_]
    ids: npt.NDArray[np.uint64]
    met: Result


@dataclass(frozen=True)
class IngestReport:
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
class RepairReport:
    """The result of a repair."""

    #: Whether there is a new database. There is none if no row could be saved.
    made: bool
    #: Whether the new database has everything that the old one had, and no deleted rows. A damaged
    #: last commit of the log is the exception: it cannot be distinguished from an interrupted one.
    complete: bool
    rows: int
    lost_rows: int
    #: Fingerprints of lost rows whose ids alone are lost.
    without_id: int
    #: Distinct fingerprints that were lost from all tables.
    lost_fingerprints: int
    #: Distinct fingerprints that were restored from other tables.
    recovered: int
    findings: list[Finding]
    #: The fingerprints of lost rows whose ids alone are lost, if they were asked for.
    fingerprints: Optional[npt.NDArray[np.uint64]] = field(default=None, compare=False)


@dataclass(frozen=True)
class UnitCounts:
    """What became of the paragraphs, lines or passages of records."""

    #: Units with enough words; of passages, words.
    compared: int
    #: Units that were removed, ``within`` included.
    removed: int
    #: The texts of all documents, in bytes of UTF-8.
    text_bytes: int
    #: The texts of removed units, and what else is in hollow documents that are left out, in bytes of UTF-8.
    removed_bytes: int
    #: Removed units that repeat a part of their own document.
    within: int
    #: Documents that earlier ones leave less than ``min_left`` of.
    hollow: int
    #: Documents that lost units, by the share of their text that is left: below 0.2, below 0.4, …, from 0.8 on.
    by_left: tuple[int, ...]


def _several(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Deduplication:
    """What became of records. ``read`` is the sum of ``kept``, ``duplicates``, ``skipped`` and ``rejected``."""

    read: int
    kept: int
    #: Records that were left out because of a kept one, the sum of ``copies`` and ``near``.
    duplicates: int
    #: Duplicates with the same words in the same order, markup included, whatever the bytes of files; ``None`` where a
    #: database keeps nothing of texts. Of a job that trims, paragraphs and lines.
    copies: Optional[int]
    #: The other duplicates; ``None`` where copies are not known, and of a job that trims.
    near: Optional[int]
    #: Kept records that have duplicates; ``None`` if an interrupted run had found some, and of a job that trims.
    groups: Optional[int]
    #: Records that were not compared, with too few words or features, or without a text; ``skipped_files`` has files.
    skipped: int
    #: Malformed records.
    rejected: int
    #: Near-duplicates by their similarity to the kept document: below 0.1, below 0.2, ..., from 0.9 to 1.
    by_similarity: list[int]
    #: Documents that were kept although a fingerprint is near, because their texts do not confirm it.
    unconfirmed: int
    #: Documents without a token, except those with too few. Nothing is near them.
    empty: int
    #: Documents with tokens, but without a feature of the recipe: only copies of them are found.
    featureless: int
    #: Records with invalid UTF-8, or with an escape of half a character: other characters stand for these.
    invalid_utf8: int
    #: Files that were not compared, by the reason, such as ``{"pdf": 2, "empty": 1}``.
    skipped_files: dict[str, int]
    #: Texts that are not UTF-8, by their encodings.
    encodings: dict[str, int]
    #: What was found out about the files, such as what separates the fields of a table: a sentence each.
    notes: list[str]
    #: The keys of kept documents with the most near-duplicates, at most five, and the sizes of these groups.
    largest: list[tuple[str, int]]
    #: Documents that an interrupted run had done before.
    resumed_after: int
    #: When an earlier job with the same inputs was finished whose output this one would replace, in UTC: nothing was
    #: done, and the numbers are from that job. ``None`` if this job has been done.
    completed: Optional[datetime]

    def __str__(self) -> str:
        verdict = f"{_several(self.read, 'record')} read: {self.kept} kept, {_several(self.duplicates, 'duplicate')}"
        if self.duplicates and self.near is not None:
            verdict += f" ({'1 copy' if self.copies == 1 else f'{self.copies} copies'}, {self.near} near)"
        if self.duplicates and self.groups is not None:
            verdict += f" in {_several(self.groups, 'group')}"
        others = {"skipped": self.skipped, "rejected": self.rejected}
        lines = [verdict + "".join(f", {count} {name}" for name, count in others.items() if count)]
        if self.largest:
            lines.append("largest groups: " + ", ".join(f"{size} near {name!r}" for name, size in self.largest))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_report(asdict(self))

    @property
    def already_complete(self) -> bool:
        """Whether nothing was done, because an earlier job was finished."""
        return self.completed is not None


@dataclass(frozen=True)
class Trimming(Deduplication):
    """What became of records, and of their paragraphs, lines or passages.

    ``duplicates`` are the records that were left out: nothing of them was left, or less than ``min_left``. ``copies``,
    ``by_similarity``, ``unconfirmed`` and ``featureless`` count paragraphs and lines. ``largest`` has the beginnings of
    those that recur most, and how often each occurs.
    """

    units: UnitCounts

    @property
    def shortened(self) -> int:
        """The kept records that lost something."""
        return sum(self.units.by_left)

    def __str__(self) -> str:
        lines = [f"{self.read} records read: {self.kept} kept, {self.shortened} of them shortened"]
        others = {"left out": self.duplicates, "rejected": self.rejected, "removed": self.units.removed}
        lines += [f"{name}: {count}" for name, count in others.items() if count]
        if self.largest:
            lines.append("most frequent: " + ", ".join(f"{times} times {name!r}" for name, times in self.largest))
        return "\n".join(lines)

"""Deduplication of files, by the job of ``nearprint dedup``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, Literal, Optional, Union

from . import _nearprint
from ._arrays import check_threads, path_of
from ._database import Path
from ._errors import InputError
from ._progress import Progress, listening
from ._reports import Deduplication, UnitCounts
from ._settings import check_count, check_similarity
from ._sources import Missing, check_missing


def dedup_files(
    inputs: Union[Path, Sequence[Path]],
    output: Path,
    *,
    database: Optional[Path] = None,
    against: Union[Path, Sequence[Path]] = (),
    within: bool = False,
    duplicates: Optional[Path] = None,
    duplicates_header: bool = False,
    rejects: Optional[Path] = None,
    exclude: Iterable[str] = (),
    ext: Iterable[str] = (),
    no_ignore: bool = False,
    null: bool = False,
    text_field: str = "text",
    missing: Missing = "raise",
    key_field: Optional[str] = None,
    input_format: Optional[str] = None,
    encoding: Optional[str] = None,
    cut_after: Optional[str] = None,
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[float] = None,
    confirm: Optional[str] = None,
    evidence: Optional[Literal["features", "texts", "none"]] = None,
    keep: Optional[str] = None,
    shards: Optional[int] = None,
    unit: Optional[Literal["paragraph", "line", "passage"]] = None,
    min_words: Optional[int] = None,
    min_repeats: int = 2,
    min_left: float = 0.0,
    keep_hollow: bool = False,
    min_tokens: Optional[int] = None,
    min_features: int = 0,
    annotate: bool = False,
    cluster_size: bool = False,
    add_fingerprint: Optional[str] = None,
    keep_fields: Optional[Iterable[str]] = None,
    old_id: Optional[str] = None,
    cleaned: Optional[str] = None,
    report: Optional[Path] = None,
    dry_run: bool = False,
    restart: bool = False,
    again: bool = False,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    progress: Progress = None,
) -> Deduplication:
    """Writes the documents of files that are not near an earlier kept one, as ``nearprint dedup`` does.

    Every argument is the option of the command with the same name: ``inputs`` are files and folders of JSON lines, CSV,
    TSV, Parquet or plain texts, compressed or not, and kept documents are written to ``output`` unchanged, in their
    order. Of folders, the same files are read as by the command: ``exclude`` are patterns of files to leave out,
    ``ext`` the only extensions, and ``null`` ends paths in lists with a zero byte. With ``annotate``, all are written,
    with fields ``duplicate_of``, ``cluster``, ``similarity`` and ``exact``. With ``cluster_size``, each has the number
    of documents of its cluster. This takes a second pass, and excludes ``database`` and ``unit``. ``keep`` is as in
    the command, such as ``longest`` or ``newest:FIELD``; ``confirm`` is ``jaccard:X``, ``contained:X`` or
    ``edit:X``. With a ``database``, documents are compared with documents of earlier jobs, too. Call an interrupted
    job again to resume it. ``against`` are databases, files and folders that are only read: what is near one of their
    documents is left out. The inputs are then compared with each other only with ``within`` or a ``database``.
    ``recipe`` defaults to the recipe of the database, or ``minhash``.

    With MinHash, documents are near-duplicates if they share at least ``similarity`` (0.7) of their three-word
    shingles, exactly: fingerprints find candidates, and sets of shingles decide, which a database stores with each key.
    With ``evidence="none"`` or ``k``, fingerprints decide, which estimate the similarity; with ``"texts"``, a new
    database stores texts.

    With ``unit``, paragraphs (lines between blank ones) or lines are compared instead of whole documents, and
    documents are written without those that were there before. The recipe is then ``exact``, unless ``recipe``,
    ``similarity`` or ``k`` is given, and units with fewer than ``min_tokens`` words stay where they are; that is 5 for
    units, and 0 for documents, which are set aside. Units are removed from the document with the number
    ``min_repeats`` on that has them. A document is left out, or with ``keep_hollow`` written whole, if earlier ones
    leave less than the share ``min_left`` of its text. ``unit`` excludes ``annotate``, ``add_fingerprint`` and another
    ``keep`` than ``first``. With ``unit="passage"``, runs of ``min_words`` (50) or more words go that an earlier
    document has, wherever they begin and end.

    With ``shards``, ``output`` is a folder of that many files; a folder, or a name that ends in ``/``, has a file for
    each input.

    A text without features, which are the shingles or keywords that the recipe compares, is a duplicate only of a text
    with the same words, and nothing is a duplicate of a text without words. Documents with fewer than ``min_features``
    are set aside, too.

    Each file tells its encoding by a byte order mark, valid UTF-8, what HTML and XML declare, or else a guess;
    ``encoding``, such as ``"windows-1251"``, is that of all. Files that are no text, such as PDF, are left out and
    counted. ``InputError`` is raised if that leaves nothing.

    Records of JSON lines and Parquet whose text is null, or in JSON not there, are malformed. With ``missing="keep"``
    they are written as documents that nothing is near, and with ``"drop"`` they are set aside.

    ``keep_fields`` are the only fields that are written. ``old_id``, ``cleaned`` and ``add_fingerprint`` are the names
    of fields that are added: the key, the text as the recipe cleans it, and the fingerprint. ``report`` is the file for
    a page for a browser: totals, and the groups in ``duplicates``, which it needs.

    A file has its name only when it is complete; until then it is ``NAME.partial`` beside it. A job that would replace
    the output of an earlier one with the same inputs in ``database`` changes nothing, and ``completed`` is the time
    of that job. ``restart`` forgets what that job has kept; ``again`` runs this one anyway.

    Memory does not grow with the number of documents. Raises ``InputError`` for invalid arguments and for malformed
    records without ``rejects``; otherwise as databases do.
    """
    if isinstance(inputs, (str, bytes, os.PathLike)):
        inputs = [inputs]
    if isinstance(against, (str, bytes, os.PathLike)):
        against = [against]
    check_missing(missing)
    description = _description(
        [path_of(path) for path in inputs],
        path_of(output),
        database=_optional(database),
        against=[path_of(path) for path in against],
        within=within,
        duplicates=_optional(duplicates),
        rejects=_optional(rejects),
        recipe=recipe,
        k=k,
        similarity=similarity,
        confirm=confirm,
        evidence=evidence,
        keep=keep,
        shards=shards,
        unit=unit,
        min_words=min_words,
        min_repeats=check_count(min_repeats, "min_repeats", 2),
        min_left=_check_share(min_left),
        keep_hollow=keep_hollow,
        exclude=_patterns("exclude", exclude),
        ext=_patterns("ext", ext),
        no_ignore=no_ignore,
        null=null,
        text_field=text_field,
        missing=missing,
        key_field=key_field,
        input_format=input_format,
        encoding=encoding,
        cut_after=cut_after,
        min_tokens=min_tokens,
        min_features=min_features,
        add_fingerprint=add_fingerprint,
        keep_fields=_names(keep_fields),
        old_id=old_id,
        cleaned=cleaned,
        report=_optional(report),
        annotate=annotate,
        cluster_size=cluster_size,
        duplicates_header=duplicates_header,
        dry_run=dry_run,
        restart=restart,
        again=again,
        threads=threads,
        memory=memory,
    )
    with listening(progress) as listener:
        found = _nearprint.dedup_files(description, listener)
    units, completed = found.pop("units"), found.pop("completed")
    return Deduplication(
        **found,
        units=UnitCounts(*[*units[0], tuple(units[1])]),
        completed=None if completed is None else datetime.fromtimestamp(completed, timezone.utc),
    )


def _check_share(share: float) -> float:
    if not 0 <= share <= 1:
        raise InputError(f"min_left = {share}: a number from 0 to 1 is wanted")
    return float(share)


def _description(inputs: list[str], output: str, **options: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = dict.fromkeys(
        (
            "database",
            "duplicates",
            "rejects",
            "recipe",
            "k",
            "similarity",
            "confirm",
            "evidence",
            "key_field",
            "input_format",
            "encoding",
        )
    )
    defaults |= dict.fromkeys(
        ("cut_after", "unit", "add_fingerprint", "old_id", "cleaned", "report", "shards", "min_words")
    )
    defaults |= {"keep_fields": [], "exclude": [], "ext": [], "against": [], "threads": None, "memory": None}
    defaults |= dict.fromkeys(("annotate", "cluster_size", "duplicates_header", "dry_run", "restart", "again"), False)
    defaults |= dict.fromkeys(("no_ignore", "null", "within", "keep_hollow"), False)
    defaults |= {"min_repeats": 2, "min_left": 0.0}
    description = {**defaults, "text_field": "text", "missing": "raise", **options, "inputs": inputs, "output": output}
    counts = (("k", 0), ("min_tokens", 0), ("min_features", 0), ("memory", 1), ("shards", 1), ("min_words", 2))
    for name, least in counts:
        if description[name] is not None:
            description[name] = check_count(description[name], name, least)
    if description["threads"] is not None:
        check_threads(description["threads"])
    if description["similarity"] is not None:
        description["similarity"] = check_similarity(description["similarity"])
    return description


def _patterns(name: str, patterns: Iterable[str]) -> list[str]:
    if isinstance(patterns, (str, bytes)):
        raise TypeError(f"{name}: one text, where a list of texts is wanted")
    return list(patterns)


def _names(fields: Optional[Iterable[str]]) -> list[str]:
    """The names of fields, none for all of them."""
    if fields is None:
        return []
    if isinstance(fields, (str, bytes)):
        raise TypeError("keep_fields: one text, where a list of names is wanted")
    names = list(fields)
    if not names:
        raise InputError("keep_fields: at least one name is wanted")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"keep_fields: {type(name).__name__}, where a name is wanted")
    return names


def _optional(path: Optional[Path]) -> Optional[str]:
    return None if path is None else path_of(path)

"""Deduplication of files, by the jobs of ``nearprint dedup`` and ``nearprint trim``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, Literal, Optional, Union

from . import _nearprint
from ._arrays import check_threads, path_of
from ._database import Path
from ._errors import InputError
from ._progress import Progress, listening
from ._reports import Deduplication, Trimming, UnitCounts
from ._settings import Duration, Similarity, check_count, check_seconds, seconds_of
from ._sources import Missing, check_missing


def dedup_files(
    inputs: Union[Path, Sequence[Path]],
    output: Path,
    *,
    database: Optional[Path] = None,
    expire_after: Optional[Duration] = None,
    remember: Optional[Literal["hashes", "keys"]] = None,
    against: Union[Path, Sequence[Path]] = (),
    only_against: bool = False,
    duplicates: Optional[Path] = None,
    rejects: Optional[Path] = None,
    exclude: Iterable[str] = (),
    ext: Iterable[str] = (),
    no_ignore: bool = False,
    null: bool = False,
    text: str = "text",
    missing: Missing = "error",
    key: Optional[str] = None,
    input_format: Optional[str] = None,
    encoding: Optional[str] = None,
    delimiter: Optional[str] = None,
    pre: Optional[Path] = None,
    pre_glob: Iterable[str] = (),
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    store: Optional[Literal["features", "texts", "hashes", "keys"]] = None,
    keep: Optional[str] = None,
    shards: Optional[int] = None,
    min_words: Optional[int] = None,
    min_features: int = 0,
    annotate: bool = False,
    group_size: bool = False,
    add: Iterable[str] = (),
    fields: Optional[Iterable[str]] = None,
    nested: Optional[Literal["json"]] = None,
    report: Optional[Path] = None,
    dry_run: bool = False,
    restart: bool = False,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    wait: float = 0.0,
    progress: Progress = None,
) -> Deduplication:
    """Writes the documents of files that are not near an earlier kept one, as ``nearprint dedup`` does.

    Every argument is the option of the command with the same name; ``text`` and ``key`` are ``--text-field`` and
    ``--key-field``, the fields with the text and with the key. ``inputs`` are files and folders of JSON lines, CSV,
    TSV, Parquet or plain texts, compressed or not, and kept documents are written to ``output`` unchanged, in their
    order, or as rows of another format, if its name ends so: ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet``. Of plain
    texts, ``output`` is the list of the paths to keep, one on each line. A file of this name is replaced. Arrays and
    objects in columns are errors, or with ``nested="json"`` their JSON. Of folders, the same files are read as by the
    command: ``exclude`` are patterns of files to leave out, ``no_ignore`` reads licences, lock files and what
    ``.gitignore`` names, ``ext`` the only extensions, and ``null`` ends paths in lists with a zero byte. With
    ``annotate``, all are written, with fields ``duplicate_of``, ``group``, ``similarity`` and ``copy``. Similarities in
    files have four decimals, where :func:`dedup` returns all of them. With ``group_size``, each has the number of
    documents of its group. This takes a second pass, and excludes ``database``. ``keep`` is as in the command, such as
    ``longest`` or ``newest:FIELD``; by default the first record, but of plain texts the file with the most words,
    ``best``. With a ``database``, documents are compared with documents of earlier jobs, too. Call an interrupted job
    again to resume it. ``wait`` is how many seconds another writer of it may take to end. ``expire_after`` is how long
    a new database remembers documents. With ``remember``, it also remembers which kept document each one that is left
    out is near: by hashes of keys, or by keys, for ``nearprint query --left-out``. ``against`` are databases, files and
    folders that are only read: what is near one of their documents is left out. With ``only_against``, the inputs are
    not compared with each other. ``recipe`` defaults to the recipe of the database, or ``minhash``.

    With MinHash, documents are near-duplicates if they share at least ``similarity`` (0.7) of their three-word
    shingles, exactly: fingerprints find candidates, and sets of shingles decide, which a database stores with each key.
    ``similarity="contained:S"`` is the share of the new text's own shingles in the kept one, and ``"edit:S"`` the share
    of equal characters, of the words of texts as the recipe cleans them: case and signs between words count for
    nothing. Both compare texts whose fingerprints are near. So they miss most excerpts of much longer texts, and texts
    with changed characters in many words; ``recipe="minhash near=0.3"`` finds more, at more cost. With
    ``store="hashes"`` or ``k``, fingerprints decide, which estimate the similarity; with ``"texts"``, a new database
    stores texts.

    With ``shards``, ``output`` is a folder of that many files; a folder, or a name that ends in ``/``, has a file for
    each input.

    A text without features, which are the shingles or keywords that the recipe compares, is a duplicate only of a text
    with the same words, and nothing is a duplicate of a text without words, but HTML of its copies byte for byte.
    Documents with fewer than ``min_features`` are set aside, too.

    Each file tells its encoding by a byte order mark, valid UTF-8, what HTML and XML declare, or else a guess;
    ``encoding``, such as ``"windows-1251"``, is that of all. Files that are no text, such as PDF, are left out and
    counted. ``InputError`` is raised if that leaves nothing. ``delimiter`` is what separates the fields of CSV and TSV,
    a character, or ``"comma"``, ``"tab"``, ``"semicolon"`` or ``"bar"``; by default, the header tells.
    ``pre`` is a program that writes the text of a file, such as
    a script that calls ``pdftotext``; it gets the files that match ``pre_glob``.

    Records of JSON lines and Parquet whose text is null, or in JSON not there, are malformed. With ``missing="keep"``
    they are written as documents that nothing is near, and with ``"skip"`` they are set aside.

    ``fields`` are the only fields that are written; a record of JSON lines may lack some of them. ``add`` has fields
    that are added: ``fingerprint=FIELD``, ``key=FIELD`` and ``text=FIELD``, the text as the recipe cleans it.
    ``duplicates`` is the file for a line per duplicate. Its column ``copy`` is true for files with the same bytes, and
    for records with the same words in the same order; ``copies`` of the result counts by words, files, too.
    ``report`` is the file for a page for a browser: totals and groups.

    A file has its name only when it is complete; until then it is ``NAME.partial`` beside it. An earlier job
    with the same inputs, output and ``database`` is not run again, and ``completed`` is its time; another output
    is an ``InputError``. ``restart`` forgets what that job has kept, and runs again.

    Memory does not grow with the number of documents. Raises ``InputError`` for invalid arguments and for malformed
    records without ``rejects``; otherwise as databases do.
    """
    return Deduplication(**_run(False, dict(locals())))


def trim_files(
    inputs: Union[Path, Sequence[Path]],
    output: Path,
    *,
    by: Literal["paragraph", "line", "passage"] = "paragraph",
    length: Optional[int] = None,
    from_: int = 2,
    min_left: float = 0.0,
    keep_hollow: bool = False,
    removed: Optional[Path] = None,
    database: Optional[Path] = None,
    expire_after: Optional[Duration] = None,
    rejects: Optional[Path] = None,
    exclude: Iterable[str] = (),
    ext: Iterable[str] = (),
    no_ignore: bool = False,
    text: str = "text",
    missing: Missing = "error",
    key: Optional[str] = None,
    input_format: Optional[str] = None,
    encoding: Optional[str] = None,
    delimiter: Optional[str] = None,
    pre: Optional[Path] = None,
    pre_glob: Iterable[str] = (),
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    store: Optional[Literal["features", "texts", "hashes", "keys"]] = None,
    min_features: int = 0,
    shards: Optional[int] = None,
    add: Iterable[str] = (),
    fields: Optional[Iterable[str]] = None,
    nested: Optional[Literal["json"]] = None,
    report: Optional[Path] = None,
    dry_run: bool = False,
    restart: bool = False,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    wait: float = 0.0,
    progress: Progress = None,
) -> Trimming:
    """Writes the records of files without the pieces of text that an earlier record has, as ``nearprint trim`` does.

    Pieces are paragraphs (lines between blank ones) or lines that have the same words, or with ``by="passage"`` runs
    of words, wherever they begin and end. Those of fewer than ``length`` words stay where they are: 5, and for
    passages 50. A paragraph or line is removed from the record with the number ``from_`` on that has it; with 2, also
    from a record that has it already, which the counts call ``within``. A record is left out, or with ``keep_hollow``
    written whole, if earlier ones leave less than the share ``min_left`` of its text. One that loses everything is not
    written. ``removed`` is a TSV file with a line about each piece: ``key``, ``number``, ``first_seen_in`` and
    ``first_number``.

    With a ``similarity``, ``k`` or a ``recipe``, similar paragraphs and lines are removed, too. A ``database``
    remembers pieces for later jobs. It is for pieces of one kind, and not for :func:`dedup_files`.

    Inputs have records with fields. Other arguments are those of :func:`dedup_files`.

    Raises ``InputError`` for invalid arguments and for malformed records without ``rejects``; otherwise as databases
    do.
    """
    given = dict(locals())
    given["from"] = given.pop("from_")
    found = _run(True, given)
    counts, by_left = found.pop("units")
    return Trimming(**found, units=UnitCounts(*[*counts, tuple(by_left)]))


def _run(trims: bool, given: dict[str, Any]) -> dict[str, Any]:
    """Runs a job with these arguments."""
    for name in ("database", "duplicates", "removed", "rejects", "pre", "report"):
        if given.get(name) is not None:
            given[name] = path_of(given[name])
    inputs, output = _paths(given.pop("inputs")), path_of(given.pop("output"))
    page, listens = given.pop("report"), given.pop("progress")
    if not trims:
        given["against"] = _paths(given["against"])
    for name in ("exclude", "ext", "pre_glob", "add"):
        given[name] = _patterns(name, given[name])
    given["fields"] = _names(given["fields"])
    given["text_field"], given["key_field"] = given.pop("text"), given.pop("key")
    check_missing(given["missing"])
    lifetime = seconds_of(given["expire_after"], "expire_after")
    given["expire_after"] = None if lifetime is None else f"{round(1000 * lifetime)}ms"
    if given["threads"] is not None:
        check_threads(given["threads"])
    if given["memory"] is not None:
        check_count(given["memory"], "memory", 1)
    given["wait"] = check_seconds(given["wait"], "wait")
    with listening(listens) as listener:
        found = _nearprint.run_files(trims, inputs, output, given, page, listener)
    completed = found["completed"]
    found["completed"] = None if completed is None else datetime.fromtimestamp(completed, timezone.utc)
    return found


def _paths(paths: Any) -> list[str]:
    """The paths of one or several."""
    are_several = isinstance(paths, Iterable) and not isinstance(paths, (str, bytes))
    return [path_of(path) for path in (paths if are_several else [paths])]


def _patterns(name: str, patterns: Iterable[str]) -> list[str]:
    if isinstance(patterns, (str, bytes)):
        raise TypeError(f"{name}: one text, where a list of texts is wanted")
    return list(patterns)


def _names(fields: Optional[Iterable[str]]) -> Optional[list[str]]:
    """The names of fields, ``None`` for all of them."""
    if fields is None:
        return None
    if isinstance(fields, (str, bytes)):
        raise TypeError("fields: one text, where a list of names is wanted")
    names = list(fields)
    if not names:
        raise InputError("fields: at least one name is wanted")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"fields: {type(name).__name__}, where a name is wanted")
    return names

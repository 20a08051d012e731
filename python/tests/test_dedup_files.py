"""``dedup_files`` and ``trim_files`` do what ``nearprint dedup`` and ``trim`` do with the same options."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as parquet
import pytest

import nearprint

FOOTER = "All rights reserved by the owner of this page and by nobody else."
BODIES = [
    "The <b>first</b> article has this text.",
    "The second one is\nabout something else.",
    "The first article has this text.",
    "And a last article in the end.",
]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Pages with a menu, one of the bodies, and the footer."""
    path = tmp_path / "pages.jsonl"
    texts = [f"Home News\n\n{body}\n\n{FOOTER.upper() if body is BODIES[1] else FOOTER}" for body in BODIES]
    texts[2] = texts[2].replace("Home News\n\n", "")
    rows = [{"url": f"/{at}", "text": text, "site": at % 2} for at, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def flags_of(options: dict[str, Any]) -> list[str]:
    """Options as the command has them."""
    flags = []
    for name, value in options.items():
        name = f"{name}_field" if name in ("text", "key") else name
        flags.append("--" + name.rstrip("_").replace("_", "-"))
        if value is not True:
            flags.append(",".join(value) if isinstance(value, list) else str(value))
    return flags


def job_of(options: dict[str, Any]) -> tuple[str, Any, str]:
    """The command for options, the function, and the option of the file that lists what goes."""
    if "by" in options:
        return "trim", nearprint.trim_files, "removed"
    return "dedup", nearprint.dedup_files, "duplicates"


@pytest.mark.parametrize(
    "options",
    [
        {"by": "paragraph"},
        {"by": "paragraph", "length": 0},
        {"by": "paragraph", "similarity": 0.5},
        {"by": "line", "length": 3, "recipe": "simhash", "similarity": "contained:0.9"},
        {"by": "line", "from_": 3, "min_left": 0.2},
        {"by": "line", "min_left": 0.5, "keep_hollow": True},
        {"by": "line", "fields": ["url", "text"], "add": ["text=clean"]},
        {"fields": ["site"], "add": ["key=was", "text=text", "fingerprint=print"]},
        {"fields": ["url", "none"], "keep": "longest", "annotate": True},
        {"similarity": 0.3},
    ],
    ids=str,
)
def test_files_are_those_of_the_command(pages: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    command, run, listed = job_of(options)
    names = ("output", listed, "report")
    ours, theirs = ({name: tmp_path / f"{who}.{name}" for name in names} for who in ("ours", "theirs"))
    paths: dict[str, Any] = {**ours}
    done = run(pages, key="url", **paths, **options)
    flags = flags_of({**theirs, "key": "url", **options})
    program = [sys.executable, "-m", "nearprint", command, str(pages), *flags, "--verbose"]
    summary = subprocess.run(program, capture_output=True, text=True, check=True).stderr
    for name in names:
        assert ours[name].read_bytes() == theirs[name].read_bytes(), name
    if isinstance(done, nearprint.Trimming):
        assert summary.startswith(f"{done.read} records read: {done.kept} kept, {done.shortened} of them")
        assert f"{done.units.removed} of {done.units.compared} {options['by']}s removed, " in summary
        assert all(f'{times} times: "{name[:60]}"' in summary for name, times in done.largest[:1])
    else:
        assert summary.startswith(str(done).splitlines()[0] + "\n")
        assert all(f'{size} near "{name[:60]}"' in summary for name, size in done.largest)


@pytest.mark.parametrize("options", [{"shards": 2}, {}, {"shards": 3, "by": "passage", "length": 4}], ids=str)
def test_folders_of_outputs_are_those_of_the_command(pages: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    command, run, _ = job_of(options)
    done = run(pages, f"{tmp_path}/ours/", key="url", **options)
    flags = flags_of({"output": f"{tmp_path}/theirs/", "key": "url", **options})
    subprocess.run([sys.executable, "-m", "nearprint", command, str(pages), *flags], check=True)
    ours, theirs = (sorted((tmp_path / who).iterdir()) for who in ("ours", "theirs"))
    assert [path.name for path in ours] == [path.name for path in theirs]
    assert len(ours) == options.get("shards", 1)
    assert [path.read_bytes() for path in ours] == [path.read_bytes() for path in theirs]
    assert sum(len(path.read_bytes().splitlines()) for path in ours) == done.kept
    if isinstance(done, nearprint.Trimming):
        assert done.units.removed > 0


def test_passages_have_options_of_their_own(pages: Path, tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{"length": 1}, {"similarity": 0.5}, {"min_features": 1}]
    for options in wrong:
        with pytest.raises(nearprint.InputError, match=next(iter(options))):
            nearprint.trim_files(pages, tmp_path / "out.jsonl", by="passage", **options)
    with pytest.raises(nearprint.InputError, match="shards"):
        nearprint.dedup_files(pages, tmp_path / "out", shards=0)


def test_regression_a_database_to_compare_with_has_the_recipe(pages: Path, tmp_path: Path) -> None:
    reference = tmp_path / "ref.np"
    first = nearprint.dedup_files(pages, tmp_path / "first.jsonl", database=reference, recipe="simhash")
    done = nearprint.dedup_files(pages, tmp_path / "later.jsonl", against=reference)
    assert first.kept > 0 and (done.read, done.kept) == (len(BODIES), 0)
    with pytest.raises(nearprint.InputError, match="the recipe makes 256"):
        nearprint.dedup_files(pages, tmp_path / "other.jsonl", against=reference, recipe="minhash")


def test_units_are_counted(pages: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    done = nearprint.trim_files(pages, output, key="url", recipe="exact clean=html,nfc,lower")
    texts = [json.loads(line)["text"] for line in pages.read_text().splitlines()]
    removed_bytes = len(BODIES[2]) + 3 * len(FOOTER)
    assert done.units == nearprint.UnitCounts(8, 4, sum(map(len, texts)), removed_bytes, 0, 0, done.units.by_left)
    assert done.shortened == sum(done.units.by_left) == 2
    assert str(done).startswith("4 records read: 3 kept, 2 of them shortened\nleft out: 1\nremoved: 4\n")
    # Three footers; a body with other markup is near, and not a copy.
    assert (done.read, done.kept, done.duplicates, done.copies) == (4, 3, 1, 3)
    assert sum(done.by_similarity) == 4
    assert done.largest == [(FOOTER.upper(), 4), (BODIES[2], 2)]
    kept = [json.loads(line)["text"] for line in output.read_text().splitlines()]
    assert kept == [texts[0], f"Home News\n\n{BODIES[1]}", f"Home News\n\n{BODIES[3]}"]


def test_units_are_remembered_and_finished_jobs_reported(pages: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "database": tmp_path / "seen.np",
        "by": "line",
        "key": "url",
        "removed": tmp_path / "removed",
    }
    first = nearprint.trim_files(pages, tmp_path / "out", **options, report=tmp_path / "first.html")
    again = nearprint.trim_files(pages, tmp_path / "out", **options, report=tmp_path / "again.html")
    assert again.already_complete and again.units == first.units and again.largest == []
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "again.html").read_bytes()
    with nearprint.open(tmp_path / "seen.np") as database:
        assert database.recipe == nearprint.recipe_line("exact")
    options["removed"] = None
    with pytest.raises(nearprint.InputError, match="already run on"):
        nearprint.trim_files(pages, tmp_path / "later", **options)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(pages.read_bytes())
    later = nearprint.trim_files([copy], tmp_path / "later", **options)
    assert later.units.compared == later.units.removed == first.units.compared
    with pytest.raises(nearprint.InputError, match="remembers lines, which are compared only with lines"):
        nearprint.dedup_files(pages, tmp_path / "other", database=tmp_path / "seen.np")


def test_regression_outputs_of_before_stay_until_there_are_new_ones(pages: Path, tmp_path: Path) -> None:
    output, database = tmp_path / "out.jsonl", tmp_path / "seen.np"
    first = nearprint.dedup_files(pages, output, database=database)
    before = output.read_bytes()
    assert first.completed is None and not first.already_complete and len(before.splitlines()) == first.kept
    for wrong in ({"text": "typo"}, {"key": "typo"}, {"keep": "max:typo", "text": "typo"}):
        for where in (None, tmp_path / "other.np"):
            with pytest.raises(nearprint.InputError, match="typo"):
                nearprint.dedup_files(pages, output, database=where, **wrong)  # type: ignore[arg-type]
            assert output.read_bytes() == before

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    more = tmp_path / "more.jsonl"
    more.write_bytes(pages.read_bytes() * 20_000)
    with pytest.raises(KeyboardInterrupt):
        nearprint.dedup_files(more, output, progress=interrupt)
    assert output.read_bytes() == before and not output.with_name("out.jsonl.partial").exists()

    again = nearprint.dedup_files(pages, output, database=database, annotate=True)
    assert again.completed is not None and again.completed.tzinfo is not None and again.kept == first.kept
    assert output.read_bytes() == before
    assert nearprint.dedup_files(pages, output, database=database, restart=True).kept == first.kept
    assert output.read_bytes() == before
    with pytest.raises(nearprint.InputError, match="already run on"):
        nearprint.dedup_files(pages, tmp_path / "other.jsonl", database=database)
    assert output.read_bytes() == before and not (tmp_path / "other.jsonl").exists()


def test_wrong_combinations_are_refused(pages: Path, tmp_path: Path) -> None:
    def refused(why: str, kind: type[Exception] = ValueError, **options: Any) -> None:
        with pytest.raises(kind, match=why):
            job_of(options)[1](pages, tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()

    refused("not paragraph, line or passage", by="word")
    refused("unexpected keyword argument 'keep'", TypeError, by="line", keep="longest")
    refused("add fingerprint: is for whole documents", by="line", add=["fingerprint=f"])
    refused("plain text has no fields", by="line", input_format="text")
    refused("length", by="line", length=-1)
    refused("at least one name", fields=[])
    refused("one text, where a list of names", TypeError, fields="url,text")
    refused("int, where a name", TypeError, fields=["url", 3])
    duplicates = tmp_path / "duplicates"
    refused("is also an input", report=pages, duplicates=duplicates)
    refused("are the same file", report=duplicates, duplicates=duplicates)
    against = tmp_path / "against.jsonl"
    against.write_bytes(pages.read_bytes())
    refused("is also an input", report=against, against=[against])
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "text.txt").write_text("some words", "utf-8")
    refused("is a file of the scanned folder", report=folder / "text.txt", against=[folder])


@pytest.mark.parametrize("options", [{}, {"duplicates": "-"}, {"dry_run": True}])
def test_a_page_needs_no_file_of_duplicates(pages: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    listed, alone = tmp_path / "listed.html", tmp_path / "alone.html"
    nearprint.dedup_files(pages, tmp_path / "out", key="url", duplicates=tmp_path / "duplicates", report=listed)
    nearprint.dedup_files(pages, tmp_path / "other", key="url", report=alone, **options)
    assert alone.read_bytes() == listed.read_bytes()


def test_regression_a_home_in_the_path_of_a_database_was_a_folder(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages.jsonl").write_text('{"text": "one two three"}\n')
    nearprint.dedup_files(
        "~/pages.jsonl", "~/unique.jsonl", database="~/seen.np", duplicates="~/left.tsv", report="~/p.html"
    )
    names = ["left.tsv", "p.html", "pages.jsonl", "seen.np", "unique.jsonl"]
    assert sorted(one.name for one in tmp_path.iterdir()) == names


@pytest.mark.parametrize("missing", ["keep", "skip"])
def test_missing_texts_are_those_of_tables(tmp_path: Path, missing: Literal["keep", "skip"]) -> None:
    texts = ["one two three four five", None, "six seven eight nine ten", None, "one two three four five"]
    pages = tmp_path / "pages.jsonl"
    pages.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with pytest.raises(nearprint.InputError, match=r"pages\.jsonl:2"):
        nearprint.dedup_files(pages, tmp_path / "out.jsonl")
    done = nearprint.dedup_files(pages, tmp_path / "out.jsonl", missing=missing)
    kept = nearprint.dedup(texts, missing=missing)["kept"]
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [text for text, keep in zip(texts, kept) if keep]
    assert (done.read, done.duplicates, done.kept) == (5, 1, 4 if missing == "keep" else 2)
    for call in (nearprint.dedup_files, nearprint.trim_files):
        with pytest.raises(nearprint.InputError, match=r"null, and not a string; missing='keep' or missing='skip' acc"):
            call(pages, tmp_path / "none.jsonl")
    with pytest.raises(nearprint.InputError, match="missing = 'mask': 'error', 'keep' or 'skip'"):
        nearprint.dedup_files(pages, tmp_path / "out.jsonl", missing="mask")  # type: ignore[arg-type]


def test_regression_messages_name_arguments_of_python(pages: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    with pytest.raises(nearprint.InputError, match="output and duplicates are the same file"):
        nearprint.dedup_files(pages, output, duplicates=output)
    nearprint.create(tmp_path / "plain.np", recipe="minhash").close()
    with pytest.raises(nearprint.InputError, match="stores no keys; keys=True makes"):
        nearprint.dedup_files(pages, output, database=tmp_path / "plain.np")


def test_folders_have_the_files_that_the_command_sees(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "out").mkdir(parents=True)
    text = " ".join(map(str, range(60)))
    for number, name in enumerate(["a.md", "b.txt", "line\nfeed.md", "out/c.md", "LICENSE"]):
        (folder / name).write_text(f"{text} {number * 1000} " * (1 + number))
    output = tmp_path / "kept"

    def kept(**options: Any) -> list[str]:
        nearprint.dedup_files(folder, output, null=True, similarity=1.0, **options)
        return [name.decode().removeprefix(f"{folder}/") for name in output.read_bytes().split(b"\0")[:-1]]

    assert kept() == ["a.md", "b.txt", "line\nfeed.md", "out/c.md"]
    assert kept(ext=["md"], exclude=["/out"]) == ["a.md", "line\nfeed.md"]
    assert kept(no_ignore=True)[0] == "LICENSE"
    with pytest.raises(TypeError, match="ext: one text"):
        kept(ext="md")


def test_regression_texts_are_decoded_and_what_is_no_text_is_left_out(tmp_path: Path) -> None:
    text = "Le garçon était fatigué après la fête, mais le café a été fermé à l'été"
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "a.txt").write_text(text, encoding="utf-8")
    (inputs / "b.txt").write_bytes(text.encode("utf-16"))
    (inputs / "c.txt").write_bytes(text.encode("latin-1"))
    (inputs / "d.pdf").write_bytes(b"%PDF-1.4\n" + text.encode())
    report = nearprint.dedup_files(inputs, tmp_path / "kept.txt")
    assert (report.read, report.kept, report.skipped, report.skipped_files) == (4, 1, 1, {"pdf": 1})
    assert report.encodings["UTF-16LE"] == 1
    report = nearprint.dedup_files(inputs / "c.txt", tmp_path / "other.txt", encoding="latin-1")
    assert report.encodings == {"windows-1252": 1}
    with pytest.raises(nearprint.InputError, match="the inputs have nothing to compare: 1 pdf"):
        nearprint.dedup_files(inputs / "d.pdf", tmp_path / "none.txt")
    with pytest.raises(nearprint.InputError, match='encoding: "none"'):
        nearprint.dedup_files(inputs / "c.txt", tmp_path / "none.txt", encoding="none")


def test_the_name_of_the_output_decides_its_format(tmp_path: Path) -> None:
    rows = [
        {"id": 2**63 + at, "text": f'number {at}, "quoted"\nand {at} more', "share": at / 3, "odd": None}
        for at in range(50)
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = nearprint.dedup_files(path, tmp_path / "out.parquet", recipe="exact")
    assert report.notes == ["columns by the first 50 records: id, text, share, odd"]
    table = parquet.read_table(tmp_path / "out.parquet")
    assert [str(column.type) for column in table.schema] == ["uint64", "string", "double", "string"]
    assert table.to_pylist() == rows

    nearprint.dedup_files(tmp_path / "out.parquet", tmp_path / "out.csv", recipe="exact")
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    texts = [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]
    assert cells == texts
    bars = tmp_path / "bars.csv"
    with bars.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="|")
        writer.writeheader()
        writer.writerows(rows)
    for delimiter in (None, "|", "bar"):
        nearprint.dedup_files(bars, tmp_path / "back.jsonl", recipe="exact", delimiter=delimiter)
        assert [json.loads(line) for line in (tmp_path / "back.jsonl").read_text().splitlines()] == texts
    with pytest.raises(nearprint.InputError, match='delimiter: "t"'):
        nearprint.dedup_files(bars, tmp_path / "back.jsonl", delimiter="t")

    path.write_text('{"text": "one", "tags": ["a", 1]}\n')
    with pytest.raises(nearprint.InputError, match='field "tags" is an array; nested="json"'):
        nearprint.dedup_files(path, tmp_path / "nested.csv")
    nearprint.dedup_files(path, tmp_path / "nested.csv", nested="json")
    assert (tmp_path / "nested.csv").read_text() == 'text,tags\none,"[""a"", 1]"\n'


@pytest.mark.parametrize("remember", ["hashes", "keys"])
def test_a_database_remembers_what_was_left_out(tmp_path: Path, remember: Literal["hashes", "keys"]) -> None:
    pages = tmp_path / "pages.jsonl"
    texts = {
        "first": "one two three four five",
        "again": "one, two, three, four, five",
        "other": "six seven eight nine",
    }
    pages.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items()))
    seen = tmp_path / "seen.np"
    nearprint.dedup_files(pages, tmp_path / "out.jsonl", database=seen, key="id", remember=remember)
    with nearprint.open(seen) as database:
        found = database.left_out("again")
        assert found == nearprint.LeftOut("first", int(database.ids_of_key("first")[0]), 1.0, 1)
        assert database.left_out("first") is None
        assert database.left_out("unknown") is None
    with pytest.raises(nearprint.Error, match="remembers"):
        other: Literal["hashes", "keys"] = "keys" if remember == "hashes" else "hashes"
        nearprint.dedup_files(pages, tmp_path / "more.jsonl", database=seen, key="id", remember=other)

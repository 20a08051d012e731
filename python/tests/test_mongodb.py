"""Collections without their near-duplicates, against brute force, with mongomock and with jobs that are killed."""

from __future__ import annotations

import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import Any, Callable, Optional
from urllib.parse import quote

import pytest

import nearprint
from nearprint._html import text_of_html
from nearprint._identifiers import Place, from_json, key_of, to_json
from nearprint.mongodb import Counts, dedup_collection

from .conftest import distance
from .file_collection import FileCollection

mongomock: Any = pytest.importorskip("mongomock")

HTML = "simhash clean=html,nfc,lower"
CUTTING = "simhash clean=cut:收录：,nfc,lower"
CHINESE = [
    "<html><body><h1>北京天气</h1><p>今天北京天气晴朗,气温适宜,很多市民来到公园散步,享受温暖的阳光。</p></body></html>",
    "<div>今天北京天气晴朗,气温适宜,很多市民来到公园散步,享受温暖的阳光。<br>北京天气</div><script>var a = 1</script>",
    "<p>中国科学家宣布成功研制新型量子计算机,运算速度比传统计算机快一亿倍。</p>",
    "<p>足球世界杯决赛昨晚举行,数万名球迷在体育场观看比赛,最终主队获得冠军。</p>",
]


def pages(count: int, seed: int = 1) -> list[str]:
    """HTML pages; half are earlier ones with another markup and perhaps another word."""
    source = random.Random(seed)
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(500)]
    texts: list[list[str]] = []
    for index in range(count):
        text = list(source.choice(texts)) if index % 2 else source.choices(words, k=120)
        if index % 4 == 1:
            text[source.randrange(120)] = source.choice(words)
        texts.append(text)
    return [f"<p class='{index % 3}'>{' '.join(text)}</p>" for index, text in enumerate(texts)]


def first_ones(texts: list[str], k: int = 2, recipe: str = HTML) -> list[int]:
    """The places of the texts that have nothing within k bits among those kept before."""
    prints = nearprint.fingerprint(texts, recipe).tolist()
    kept: list[int] = []
    for index, value in enumerate(prints):
        if all(distance(value, prints[other]) > k for other in kept):
            kept.append(index)
    return kept


def collection(texts: list[Any], field: str = "page") -> Any:
    """A collection with the ids 0, 1, 2, ..."""
    made = mongomock.MongoClient().crawl.pages
    if texts:
        made.insert_many([{"_id": index, field: text, "other": index} for index, text in enumerate(texts)])
    return made


def empty() -> Any:
    return mongomock.MongoClient().crawl.unique


def documents_of(target: Any) -> list[dict[str, Any]]:
    return list(target.find({}).sort("_id", 1))


def ids_of(target: Any) -> list[Any]:
    return [document["_id"] for document in documents_of(target)]


class Listed:
    """The least that a source can be."""

    def __init__(self, documents: list[dict[str, Any]]) -> None:
        self.documents = documents

    def find(self, *_: Any) -> list[dict[str, Any]]:
        return self.documents


class Broken(Exception):
    """What ends a job in these tests."""


class Breaking:
    """A target that breaks in one of its calls, before or behind the writing."""

    def __init__(self, target: Any, call: int, behind: bool) -> None:
        self.target, self.call, self.behind = target, call, behind
        self.full_name = target.full_name

    def find(self, *arguments: Any) -> Any:
        return self.target.find(*arguments)

    def insert_many(self, documents: list[Any], ordered: bool) -> None:
        self.call -= 1
        if self.call == 0 and not self.behind:
            raise Broken
        self.target.insert_many(documents, ordered=ordered)
        if self.call == 0:
            raise Broken


@pytest.mark.parametrize("k", [0, 3, 8])
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_the_first_of_each_family_is_kept(path: Path, k: int, batch_size: int) -> None:
    texts = pages(120)
    target = empty()
    counts = dedup_collection(collection(texts), target, "page", database=path, k=k, batch_size=batch_size)
    kept = first_ones(texts, k)
    assert 50 <= len(kept) < 100
    assert ids_of(target) == kept
    assert counts == Counts(read=120, kept=len(kept), duplicates=120 - len(kept))
    with nearprint.open(path) as database:
        assert len(database) == len(kept)
        assert database.recipe == nearprint.recipe_line(HTML)
        assert (database.k, database.checkpoint) == (k, None)


def test_names_and_values_of_fields(path: Path) -> None:
    source, target = collection(["<p>One &amp; two</p><p>three</p>"]), empty()
    names: dict[str, Any] = {"target_field": "body", "id_field": "old", "hash_field": "print"}
    dedup_collection(source, target, "page", database=path, **names)
    value = int(nearprint.fingerprint(["<p>One &amp; two</p><p>three</p>"], HTML)[0])
    assert documents_of(target) == [{"_id": 0, "old": 0, "body": "One & two\nthree", "print": str(value)}]


def test_markup_stays_where_it_is_not_cleaned(path: Path) -> None:
    text = "<p>One two three four</p>"
    target = empty()
    dedup_collection(collection([text]), target, "page", database=path, clean_html=False, id_field="_id")
    value = int(nearprint.fingerprint([text], "simhash clean=nfc,lower")[0])
    assert documents_of(target) == [{"_id": 0, "text": text, "simhash": str(value)}]


def test_texts_are_cut_at_the_marker(path: Path) -> None:
    texts = [
        "<p>one two three four five</p><p>收录：alpha beta gamma</p>",
        "<p>one two three four five</p><p>收<b>录：</b>delta epsilon zeta</p>",
        "<p>one two three four five</p> &#25910;录：eta theta iota",
        "<p>one two three four five</p>",
        "six seven eight 收录：收录： kappa",
    ]
    target = empty()
    counts = dedup_collection(collection(texts), target, "page", database=path, recipe=CUTTING)
    assert counts == Counts(read=5, kept=2, duplicates=3)
    prints = nearprint.fingerprint([texts[3], "six seven eight "], HTML).tolist()
    assert [(document["text"].rstrip(), document["simhash"]) for document in documents_of(target)] == [
        ("one two three four five", str(prints[0])),
        ("six seven eight", str(prints[1])),
    ]
    assert dedup_collection(collection(texts), empty(), "page", recipe="simhash").kept > 2


def test_the_marker_may_be_divided_by_markup(path: Path) -> None:
    text = "<p>one two three</p><p>收<b>录：</b>delta</p>"
    target = empty()
    dedup_collection(collection([text]), target, "page", database=path, recipe=CUTTING)
    assert documents_of(target)[0]["text"].rstrip() == "one two three"
    assert documents_of(target)[0]["simhash"] == str(nearprint.fingerprint(["one two three"], "simhash")[0])
    target = empty()
    dedup_collection(collection([text]), target, "page", recipe=CUTTING, clean_html=False)
    assert documents_of(target)[0]["text"] == text, "markup is text where it is not cleaned"


def test_the_marker_belongs_to_the_database(path: Path) -> None:
    dedup_collection(collection(["one two three 收录：four"]), empty(), "page", database=path, recipe=CUTTING)
    target = empty()
    texts = ["one two three 收录：four", "one two three 收录：five", "six seven eight 收录：nine"]
    counts = dedup_collection(collection(texts), target, "page", database=path)
    assert counts == Counts(read=3, kept=1, duplicates=1, known=1)
    assert documents_of(target)[0]["text"].rstrip() == "six seven eight"
    with pytest.raises(nearprint.InputError, match="holds fingerprints of the recipe 'clean=cut:收录：,html,nfc,lower"):
        dedup_collection(collection(texts), empty(), "page", database=path, recipe="simhash")


def test_a_marker_may_have_any_characters(path: Path) -> None:
    marker = "100% by,\n= the Editor"
    text = f"one two three {marker} four"
    target = empty()
    recipe = f"simhash clean=cut:{quote(marker)},nfc,lower"
    dedup_collection(collection([text]), target, "page", database=path, recipe=recipe, clean_html=False)
    assert documents_of(target)[0]["text"] == "one two three "


def test_wide_fingerprints(path: Path) -> None:
    texts = pages(60)
    target = empty()
    dedup_collection(collection(texts), target, "page", database=path, recipe="simhash width=128", k=9, batch_size=13)
    rows = nearprint.fingerprint(texts, f"{HTML} width=128").tolist()
    numbers = [low | high << 64 for low, high in rows]
    kept: list[int] = []
    for index, value in enumerate(numbers):
        if all(distance(value, numbers[other]) > 9 for other in kept):
            kept.append(index)
    assert [(document["_id"], document["simhash"]) for document in documents_of(target)] == [
        (index, f"0x{numbers[index]:032x}") for index in kept
    ]


def test_chinese_pages_have_the_chinese_recipe(path: Path) -> None:
    target = empty()
    counts = dedup_collection(collection(CHINESE), target, "page", database=path, batch_size=2)
    assert ids_of(target) == first_ones(CHINESE, 2, "chinese") == [0, 2, 3]
    assert counts == Counts(read=4, kept=3, duplicates=1)
    assert documents_of(target)[0]["text"].startswith("北京天气\n今天北京")
    with nearprint.open(path) as database:
        assert database.recipe == nearprint.recipe_line("chinese")


@pytest.mark.parametrize(
    "text", ["ひらがなとカタカナと漢字の文章です", "Mostly English with 中文 inside", "123 !?", ""]
)
def test_other_pages_do_not(path: Path, text: str) -> None:
    dedup_collection(collection([text]), empty(), "page", database=path)
    with nearprint.open(path) as database:
        assert database.recipe == nearprint.recipe_line(HTML)


def test_dots_reach_into_documents(path: Path) -> None:
    source = mongomock.MongoClient().crawl.pages
    source.insert_many([{"_id": 1, "a": {"b": "some text here"}}, {"_id": 2, "a": "b"}, {"_id": 3, "a": {"b": 4}}])
    told: list[Any] = []
    target = empty()
    counts = dedup_collection(source, target, "a.b", database=path, on_reject=lambda *what: told.append(what))
    assert counts == Counts(read=3, kept=1, rejected=2)
    assert told == [(2, "it has no field 'a.b'"), (3, "'a.b' is int, not text")]
    assert ids_of(target) == [1]


def test_what_is_no_text_is_told(path: Path) -> None:
    texts = ["one two three", None, 7, ["x"], b"bytes", "four five six", "\ud800"]
    source = Listed([{"_id": index, "page": text} for index, text in enumerate(texts)] + [{"_id": 50}])
    told: list[Any] = []
    counts = dedup_collection(
        source, empty(), "page", database=path, batch_size=2, on_reject=lambda *what: told.append(what)
    )
    assert counts == Counts(read=8, kept=2, rejected=6)
    assert [reason for _, reason in told] == [
        "'page' is NoneType, not text",
        "'page' is int, not text",
        "'page' is list, not text",
        "'page' is bytes, not text",
        "'page' is not valid Unicode",
        "it has no field 'page'",
    ]
    assert [identifier for identifier, _ in told] == [1, 2, 3, 4, 6, 50]


def test_rejects_are_warned_of_once(path: Path) -> None:
    with pytest.warns(UserWarning, match="^2 documents were rejected, the first 0: 'page' is int, not text$") as caught:
        dedup_collection(collection([1, 2, "three"]), empty(), "page", database=path)
    assert len(caught) == 1


def test_ids_that_are_none(path: Path) -> None:
    told: list[Any] = []
    source = Listed([{"page": "a b c"}, {"_id": "x" * 70_000, "page": "d"}, {"_id": object(), "page": "e"}])
    counts = dedup_collection(source, empty(), "page", database=path, on_reject=lambda _, reason: told.append(reason))
    assert counts == Counts(read=3, rejected=3)
    assert told == ["it has no _id", "its _id takes more than 65,536 bytes", "its _id is object, which cannot be a key"]
    assert not path.exists()


def test_an_empty_collection(path: Path) -> None:
    assert dedup_collection(collection([]), empty(), "page", database=path) == Counts()
    assert not path.exists()


def test_the_next_job_knows_what_is_kept(path: Path) -> None:
    texts = pages(60)
    source, target = collection(texts[:40]), empty()
    first = dedup_collection(source, target, "page", database=path)
    source.insert_many([{"_id": index, "page": texts[index]} for index in range(40, 60)])
    second = dedup_collection(source, target, "page", database=path, batch_size=9)
    kept = first_ones(texts)
    assert ids_of(target) == kept
    assert second == Counts(60, len(kept) - first.kept, 60 - len(kept), first.kept)


def test_without_a_database_nothing_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    texts = pages(40)
    source, target = collection(texts), empty()
    first = dedup_collection(source, target, "page", batch_size=7)
    assert first.kept == len(first_ones(texts)) == target.count_documents({})
    assert dedup_collection(source, empty(), "page") == first
    assert list(tmp_path.iterdir()) == []


def test_a_second_collection_is_checked_against_the_first(path: Path) -> None:
    texts = pages(40)
    dedup_collection(collection(texts[::2]), empty(), "page", database=path)
    other, target = mongomock.MongoClient().crawl.other, empty()
    other.insert_many([{"_id": f"page {index}", "page": text} for index, text in enumerate(texts)])
    dedup_collection(other, target, "page", database=path)
    prints = nearprint.fingerprint(texts, HTML).tolist()
    kept = first_ones(texts[::2])
    before = [prints[::2][index] for index in kept]
    for value in prints:
        if all(distance(value, there) > 2 for there in before):
            before.append(value)
    assert target.count_documents({}) == len(before) - len(kept)


def test_another_text_under_a_known_id_is_told(path: Path) -> None:
    source, target = collection(["one two three four five"]), empty()
    dedup_collection(source, target, "page", database=path)
    source.replace_one({"_id": 0}, {"page": "something else altogether now"})
    with pytest.warns(UserWarning, match="another text was kept under this _id before"):
        counts = dedup_collection(source, target, "page", database=path)
    assert counts == Counts(read=1, rejected=1)
    assert documents_of(target)[0]["text"] == "one two three four five"


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("batch_size", [10, 33])
def test_a_broken_job_goes_on(path: Path, behind: bool, call: int, batch_size: int) -> None:
    texts: list[Any] = list(pages(100))
    texts[17] = None
    source, target = collection(texts), empty()
    kept = first_ones([text or "" for text in texts[:17] + texts[18:]])
    expected = [index + (index >= 17) for index in kept]
    told: list[Any] = []
    with pytest.raises(Broken):
        dedup_collection(source, Breaking(target, call, behind), "page", database=path, batch_size=25, on_reject=print)
    progress: list[Any] = []
    counts = dedup_collection(
        source,
        target,
        "page",
        database=path,
        batch_size=batch_size,
        on_reject=lambda *what: told.append(what),
        progress=lambda *what: progress.append(what),
    )
    assert ids_of(target) == expected
    assert counts == Counts(read=100, kept=len(expected), duplicates=99 - len(expected), rejected=1)
    assert len(told) == (call == 1)
    assert progress[0] == ("deduplicating", min(100, 25 * (call - 1) + batch_size), 100)
    assert progress[-1] == ("deduplicating", 100, 100)


@pytest.mark.parametrize(
    "near",
    [
        {"recipe": "minhash", "similarity": 0.8},
        {"recipe": "minhash near=0.8", "similarity": 0.8, "clean_html": False},
        {"recipe": "minhash", "similarity": 0.65},
        {"recipe": "minhash", "similarity": "contained:0.8"},
        {"recipe": "simhash", "similarity": "edit:0.8", "k": 10},
    ],
    ids=str,
)
def test_regression_a_broken_job_with_a_recipe_and_a_similarity_goes_on(path: Path, near: dict[str, Any]) -> None:
    source, target = collection(pages(40)), empty()
    with pytest.raises(Broken):
        dedup_collection(source, Breaking(target, 2, True), "page", database=path, batch_size=10, **near)
    counts = dedup_collection(source, target, "page", database=path, batch_size=10, **near)
    assert counts.read == 40 and counts.kept == len(ids_of(target))
    assert dedup_collection(source, target, "page", database=path, **near).known == counts.kept
    with pytest.raises(nearprint.InputError, match="holds fingerprints of the recipe"):
        dedup_collection(source, target, "page", database=path, **{**near, "recipe": "minhash shingle=5"})


def test_a_reader_that_breaks(path: Path) -> None:
    texts = pages(50)

    def breaking(stage: str, done: int, total: Optional[int]) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    source, target = collection(texts), empty()
    with pytest.raises(KeyboardInterrupt):
        dedup_collection(source, target, "page", database=path, batch_size=10, progress=breaking)
    source.delete_many({"_id": {"$lt": 20}})
    counts = dedup_collection(source, target, "page", database=path, batch_size=10)
    assert counts.read == 50
    assert ids_of(target) == first_ones(texts)


@pytest.mark.parametrize("when", ["killed_before", "killed_behind"])
def test_killed_jobs_lose_and_double_nothing(tmp_path: Path, when: str) -> None:
    texts = pages(90)
    source = FileCollection(tmp_path / "source")
    source.insert_many([{"_id": index, "page": text} for index, text in enumerate(texts)], ordered=False)
    command = [sys.executable, str(Path(__file__).with_name("file_collection.py")), str(tmp_path), when]
    # The same nearprint as here, wherever that is.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for calls in (0, 1, 2):
        assert subprocess.run([*command, str(calls)], env=environment, check=False).returncode == 9
    target = FileCollection(tmp_path / "target")
    counts = dedup_collection(source, target, "page", database=tmp_path / "seen.np", batch_size=20)
    kept = first_ones(texts)
    assert [document["_id"] for document in target.all()] == kept
    assert counts == Counts(read=90, kept=len(kept), duplicates=90 - len(kept))


def test_ids_of_several_kinds_go_on_where_they_were(path: Path) -> None:
    objectid: Any = pytest.importorskip("bson").ObjectId
    ids: list[Any] = [3, 7.5, 12, "a", "b", "{", {"x": 1}, {"x": 2}, objectid("5" * 24), objectid("6" * 24)]
    texts = pages(40)[::4]
    for stop in range(1, len(ids) + 1):
        source, target = mongomock.MongoClient().crawl.pages, empty()
        source.insert_many([{"_id": identifier, "page": text} for identifier, text in zip(ids, texts)])
        database = path.parent / f"{stop}.np"
        order = [document["_id"] for document in source.find().sort("_id", 1)]
        with pytest.raises(Broken):
            dedup_collection(source, Breaking(target, stop, True), "page", database=database, batch_size=1)
        counts = dedup_collection(source, target, "page", database=database, batch_size=3)
        assert counts == Counts(read=10, kept=10)
        assert ids_of(target) == order


def test_keys_tell_ids_apart() -> None:
    ids = ["5", 5, "a", '"a"', True, "true", None, "null", {"a": 1}, '{"a": 1}', "f" * 24, "NaN", "", "-1", -1, "[]"]
    bson: Any = pytest.importorskip("bson")
    ids += [bson.ObjectId("f" * 24), bson.ObjectId("1" * 24), "1" * 24, uuid.UUID(int=1), datetime.datetime(2020, 1, 1)]
    ids += [b"\1", bson.Int64(2**60), 2**60 + 1]
    keys = [key_of(identifier) for identifier in ids]
    assert len(set(keys)) == len(keys)
    assert key_of("http://a/b") == "http://a/b"
    assert key_of(bson.ObjectId("1" * 24)) == "1" * 24
    for identifier in ids:
        assert from_json(to_json(identifier)) == identifier


def test_plain_ids_need_no_bson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bson", None)
    assert [key_of(identifier) for identifier in ("a", "5", 5)] == ["a", '"5"', "5"]
    assert from_json(to_json({"a": [1]})) == {"a": [1]}
    with pytest.raises(TypeError):
        to_json(object())


def test_places() -> None:
    pytest.importorskip("bson")
    place = Place()
    assert place.condition() == Place.of(place.saved()).condition() == {}
    for identifier in (True, 1, 2.5, b"x", uuid.UUID(int=3), object(), "a"):
        place.reach(identifier)
    again = Place.of(json.loads(json.dumps(place.saved())))
    assert again.condition() == {"$nor": [{"_id": {"$lte": "a"}}]}
    kinds = [again.is_before(identifier) for identifier in (False, 9, b"y", "b", {"a": 1})]
    assert kinds == [True, True, True, False, False]


def broken_once(path: Path) -> tuple[Any, Any]:
    """A database with an unfinished job."""
    source, target = collection(pages(30)), empty()
    with pytest.raises(Broken):
        dedup_collection(source, Breaking(target, 2, False), "page", database=path, batch_size=10)
    return source, target


def test_another_job_has_to_wait(path: Path) -> None:
    source, target = broken_once(path)
    told = r"the unfinished job has k = 2, not 4; finish it first, or give restart=True"
    with pytest.raises(nearprint.Error, match=told):
        dedup_collection(source, target, "page", database=path, k=4)
    other = mongomock.MongoClient().crawl.other
    with pytest.raises(nearprint.Error, match=r"the unfinished job has source = 'crawl.pages', not 'crawl.other'"):
        dedup_collection(other, target, "page", database=path)
    counts = dedup_collection(source, target, "page", database=path, restart=True)
    assert ids_of(target) == first_ones(pages(30))
    assert counts.read == 30
    assert counts.known > 0


@pytest.mark.parametrize("checkpoint", [b"\xff", b"[]", b"{}", b"7"])
def test_a_job_of_another_kind(path: Path, checkpoint: bytes) -> None:
    with nearprint.create(path, recipe=HTML, keys=True) as database:
        database.checkpoint = checkpoint
    with pytest.raises(nearprint.Error, match="an unfinished job of another kind has to be finished first"):
        dedup_collection(collection(["a b c"]), empty(), "page", database=path)
    assert dedup_collection(collection(["a b c"]), empty(), "page", database=path, restart=True).kept == 1


def test_another_document_in_the_target(path: Path) -> None:
    target = empty()
    target.insert_one({"_id": 1, "simhash": "77"})
    source = collection(["one two three four", "five six seven eight"])
    told = "the target has another document with the _id 1, which would be lost"
    with pytest.raises(nearprint.Error, match=told):
        dedup_collection(source, target, "page", database=path)
    target.delete_one({"_id": 1})
    assert dedup_collection(source, target, "page", database=path) == Counts(read=2, kept=2)
    assert ids_of(target) == [0, 1]


@pytest.mark.parametrize(
    "details",
    [
        None,
        {},
        {"writeErrors": [{"code": 11000}, {"code": 121}]},
        {"writeErrors": [{"code": 11000}], "writeConcernErrors": [{}]},
        # A unique index of another field than _id.
        {"writeErrors": [{"code": 11000}]},
    ],
)
def test_other_errors_of_the_target_are_passed_on(path: Path, details: Any) -> None:
    class Refusing(FileCollection):
        def insert_many(self, documents: list[dict[str, Any]], ordered: bool = True) -> None:
            error = Broken()
            error.details = details  # type: ignore[attr-defined]
            raise error

    with pytest.raises(Broken):
        dedup_collection(collection(["a b c"]), Refusing(path.parent / "target"), "page", database=path)
    assert dedup_collection(collection(["a b c"]), empty(), "page", database=path).kept == 1


def job(path: Path, **options: Any) -> Callable[[], Counts]:
    return lambda: dedup_collection(collection(["a b c"]), empty(), **{"field": "page", "database": path, **options})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"field": ""}, nearprint.InputError, "field = '': the name of a field is wanted"),
        ({"field": 3}, TypeError, "field: a str is wanted, not int"),
        ({"target_field": "a.b"}, nearprint.InputError, "target_field = 'a.b': the name of a field is wanted"),
        ({"hash_field": "$a"}, nearprint.InputError, "hash_field = '\\$a': the name of a field is wanted"),
        ({"hash_field": "_id"}, nearprint.InputError, "_id: keeps the _id of the source"),
        ({"id_field": "text"}, nearprint.InputError, "three different names are wanted, not text, text, simhash"),
        ({"batch_size": 0}, nearprint.InputError, "batch_size = 0: at least 1 is wanted"),
        ({"batch_size": 2.5}, TypeError, "batch_size: an int is wanted, not float"),
        ({"k": 65}, nearprint.InputError, "k = 65"),
        ({"k": "3"}, TypeError, "k: an int is wanted, not str"),
        ({"recipe": "simhash clean=cut:,html"}, nearprint.InputError, "cut: needs a text"),
        ({"recipe": "no such"}, nearprint.InputError, '"no" is none of minhash'),
        ({"on_reject": 3}, TypeError, "on_reject: a callable is wanted, not int"),
        ({"progress": 3}, TypeError, "progress: a callable, True or None is wanted, not int"),
    ],
)
def test_arguments(path: Path, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        job(path, **options)()
    assert not path.exists()


def test_databases_of_another_kind(path: Path) -> None:
    kinds: list[tuple[dict[str, Any], str]] = [({"keys": True}, "a recipe"), ({"recipe": HTML}, "keys")]
    for options, lacking in kinds:
        place = path.parent / lacking
        nearprint.create(place, **options).close()
        with pytest.raises(nearprint.InputError, match=f"was made without {lacking}; nearprint.create"):
            job(place)()
    nearprint.create(path, recipe="cjk", keys=True).close()
    with pytest.raises(nearprint.InputError, match=r"holds fingerprints of the recipe '.*', not '"):
        job(path)()
    with pytest.raises(nearprint.InputError, match="holds fingerprints of the recipe"):
        job(path, recipe="simhash", clean_html=False)()
    assert job(path, clean_html=False)().kept == 1
    assert job(path, clean_html=False, recipe="cjk")().known == 1


def test_a_bar_of_tqdm(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    assert job(path, progress=True)().kept == 1
    assert "deduplicating" in capsys.readouterr().err


def test_without_tqdm_there_is_no_bar(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.warns(UserWarning, match="not installed"):
        assert job(path, progress=True)().kept == 1


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("1 < 2 & 3\n  as it is", "1 < 2 & 3\n  as it is"),
        ("<p>a\n b</p><p>c", "a b\nc"),
        ("x<b>y</b>z <i>w</i>", "xyz w"),
        ("a<br/>b<hr>c", "a\nb\nc"),
        ("<style>p {}</style>a<script>'<p>'</script><!-- c -->b", "a\nb"),
        ("<object>a<object>b</object>c</object>d", "d"),
        ("&lt;b&gt; &#20013;&nbsp;&unknown;", "<b> 中 &unknown;"),
        ("a<![if x]>b<![endif]>", "ab"),
        ("<td>1</td><td>2</td>", "1\n2"),
        ("<p", ""),
    ],
)
def test_text_of_html(html: str, text: str) -> None:
    assert text_of_html(html) == text


def test_nothing_is_warned_of_without_reason(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert job(path)().kept == 1


def test_regression_documents_without_features_are_near_only_copies(path: Path) -> None:
    texts = ["red car sale", "blue house rent", "", "red car sale", "", "one text of five words"]
    options: dict[str, Any] = {"database": path, "recipe": "simhash-py", "clean_html": False}
    source, target = collection(texts), empty()
    counts = dedup_collection(source, target, "page", **options)
    assert counts == Counts(read=6, kept=5, duplicates=1) and counts.featureless == 5
    assert ids_of(target) == [0, 1, 2, 4, 5]
    again = dedup_collection(source, target, "page", **options)
    assert again == Counts(read=6, duplicates=1, known=5), "none is rejected, and none kept twice"
    told: list[Any] = []
    aside = dedup_collection(
        source, empty(), "page", recipe="simhash-py", min_features=1, on_reject=lambda *what: told.append(what)
    )
    assert aside == Counts(read=6, kept=1, rejected=5)
    assert told[0] == (0, "its text has too few features")


def test_regression_a_cursor_is_a_source(path: Path) -> None:
    texts = pages(60)
    source, target = collection(texts), empty()
    counts = dedup_collection(source.find({"_id": {"$gte": 10}}).limit(30), target, "page", database=path, batch_size=7)
    kept = [10 + index for index in first_ones(texts[10:40])]
    assert ids_of(target) == kept and counts == Counts(read=30, kept=len(kept), duplicates=30 - len(kept))
    # A query that is run again finds what the database knows; so does a list.
    for again in (source.find({"_id": {"$gte": 10}}).limit(30), [source.find_one({"_id": one}) for one in kept]):
        assert dedup_collection(again, target, "page", database=path).known == len(kept)
    broken = Breaking(empty(), 3, False)
    with pytest.raises(Broken):
        dedup_collection(source.find(), broken, "page", database=path.with_name("b.np"), batch_size=10)
    counts = dedup_collection(source.find(), broken, "page", database=path.with_name("b.np"), batch_size=10)
    assert ids_of(broken.target) == first_ones(texts) and counts.known + counts.kept == len(first_ones(texts))


def test_collections_are_compared_by_exact_similarities(path: Path) -> None:
    texts = ["<p>one two three four five six</p>", "one two three four five six seven", "quite another page of words"]
    for similarity, kept in ((0.7, [0, 2]), (0.9, [0, 1, 2])):
        database = path.with_name(f"{similarity}.np")
        target = empty()
        dedup_collection(collection(texts), target, "page", database=database, similarity=similarity)
        assert ids_of(target) == kept
        with nearprint.open(database) as opened:
            assert opened.stats()["keys"] == "keys and features" and "minhash" in str(opened.recipe)
            assert len(opened.find(texts[0], similarity=0.7)) == len(kept) - 1
    for measure, kept in (("jaccard:0.7", [0, 2]), ("jaccard:0.99", [0, 1, 2])):
        database, target = path.with_name(f"{measure}.np"), empty()
        settings: dict[str, Any] = {"database": database, "recipe": "simhash", "k": 20, "similarity": measure}
        dedup_collection(collection(texts), target, "page", **settings)
        assert ids_of(target) == kept
        with nearprint.open(database) as opened:
            assert opened.keeps_texts
    with pytest.raises(nearprint.InputError, match="only one of them"):
        dedup_collection(collection(texts), empty(), "page", recipe="minhash", k=2, similarity=0.7)

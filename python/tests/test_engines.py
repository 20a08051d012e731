"""Ray and Dask against one machine, in 1, 4 and 16 parts."""

from __future__ import annotations

import importlib
import math
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest

import nearprint
from nearprint import _distributed

from .conftest import GRAPHS, mixed, near_duplicates, needs, numbers_of, rows_of, sliding, variants

PARTS = (1, 4, 16)
#: Makes rows of a frame in some parts, and the functions over them.
Spread = Callable[[pd.DataFrame, int], Any]


@pytest.fixture(scope="module", params=["dask", "ray"])
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Spread, Callable[[Any], pd.DataFrame]]]:
    if request.param == "dask":
        needs("dask")
        import nearprint.dask

        dd: Any = importlib.import_module("dask.dataframe")
        yield nearprint.dask, lambda frame, parts: dd.from_pandas(frame, npartitions=parts), lambda df: df.compute()
        return
    pytest.importorskip("ray", reason="Ray has no wheel for every Python")
    import ray

    import nearprint.ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # The default one starts more processes, which takes longer than the work.
    context.shuffle_strategy = ray.data.context.ShuffleStrategy.SORT_SHUFFLE_PULL_BASED
    yield nearprint.ray, lambda frame, n: ray.data.from_pandas(frame).repartition(n), lambda rows: rows.to_pandas()
    ray.shutdown()


def texts_of(count: int) -> list[Any]:
    source = random.Random(3)
    texts: list[Any] = []
    for index in range(count):
        words = source.choice(texts).split() if index % 2 else [f"word{source.randrange(300)}" for _ in range(60)]
        for _ in range(source.randrange(6) if index % 2 else 0):
            words[source.randrange(60)] = f"word{source.randrange(300)}"
        texts.append(" ".join(words))
    return [*texts, None, ""]


def test_texts_have_the_decisions_of_one_machine(engine: Any) -> None:
    functions, spread, collected = engine
    texts = texts_of(80)
    scores = [at * 7919 % 40 for at in range(len(texts))]
    frame = pd.DataFrame({"id": np.arange(len(texts)), "text": texts, "score": scores})
    for parts, keep in zip(PARTS, (None, "max:score", "longest")):
        expected = nearprint.dedup(frame, keep=keep, missing="keep", similarity=0.6)
        assert 10 < expected["kept"].sum() < 70
        rows = spread(frame, parts)
        found = collected(functions.dedup(rows, keep=keep, annotate=True, similarity=0.6)).sort_values("id")
        of = [-1 if pd.isna(one) else int(one) for one in found["duplicate_of"]]
        assert [one < 0 for one in of] == expected["kept"].tolist()
        assert np.allclose(
            found["similarity"].to_numpy(float, na_value=np.nan), expected["similarity"], atol=1e-4, equal_nan=True
        )
        assert keep is not None or of == expected["duplicate_of"].tolist()
        assert found["group"].tolist() == [at if one < 0 else one for at, one in enumerate(of)]
        sizes = found["group"].value_counts()
        assert found["group_size"].tolist() == [sizes[one] for one in found["group"]]
        kept = collected(functions.dedup(rows, keep=keep, similarity=0.6))
        assert sorted(kept["id"]) == np.flatnonzero(expected["kept"]).tolist()
        assert list(kept.columns) == list(frame.columns)


def test_missing_texts_are_kept_left_out_or_refused(engine: Any) -> None:
    functions, spread, collected = engine
    frame = pd.DataFrame({"id": [1, 2, 3, 4], "text": ["one two three four", None, "one two three four", "five six"]})
    rows = spread(frame, 2)
    assert sorted(collected(functions.dedup(rows))["id"]) == [1, 2, 4]
    assert sorted(collected(functions.dedup(rows, missing="skip"))["id"]) == [1, 4]
    annotated = collected(functions.dedup(rows, missing="skip", annotate=True)).sort_values("id")
    assert annotated["id"].tolist() == [1, 3, 4]
    assert annotated["group"].tolist() == [1, 1, 4]
    with pytest.raises(nearprint.InputError, match="text: some are missing; missing='keep'"):
        functions.dedup(rows, missing="error")
    assert sorted(collected(functions.dedup(spread(frame.dropna(), 2), missing="error"))["id"]) == [1, 4]


class Frames:
    """An engine in this process: rows are a list of frames, one for each task."""

    def map(self, rows: list[Any], make: Any) -> list[Any]:
        return [make(part) for part in rows]

    def place(self, rows: list[Any], make: Any, tasks: int) -> list[Any]:
        whole = self.collect(rows)
        return [make(whole[whole[_distributed.TASK] == task]) for task in range(tasks)]

    def union(self, rows: list[Any], others: list[Any]) -> list[Any]:
        return [*rows, *others]

    def stored(self, rows: list[Any]) -> list[Any]:
        return rows

    def collect(self, rows: list[Any]) -> Any:
        return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("tasks", PARTS)
def test_edges_decide_as_one_machine(name: str, tasks: int) -> None:
    texts, least = GRAPHS[name]
    expected = nearprint.dedup(texts, missing="keep")["duplicate_of"]
    assert (expected >= 0).sum() >= least
    frame = pd.DataFrame({"id": np.arange(len(texts)), "text": texts})
    how = _distributed.decisions_of(("id", "text"), None, ("minhash", None, None), True)
    rows = [frame[at::tasks] for at in range(tasks)]
    found = pd.concat(_distributed.dedup(Frames(), rows, how, tasks)).sort_values("id")
    assert found["duplicate_of"].fillna(-1).tolist() == expected.tolist()


@pytest.mark.parametrize("keep", ["first", "last", "longest", "max:score"])
@pytest.mark.parametrize(
    "settings",
    [
        ("minhash", None, None),
        ("minhash", None, "contained:0.9"),
        ("minhash clean=html,lower", None, 1.0),
        ("minhash", 20, None),
        ("simhash", 6, None),
        ("simhash", 12, "edit:0.8"),
    ],
    ids=str,
)
def test_all_measures_are_those_of_one_machine(settings: Any, keep: str) -> None:
    pages = [f"<p>{text}</p><script>{at % 3}</script>" for at, text in enumerate(sliding(12) * 2)]
    short = ["a b c d e f g h", "a b c d e f g h i j k l m n", "b c d e", "two words", "Two words"]
    texts = mixed(sliding(40), variants(20, 2), pages, short, ["equal text of some words"] * 20)
    scores = [math.nan if at % 9 == 4 else float(at * 7919 % 23) for at in range(len(texts))]
    frame = pd.DataFrame({"id": [f"{at:04}" for at in range(len(texts))], "text": texts, "score": scores})
    options: Any = dict(zip(("recipe", "k", "similarity"), settings))
    expected = nearprint.dedup(frame, keep=keep, missing="keep", **options)["kept"]
    assert 10 < expected.sum() < len(texts) - 20
    how = _distributed.decisions_of(("id", "text"), keep, settings, False)
    kept = pd.concat(_distributed.dedup(Frames(), [frame[at::3] for at in range(3)], how, 5))
    assert frame["id"].isin(kept["id"]).tolist() == expected.tolist()


@pytest.mark.parametrize(("width", "k"), [(64, 3), (128, 3)])
def test_pairs_and_clusters_are_those_of_one_machine(engine: Any, width: int, k: int) -> None:
    functions, spread, collected = engine
    numbers = near_duplicates(width, 150)
    prints = rows_of(numbers, width)
    in_bytes = [number.to_bytes(width // 8, "big") for number in numbers]
    column = prints if width == 64 else pd.Series(in_bytes, dtype=pd.ArrowDtype(pyarrow.binary(width // 8)))
    frame = pd.DataFrame({"id": np.arange(150), "fingerprint": column})
    expected = nearprint.find_all(prints, k).to_pandas()
    with_ids = nearprint.find_clusters(prints, k)
    smallest: dict[int, int] = {}
    for cluster, number in zip(with_ids["cluster"].tolist(), numbers_of(with_ids["fingerprint"])):
        smallest[cluster] = min(number, smallest.get(cluster, number))
    of = {
        number: smallest[cluster]
        for cluster, number in zip(with_ids["cluster"].tolist(), numbers_of(with_ids["fingerprint"]))
    }
    members = {
        at: of.get(number, number) for at, number in enumerate(numbers) if number in of or numbers.count(number) > 1
    }
    as_number: Any = int if width == 64 else lambda one: int.from_bytes(one, "big")
    for parts in PARTS:
        rows = spread(frame, parts)
        pairs = collected(functions.pairs(rows, k, width=width))
        assert sorted(map(tuple, pairs.to_numpy().tolist())) == sorted(map(tuple, expected.to_numpy().tolist()))
        found = collected(functions.clusters(rows, k, width=width))
        assert {row.id: as_number(row.cluster) for row in found.itertuples()} == members


def test_misfits_are_refused(engine: Any) -> None:
    functions, spread, _ = engine
    rows = spread(
        pd.DataFrame({"id": [1, 2], "text": ["a", "b"], "fingerprint": [1, 2], "group": [0, 0], "score": [0.5, 1.5]}), 1
    )
    misfits: list[tuple[str, Any]] = [
        ("no column 'print'", lambda: functions.pairs(rows, 3, fingerprint="print")),
        ("k, or similarity", lambda: functions.clusters(rows)),
        ("group: is a column already", lambda: functions.dedup(rows, annotate=True)),
        ("no column 'rank'", lambda: functions.dedup(rows, keep="max:rank")),
        ("score: (float64|double), where integers", lambda: functions.dedup(rows, id="score")),
        ("missing = 'drop'", lambda: functions.dedup(rows, missing="drop")),
        ("partitions = 0", lambda: functions.pairs(rows, 3, partitions=0)),
    ]
    for why, call in misfits:
        with pytest.raises(nearprint.InputError, match=why):
            call()
    for function in (functions.pairs, functions.clusters, functions.dedup):
        with pytest.raises(TypeError, match=r"is wanted, not pandas\..*DataFrame"):
            function(pd.DataFrame({"id": [1], "text": ["a"], "fingerprint": [1]}))


def test_regression_rows_of_ray_were_decided_as_they_were_ready(engine: Any) -> None:
    if engine[0].__name__ != "nearprint.ray":
        pytest.skip("is about the order of the blocks of Ray")
    ray: Any = importlib.import_module("ray.data")

    def slow_first(batch: dict[str, Any]) -> dict[str, Any]:
        time.sleep(2 if batch["id"][0] == 0 else 0)
        return batch

    texts = [text or "nothing" for text in texts_of(400)]
    expected = nearprint.dedup(texts)
    rows = [{"id": index, "text": text} for index, text in enumerate(texts)]
    dataset = ray.from_items(rows, override_num_blocks=4).map_batches(slow_first, batch_size=None)
    assert nearprint.dedup(dataset)["duplicate_of"].tolist() == expected["duplicate_of"].tolist()
    for _ in range(3):
        kept = nearprint.dedup(dataset, table="kept").take_all()
        assert [row["id"] for row in kept] == np.flatnonzero(expected["kept"]).tolist()
    assert not dataset.context.execution_options.preserve_order


@pytest.mark.parametrize("ids", [[7, 2, 3, 7], ["a", "b", "c", "a"], ["a", "b", "c", None]])
def test_regression_a_row_alone_went_with_the_duplicate_of_its_id(engine: Any, ids: list[Any]) -> None:
    functions, spread, _ = engine
    texts = ["something else that is alone", "one two three four five", "no text of another", "one two three four five"]
    rows = spread(pd.DataFrame({"id": pd.Series(ids, dtype=object if None in ids else None), "text": texts}), 3)
    what = "null occurs 1 times" if None in ids else f"{ids[0]!r} occurs 2 times"
    with pytest.raises(nearprint.InputError, match=f"id: {what}; ids are unique"):
        functions.dedup(rows)


BIG = 2**60


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([BIG, BIG + 1, None, BIG], dtype="Int64"),
        pd.Series([BIG, BIG + 1, None, None], dtype=pd.ArrowDtype(pyarrow.int64())),
        pd.Series([BIG, BIG + 1, None, None], dtype=object),
        pd.Series([2**64 - 2, 2**64 - 1, 1, 2], dtype="UInt64"),
        pd.to_datetime(pd.Series([f"2024-01-01 00:00:00.00000000{at}" for at in (1, 2)] + [None] * 2)),
        # The last one says that all are texts, and is near nothing.
        ["10", "9", "8", "x"],
        ["2024-01-02T00:00:00+05:00", "2024-01-01T23:00:00Z", None, "2023-01-01"],
    ],
    ids=["nullable", "arrow", "object", "unsigned", "times", "texts", "dates"],
)
def test_regression_values_lost_digits_between_tasks(engine: Any, values: Any) -> None:
    functions, spread, collected = engine
    texts = ["one two three four five six seven"] * 3 + ["something else"]
    frame = pd.DataFrame({"id": [1, 2, 3, 4], "text": texts, "value": values})
    expected = frame["id"][nearprint.dedup(frame, keep="max:value")["kept"]].tolist()
    assert expected == [2, 4]
    for parts in (1, 2):
        assert sorted(collected(functions.dedup(spread(frame, parts), keep="max:value"))["id"]) == expected
    mixed = frame.assign(value=pd.Series([1, 2, 3, "x"], dtype=object))
    how = _distributed.decisions_of(("id", "text"), "max:value", ("minhash", None, None), False)
    with pytest.raises(nearprint.InputError, match="keep: value: numbers, dates or texts"):
        _distributed.dedup(Frames(), [mixed[:3], mixed[3:]], how, 1)


def test_regression_integers_beside_nulls_of_arrow_lost_digits(engine: Any) -> None:
    if engine[0].__name__ != "nearprint.ray":
        return
    ray: Any = importlib.import_module("ray.data")
    numbers = pyarrow.array([BIG, BIG + 1, None], pyarrow.int64())
    table = pyarrow.table({"id": [1, 2, 3], "text": ["one two three four"] * 3, "value": numbers})
    rows = ray.from_arrow([table])
    assert engine[0].dedup(rows, keep="max:value").take_all() == [
        {"id": 2, "text": "one two three four", "value": BIG + 1}
    ]
    found = engine[0].dedup(rows, keep="min:value", annotate=True).take_all()
    assert {row["id"]: row["value"] for row in found} == {1: BIG, 2: BIG + 1, 3: None}


def test_regression_large_ids_lost_digits_between_tasks(engine: Any) -> None:
    functions, spread, collected = engine
    texts = ["one two three four five six seven"] * 2 + ["something else"]
    ids = np.array([2**64 - 1, 2**64 - 2, 2**63], np.uint64)
    found = collected(functions.dedup(spread(pd.DataFrame({"id": ids, "text": texts}), 2), annotate=True))
    of = {row.id: row.duplicate_of for row in found.itertuples()}
    assert of[2**64 - 1] == 2**64 - 2 and pd.isna(of[2**64 - 2]) and pd.isna(of[2**63])
    nullable = pd.DataFrame({"id": pd.Series([BIG, BIG + 1, None], dtype="Int64"), "text": texts})
    with pytest.raises(nearprint.InputError, match="id: null occurs 1 times"):
        functions.dedup(spread(nullable, 1))


def test_regression_a_frame_of_dask_was_a_list_of_column_names() -> None:
    needs("dask")
    dd: Any = importlib.import_module("dask.dataframe")
    rows = dd.from_pandas(pd.DataFrame({"text": ["one two three"] * 3}), npartitions=1)
    for call in (nearprint.dedup, nearprint.pairs, nearprint.Kept().decide):
        with pytest.raises(TypeError, match=r"nearprint\.dask"):
            call(rows)


@pytest.mark.parametrize("value", [5, b"one two three four", ["one", "two"]], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("missing", ["keep", "skip", "error"])
def test_regression_what_is_no_text_was_taken_as_missing(missing: Any, value: Any) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "text": pd.Series(["one two three", None, value], dtype=object)})
    how = _distributed.decisions_of(("id", "text"), None, ("minhash", None, None), False, missing)
    kind = type(value).__name__
    hint = "; decode bytes first" if kind == "bytes" else ""
    for of in ["object", "struct<a: int64>"]:
        with pytest.raises(TypeError, match=f"text: {kind} in the row with the id 3, where a text is wanted{hint}$"):
            _distributed.check_texts(Frames(), [frame[:1], frame[1:]], how, of)
    # A column of texts is not read for this.
    _distributed.check_texts(Frames(), [], how._replace(missing="keep"), "string")


def test_regression_a_column_of_numbers_was_one_of_missing_texts(engine: Any) -> None:
    functions, spread, _ = engine
    rows = spread(pd.DataFrame({"id": [1, 2, 3], "text": [5, 6, 7]}), 2)
    with pytest.raises(TypeError, match="text: int in the row with the id"):
        functions.dedup(rows)


def test_regression_rows_without_any_were_refused(engine: Any) -> None:
    functions, spread, collected = engine
    frame = pd.DataFrame({"id": [1], "text": ["one two three"], "fingerprint": [7], "score": [1]})
    sources = [spread(frame[:0], 1)]
    if functions.__name__ == "nearprint.ray":
        ray: Any = importlib.import_module("ray.data")
        sources += [ray.from_items([]), ray.from_items([{"id": 1, "text": "a"}]).filter(lambda row: False)]
        sources.append(ray.from_arrow(pyarrow.Table.from_pandas(frame[:0])))
        for source in sources:
            assert len(nearprint.dedup(source)) == 0
    for rows in sources:
        made = [
            (functions.pairs(rows, 3), ["a", "b", "distance"]),
            (functions.clusters(rows, 3), ["id", "fingerprint", "cluster"]),
            (functions.dedup(rows, keep="max:score"), ["id", "text"]),
            (functions.dedup(rows, missing="error"), ["id", "text"]),
            (functions.dedup(rows, annotate=True), ["id", "text", "duplicate_of", "similarity", "group", "group_size"]),
        ]
        for result, columns in made:
            names = list(result.columns if functions.__name__ == "nearprint.dask" else result.columns())
            assert [name for name in names if name in columns] == columns and len(collected(result)) == 0


def test_parts_without_pairs(engine: Any) -> None:
    functions, spread, collected = engine
    frame = pd.DataFrame({"id": [1, 2], "text": pd.Series([None, None], dtype=object)})
    assert sorted(collected(functions.dedup(spread(frame, 2)))["id"]) == [1, 2]
    assert len(collected(functions.dedup(spread(frame, 2), missing="skip"))) == 0
    alone = pd.DataFrame({"id": [1, 2], "fingerprint": [0, 2**40 - 1], "text": ["one two three", "four five six"]})
    assert len(collected(functions.pairs(spread(alone, 2), 3))) == 0
    assert len(collected(functions.clusters(spread(alone, 2), 3))) == 0
    assert len(collected(functions.dedup(spread(alone, 2), annotate=True))) == 2

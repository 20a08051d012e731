"""Texts without features are near only copies."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearprint

SHORT = ["red car sale", "blue house rent", "two more words"]
CHINESE = ["你 和 我 都 在 这 吧", "好 大 一 只 猫 啊"]


def test_regression_dedup_keeps_texts_without_features(tmp_path: Path) -> None:
    for recipe, texts in (("simhash-py", SHORT), ("chinese", CHINESE), ("minhash short=none", ["two words", "a b"])):
        count = len(texts)
        variants: list[dict[str, Any]] = [{}, {"similarity": "contained:0.5"}, {"keep": "longest"}]
        for options in variants:
            found = nearprint.dedup([*texts, "", *texts, ""], recipe=recipe, **options)
            expected = [*[-1] * (count + 1), *range(count), -1]
            assert found["duplicate_of"].tolist() == expected, (recipe, options)
        assert not nearprint.dedup([*texts, *texts], recipe=recipe, min_features=1)["kept"].any()
        pages = tmp_path / "pages.jsonl"
        pages.write_text("".join(json.dumps({"text": text}) + "\n" for text in [*texts, "", *texts]))
        out, database = tmp_path / "out.jsonl", tmp_path / f"{recipe.split()[0]}.np"
        done = nearprint.dedup_files(pages, out, recipe=recipe, database=database)
        assert (done.kept, done.copies, done.featureless, done.empty) == (count + 1, count, 2 * count, 1)
        copy = tmp_path / "copy.jsonl"
        copy.write_bytes(pages.read_bytes())
        later = nearprint.dedup_files(copy, tmp_path / "later.jsonl", database=database)
        assert (later.kept, later.copies) == (1, 2 * count), "nothing is near the empty text"
        aside = nearprint.dedup_files(
            pages, out, recipe=recipe, min_features=1, rejects=tmp_path / "rejects.jsonl", dry_run=True
        )
        assert (aside.skipped, aside.featureless) == (2 * count + 1, 0)
        with nearprint.open(database) as opened:
            for text in texts:
                found = opened.find(text)
                assert found["distance"].tolist() == [0], recipe
            assert len(opened.find("")) == len(opened.find("quite another text, of seven words")) == 0
            assert opened.find([texts[0], "", texts[1]])["query"].tolist() == [0, 2]
    with pytest.raises(nearprint.InputError, match="min_features"):
        nearprint.dedup(SHORT, min_features=-1)


def test_regression_fingerprints_without_features_are_named_and_left_out() -> None:
    texts = ["one two three four", *SHORT, ""]
    with pytest.warns(UserWarning, match=r"4 of the texts have no feature.*min_features=1"):
        prints = nearprint.fingerprint(texts, "simhash-py")
    assert prints[1:].tolist() == [0] * 4 and prints[0] != 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearprint.fingerprint(texts, "minhash short=none")
        masked: Any = nearprint.fingerprint([*texts, None], "simhash-py", min_features=1, missing="mask")
    assert np.ma.getmaskarray(masked).tolist() == [False, *[True] * 5]
    with pytest.raises(nearprint.InputError, match="4 texts are missing or have fewer than 1 features, the first at 1"):
        nearprint.fingerprint(texts, "simhash-py", min_features=1)
    assert nearprint.fingerprint(texts[:1], "simhash-py", min_features=1).tolist() == prints[:1].tolist()

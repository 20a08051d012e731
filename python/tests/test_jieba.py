"""The recipe `chinese` beside Python's jieba, whose words and keywords it has."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

jieba = pytest.importorskip("jieba")
analyse = pytest.importorskip("jieba.analyse")

FOREIGN = [
    *("2015-05-13", "www.x.com", "TF-IDF", "C++", "c#", "AT&T", "3.14%", "50%", "v1.2.3-rc.4", "a_b", "--", "…"),
    *("x86_64", "B超", "T恤", "iPhone 6s", "http://a.cn/b?c=1&d=%20", "100.5.", "the", "Linux", "+86-10-1234"),
    *("é", "カナ", "㐀", "\r\n"),
]
MARKS = ["，", "。", "！", "、", " ", "\n", "“", "”", "（", "）", "\u3000", ""]


def synthetic(count: int) -> Iterator[str]:
    """Texts of words of the dictionary, of names that it lacks, and of what is not Chinese."""
    generator = random.Random(24)
    words = [word for word, frequency in jieba.dt.FREQ.items() if frequency > 0]
    frequent = sorted(words, key=jieba.dt.FREQ.__getitem__)[-2000:]
    for _ in range(count):
        parts: list[str] = []
        for _ in range(generator.randrange(5, 120)):
            kind = generator.random()
            if kind < 0.45:
                parts.append(generator.choice(frequent))
            elif kind < 0.7:
                parts.append(generator.choice(words))
            elif kind < 0.8:
                parts.append(
                    "".join(chr(generator.randrange(0x4E00, 0x9FD6)) for _ in range(generator.randrange(1, 5)))
                )
            elif kind < 0.9:
                parts.append(generator.choice(FOREIGN))
            else:
                parts.append(generator.choice(MARKS))
        yield "".join(parts)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    jieba.setLogLevel("WARNING")
    jieba.initialize()
    found = list(synthetic(2000))
    if "NEARPRINT_DATA" in os.environ:
        with gzip.open(
            Path(os.environ["NEARPRINT_DATA"], "debian-descriptions-zh_CN.jsonl.gz"), "rt", encoding="utf-8"
        ) as lines:
            found += [json.loads(line)["text"] for line in lines]
    return found


def explained(texts: list[str], recipe: str, what: str, folder: Path) -> list[list[list[str]]]:
    """For each text, the fields of the lines that begin with ``what``."""
    file = folder / "texts.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts))
    line = [sys.executable, "-m", "nearprint", "fingerprint", "--recipe", recipe, "--explain", str(file)]
    printed = subprocess.run(line, check=True, capture_output=True, encoding="utf-8").stdout
    documents: list[list[list[str]]] = []
    for fields in (line.split("\t") for line in printed.split("\n")):
        if fields[0] == "key":
            documents.append([])
        elif fields[0] == what:
            documents[-1].append(fields[1:])
    return documents


def has_letters(word: str) -> bool:
    return any(map(str.isalnum, word))


def test_words_are_those_of_jieba(texts: list[str], tmp_path: Path) -> None:
    found = explained(texts, "chinese clean=none weights=one", "token", tmp_path)
    assert len(found) == len(texts)
    for text, words in zip(texts, found):
        assert [word for word, *_ in words] == list(filter(has_letters, jieba.cut(text))), text


def test_keywords_are_those_of_jieba_in_its_order(texts: list[str], tmp_path: Path) -> None:
    found = explained(texts, "chinese clean=none", "feature", tmp_path)
    for text, features in zip(texts, found):
        expected = analyse.extract_tags(text, 30, withWeight=True)
        assert [fields[0] for fields in features] == [word for word, _ in expected], text
        for (_, weight, *_), (_, tf_idf) in zip(features, expected):
            assert float(weight.split()[1]) == pytest.approx(tf_idf, abs=1e-6)

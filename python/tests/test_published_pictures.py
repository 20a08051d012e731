"""The pictures with which PDQ and imagededup test their hashes, and the hashes that PDQ publishes.

THREATEXCHANGE and IMAGEDEDUP are folders of clones of https://github.com/facebook/ThreatExchange and
https://github.com/idealo/imagededup, without which the tests are skipped.
"""

import os
import pathlib
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from nearprint import images


def clone(variable: str) -> pathlib.Path:
    folder = os.environ.get(variable)
    if folder is None:
        may_skip = "pictures" in os.environ.get("NEARPRINT_MAY_SKIP", "").split()
        assert may_skip or not os.environ.get("NEARPRINT_REQUIRE_ALL"), "no test may be skipped here"
        pytest.skip(f"{variable} is the folder of a clone")
    return pathlib.Path(folder)


def distances(one: Any, others: Any) -> Any:
    bits = np.unpackbits((np.asarray(one) ^ np.asarray(others)).reshape(-1, 4).view(np.uint8), axis=1)
    return bits.sum(axis=1, dtype=int)


def parsed(digits: str) -> Any:
    """The words of a hash, the least significant one first."""
    return np.array([int(digits[at : at + 16], 16) for at in (48, 32, 16, 0)], np.uint64)


def prints(paths: list[pathlib.Path], **how: Any) -> Any:
    return np.asarray(images.fingerprint(paths, **how))


def published(pdq: pathlib.Path) -> dict[pathlib.Path, list[Any]]:
    """The hashes in the tests and documents of PDQ's programs, which differ from each other, by picture."""
    data = pdq / "data"
    python = (pdq / "python/pdqhashing/tests/pdq_test.py").read_text()
    found = [(name, digits) for name, digits in re.findall(r'SAMPLE_MEDIA \+ "(\S+)",\s*"([0-9a-f]{64})"', python)]
    documents = (pdq / "cpp/bin/README.md").read_text()
    lines = re.findall(r"^([0-9a-f]{64}),reg_test/input/(\S+)$", documents, re.MULTILINE)
    found += [(f"reg-test-input/{name}", digits) for digits, name in lines]
    java = (pdq / "java/src/test/java/hasher/pdqhashing/PDQHasherTest.java").read_text()
    found += zip(re.findall(r'data/(\S+\.jpg)"', java), re.findall(r'"([0-9a-f]{64})"', java))
    hashes: dict[pathlib.Path, list[Any]] = {}
    for name, digits in found:
        if (data / name).exists():
            hashes.setdefault(data / name, []).append(parsed(digits))
    return hashes


def test_hashes_are_those_that_pdq_publishes() -> None:
    known = published(clone("THREATEXCHANGE") / "pdq")
    assert len(known) >= 17
    paths = list(known)
    kept: Any = images.fingerprint(paths, min_quality=80, missing="keep")
    checked = 0
    for path, made, is_missing in zip(paths, kept.data, kept.mask[:, 0]):
        if is_missing:
            continue
        found = distances(made, known[path]).tolist()
        print(path.name, found)
        # Its own test of its Python program allows 16.
        assert min(found) <= 10 and max(found) <= 16, path
        checked += 1
    assert checked >= 14


def test_edits_of_the_bridge_are_near() -> None:
    folder = clone("THREATEXCHANGE") / "pdq/data/bridge-mods"
    original = folder / "aaa-orig.jpg"
    edits = sorted(path for path in folder.glob("*.jpg") if path != original)
    assert len(edits) == 11
    found = dict(zip([path.stem for path in edits], distances(*np.split(prints([original, *edits]), [1])).tolist()))
    print(found)
    assert max(found.values()) <= 31, found


def test_all_modes_of_pixels_have_one_hash() -> None:
    folder = clone("THREATEXCHANGE") / "pdq/data/misc-images/modes"
    paths = [folder / "original.jpg", *sorted(path for path in folder.iterdir() if path.suffix in (".jpg", ".png"))]
    found = dict(zip([path.name for path in paths], distances(prints(paths)[0], prints(paths)).tolist()))
    print(found)
    assert max(distance for name, distance in found.items() if name != "1.png") <= 16, found


def test_pictures_are_turned_as_exif_data_say(tmp_path: pathlib.Path) -> None:
    folder = clone("THREATEXCHANGE") / "pdq/data/reg-test-input/exif-rotn"
    paths = sorted(folder.glob("*.jpg"))
    assert len(paths) == 4
    for path in paths:
        image = Image.open(path)
        ImageOps.exif_transpose(image).save(tmp_path / "upright.png")
        Image.fromarray(np.asarray(image)).save(tmp_path / "stored.png")
        made = prints([path, tmp_path / "upright.png", tmp_path / "stored.png"])
        upright, stored = distances(made[0], made[1:]).tolist()
        is_upright = image.getexif().get(0x0112) == 1
        print(path.name, upright, stored)
        assert upright <= 10 and (stored <= 10 if is_upright else stored > 60), (path, upright, stored)


def test_variants_of_imagededup() -> None:
    data = clone("IMAGEDEDUP") / "tests/data"
    base = sorted((data / "base_images").glob("*.jpg"))
    assert len(base) == 10
    made = prints(base)
    apart = [distances(made[at], made[:at]).min() for at in range(1, len(made))]
    assert min(apart) > 60, apart
    names = ["mixed_images/ukbench00120_resize.jpg", "ukbench00120_gray.jpg"]
    near = distances(made[0], prints([data / name for name in names])).tolist()
    far = distances(made[0], prints([data / f"mixed_images/ukbench00120_{edit}.jpg" for edit in ("hflip", "rotation")]))
    print(near, far)
    assert max(near) <= 31 and min(far) > 31, (near, far)
    corrupt = data / "mixed_images/ukbench09268_corrupt.jpg"
    assert len(images.fingerprint([corrupt], missing="skip")) == 0

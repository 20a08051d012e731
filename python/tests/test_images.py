"""Fingerprints of pictures: files, bytes, images of Pillow and arrays."""

import io
import pathlib
import threading
from typing import Any

import numpy as np
import pandas
import pytest
from PIL import Image

import nearprint
from nearprint import images


def scene(seed: int, width: int = 320, height: int = 240) -> Image.Image:
    """Random colours that run into each other."""
    spots = np.random.default_rng(seed).integers(0, 256, (30, 40, 3), np.uint8)
    return Image.fromarray(spots).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def distance(one: Any, other: Any) -> int:
    return sum(bin(a ^ b).count("1") for a, b in zip(one.tolist(), other.tolist()))


def test_all_kinds_of_pictures_have_the_same_fingerprint(tmp_path: pathlib.Path) -> None:
    image = scene(1)
    path = tmp_path / "a.png"
    image.save(path)
    array = np.asarray(image)
    items: list[Any] = [
        path,
        str(path),
        path.read_bytes(),
        bytearray(path.read_bytes()),
        image,
        array,
        array[:, ::-1][:, ::-1],
    ]
    prints = images.fingerprint(items)
    assert prints.shape == (7, 4) and prints.dtype == np.uint64 and prints.recipe == "pdq"
    assert (np.asarray(prints) == np.asarray(prints[0])).all()
    assert images.fingerprint(iter(items), threads=1).tolist() == prints.tolist()
    for recipe in ["dhash", "phash"]:
        small = images.fingerprint(items, recipe)
        assert small.shape == (7,) and len(set(small.tolist())) == 1


def test_edits_are_near_and_others_far() -> None:
    image = scene(2)
    edits = [image.resize((160, 120)), encoded(image, "JPEG", quality=75), image.convert("L"), np.asarray(image) // 2]
    prints = images.fingerprint([image, *edits, scene(3)])
    assert max(distance(prints[0], edit) for edit in prints[1:5]) <= 31
    assert distance(prints[0], prints[5]) > 80


def test_orientation_and_transparency() -> None:
    image = scene(4)
    exif = Image.Exif()
    exif[0x0112] = 6
    jpeg = encoded(image, "JPEG", quality=95, exif=exif)
    upright = image.transpose(Image.Transpose.ROTATE_270)
    prints = images.fingerprint([jpeg, Image.open(io.BytesIO(jpeg)), upright, image])
    assert distance(prints[0], prints[2]) <= 10 and distance(prints[1], prints[2]) <= 10
    assert distance(prints[0], prints[3]) > 60
    clear = image.copy()
    clear.putalpha(Image.linear_gradient("L").resize(image.size))
    flat = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB")
    prints = images.fingerprint([clear, encoded(clear, "PNG"), flat])
    assert distance(prints[0], prints[2]) <= 4 and distance(prints[1], prints[2]) <= 4


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_regression_an_image_of_pillow_differed_from_its_file(mode: str) -> None:
    grey = np.array(scene(7).convert("L"))
    grey[(np.indices(grey.shape) // 48).sum(0) % 3 == 0] = 7
    image: Any = Image.fromarray(grey)
    if mode == "I;16":
        image = Image.fromarray(grey.astype(np.uint16) * 256 + np.arange(len(grey), dtype=np.uint16)[:, None])
    elif mode != "L":
        image = image.convert(mode)
    first = image.getpixel((0, 0))
    for options in ({}, {"transparency": first}) if "A" not in mode else ({},):
        file = encoded(image, "PNG", **options)
        opened = Image.open(io.BytesIO(file))
        assert ("transparency" in opened.info) == bool(options)
        prints = images.fingerprint([opened, file, opened.convert("RGBA")][: 2 if mode == "I;16" else 3])
        assert all(distance(prints[0], other) <= 2 for other in prints[1:]), options


def test_missing_pictures(tmp_path: pathlib.Path) -> None:
    (tmp_path / "text.jpg").write_text("no picture")
    items: list[Any] = [
        scene(5),
        tmp_path / "text.jpg",
        Image.new("RGB", (90, 90)),
        tmp_path / "absent.png",
        b"",
        scene(6),
    ]
    with pytest.raises(nearprint.InputError, match=r"item 1: .*text\.jpg: not an image"):
        images.fingerprint(items)
    with pytest.raises(TypeError, match="is one image; give a list of it"):
        images.fingerprint(np.asarray(scene(5)))
    with pytest.raises(nearprint.InputError, match="item 0: no pixel"):
        images.fingerprint([np.zeros((0, 9, 3), np.uint8)])
    with pytest.raises(nearprint.NotFoundError, match=r"item 1: .*absent\.png"):
        images.fingerprint([scene(5), tmp_path / "absent.png"])
    kept: Any = images.fingerprint(items, missing="keep", min_quality=50)
    assert kept.mask[:, 0].tolist() == [False, True, True, True, True, False]
    dropped = images.fingerprint(items, missing="skip", min_quality=50)
    assert dropped.tolist() == images.fingerprint([items[0], items[5]]).tolist() and dropped.recipe == "pdq"
    with pytest.raises(nearprint.InputError, match="1 images have a quality below 50, the first at 1"):
        images.fingerprint([items[0], items[2]], min_quality=50)
    with pytest.raises(nearprint.InputError, match="min_quality: is for pdq"):
        images.fingerprint(items, "dhash", min_quality=50, missing="skip")
    assert images.fingerprint([]).shape == (0, 4)
    bad: list[Any] = [5, 1.5, np.zeros((3, 3))]
    for item in bad:
        with pytest.raises(TypeError, match="item 0"):
            images.fingerprint([item])
    singles: list[Any] = ["a.jpg", scene(1)]
    for single in singles:
        with pytest.raises(TypeError, match="not a single one"):
            images.fingerprint(single)
    with pytest.raises(nearprint.InputError, match="shape"):
        images.fingerprint([np.zeros((3, 3, 4), np.uint8)])
    with pytest.raises(nearprint.InputError, match="pdq, dhash or phash"):
        images.fingerprint([scene(1)], "minhash")


def test_an_image_that_is_null_is_missing() -> None:
    for column in ([scene(5), None], pandas.Series([scene(5), None]), [scene(5), float("nan")]):
        with pytest.raises(
            nearprint.InputError, match=r"item 1: .*missing='keep' masks such images, and missing='skip'"
        ):
            images.fingerprint(column)
        assert len(images.fingerprint(column, missing="skip")) == 1
        masked: Any = images.fingerprint(column, missing="keep")
        assert masked.mask[:, 0].tolist() == [False, True]


def test_databases_of_pictures(tmp_path: pathlib.Path) -> None:
    prints = images.fingerprint([scene(seed) for seed in range(8)])
    assert nearprint.find_all(prints)["distance"].size == 0
    with nearprint.build(tmp_path / "p.np", prints, keys=[f"{seed}.png" for seed in range(8)]) as database:
        assert database.recipe == "pdq"
        found = database.query_batch(images.fingerprint([scene(3).resize((160, 120))]))
        assert found["key"].tolist() == ["3.png"]
        of_texts: list[Any] = [database.find, database.add_texts, lambda texts: nearprint.against(texts, database.path)]
        for call in of_texts:
            with pytest.raises(
                nearprint.InputError, match=r"by the recipe pdq, and no texts; query_batch\(nearprint\.im"
            ):
                call(["a text"])
        of_prints: list[Any] = [database.query, database.insert_if_new]
        for call in of_prints:
            with pytest.raises(nearprint.InputError, match=r"; nearprint\.images\.fingerprint makes those of images"):
                call("large.png")


def test_other_threads_run_meanwhile() -> None:
    seen: list[Any] = []
    work = [scene(seed, 1200, 900) for seed in range(6)]
    ended = threading.Event()

    def count() -> None:
        while not ended.wait(0.001):
            seen.append("turn")

    counter = threading.Thread(target=count)
    counter.start()
    images.fingerprint(work, threads=2, progress=lambda *reached: seen.append(reached))
    ended.set()
    counter.join()
    assert ("fingerprinting", 6, 6) in seen and "turn" in seen

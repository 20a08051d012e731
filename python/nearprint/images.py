"""Fingerprints of images: edited copies of an image have fingerprints that differ in few bits.

::

    import nearprint.images

    prints = nearprint.images.fingerprint(paths, missing="skip", min_quality=50)
    with nearprint.build("pictures.np", prints) as database:
        found = database.query_batch(nearprint.images.fingerprint(["new.jpg"]))
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sized
from itertools import islice
from typing import Any, Literal, Optional, overload

import numpy as np

from . import _nearprint
from ._arrays import check_threads, is_missing
from ._carried import Fingerprints, carrying
from ._errors import InputError, NotFoundError
from ._progress import Progress, listening
from ._settings import check_count

#: The pictures of each thread that are in memory at a time.
_PER_THREAD = 8


@overload
def fingerprint(
    pictures: Iterable[Any],
    recipe: str = "pdq",
    *,
    min_quality: int = 0,
    threads: Optional[int] = None,
    missing: Literal["error", "skip"] = "error",
    progress: Progress = None,
) -> Fingerprints: ...
@overload
def fingerprint(
    pictures: Iterable[Any],
    recipe: str = "pdq",
    *,
    min_quality: int = 0,
    threads: Optional[int] = None,
    missing: Literal["keep"],
    progress: Progress = None,
) -> np.ma.MaskedArray[Any, np.dtype[np.uint64]]: ...
def fingerprint(
    pictures: Iterable[Any],
    recipe: str = "pdq",
    *,
    min_quality: int = 0,
    threads: Optional[int] = None,
    missing: Literal["error", "keep", "skip"] = "error",
    progress: Progress = None,
) -> Any:
    """The fingerprints of images, computed on all cores.

    ``pictures`` is an iterable of paths, of ``bytes`` with the content of files, of images of Pillow, or of arrays of
    ``uint8``: grey of shape (height, width), or RGB of shape (height, width, 3). Files are JPEG, PNG, WebP, GIF (the
    first frame), TIFF, BMP and HEIC, of at most 120 million pixels. They, and images of Pillow, are turned as EXIF data
    say, and transparent pixels are white.

    ``recipe`` is ``pdq`` (256 bits; images within 31 bits are the same one), ``dhash`` or ``phash`` (64 bits).
    Returns uint64 of shape (n, 4) or (n,), the least significant word first. The array carries its recipe.

    PDQ has a quality from 0 to 100. Images of less than ``min_quality``, those that cannot be decoded, and ``None`` are
    missing: with ``missing="keep"`` returns a ``numpy.ma.MaskedArray``, in which they are masked; ``"skip"`` leaves
    them out. The authors of PDQ recommend a quality of at least 50.

    Raises ``InputError`` for a missing image, unless missing ones are kept or dropped, and for another recipe;
    ``NotFoundError`` in the same case for a path without a file; ``TypeError`` for an item that is no image.
    """
    least = check_count(min_quality, "min_quality")
    if least and recipe != "pdq":
        raise InputError(f"min_quality: is for pdq, and {recipe!r} has no quality")
    if missing not in ("error", "keep", "skip"):
        raise InputError(f"missing = {missing!r}: 'error', 'keep' or 'skip' is wanted")
    if isinstance(pictures, (str, bytes, os.PathLike)) or _is_of_pillow(pictures):
        raise TypeError("pictures: an iterable of images is wanted, not a single one")
    if isinstance(pictures, np.ndarray) and pictures.ndim == 3 and pictures.shape[2] in (3, 4):
        raise TypeError(f"pictures: an array of shape {pictures.shape} is one image; give a list of it")
    count = check_threads(threads)
    made: list[Any] = []
    absent: list[int] = []
    done = 0
    total = len(pictures) if isinstance(pictures, Sized) else None
    items = _items(pictures)
    with listening(progress) as listener:
        while chunk := list(islice(items, count * _PER_THREAD)):
            words, qualities, failed = _nearprint.fingerprint_pictures(chunk, recipe, count)
            if failed and missing == "error":
                index, why = failed[0]
                if isinstance(chunk[index], (str, os.PathLike)) and not os.path.exists(chunk[index]):
                    raise NotFoundError(f"item {done + index}: {why}")
                ways = "missing='keep' masks such images, and missing='skip' leaves them out"
                raise InputError(f"item {done + index}: {why}; {ways}")
            low = {int(index) for index in np.flatnonzero(qualities < least)} | {index for index, _ in failed}
            absent.extend(done + index for index in sorted(low))
            made.append(words)
            done += len(chunk)
            if listener is not None:
                listener("fingerprinting", done, total)
    if not made:
        made.append(_nearprint.fingerprint_pictures([], recipe, 1)[0])
    carried = carrying(np.concatenate(made), recipe)
    if missing == "skip":
        return carrying(np.delete(np.asarray(carried), absent, axis=0), recipe)
    if missing == "error":
        if absent:
            raise InputError(f"{len(absent)} images have a quality below {least}, the first at {absent[0]}")
        return carried
    mask = np.zeros(carried.shape, bool)
    mask[absent] = True
    masked: Any = np.ma.MaskedArray(carried, mask)
    masked.recipe = recipe
    result: Fingerprints = masked
    return result


def _items(pictures: Iterable[Any]) -> Iterator[Any]:
    """Images as the native module takes them."""
    for index, picture in enumerate(pictures):
        if isinstance(picture, (str, os.PathLike, bytes)):
            yield picture
        elif isinstance(picture, (bytearray, memoryview)):
            yield bytes(picture)
        elif is_missing(picture):
            yield b""
        else:
            yield _samples(_array(picture, index), index)


def _is_of_pillow(picture: Any) -> bool:
    return hasattr(picture, "getbands") and hasattr(picture, "convert")


def _array(picture: Any, index: int) -> Any:
    """An image of Pillow as an array; anything else is one already, or no image."""
    if not _is_of_pillow(picture):
        return picture
    from PIL import Image, ImageOps

    upright = ImageOps.exif_transpose(picture)
    transparent = upright.info.get("transparency")
    if upright.mode.startswith("I;16"):
        # Pillow would cut what is above 255.
        samples = np.asarray(upright)
        grey = (samples.astype(np.uint32) + 128) // 257
        return np.where(samples == transparent, 255, grey).astype(np.uint8)
    if upright.mode == "L" and transparent is None:
        return np.asarray(upright)
    if "A" in upright.getbands() or transparent is not None:
        clear = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    return np.asarray(upright.convert("RGB"))


def _samples(array: Any, index: int) -> tuple[int, int, int, bytes]:
    shape = getattr(array, "shape", None)
    if shape is None or getattr(array, "dtype", None) != np.uint8:
        kind = type(array).__name__
        raise TypeError(f"item {index}: {kind} is no image: a path, bytes, a Pillow image or a uint8 array is wanted")
    if len(shape) == 2:
        return shape[0], shape[1], 1, np.ascontiguousarray(array).tobytes()
    if len(shape) == 3 and shape[2] == 3:
        return shape[0], shape[1], 3, np.ascontiguousarray(array).tobytes()
    raise InputError(f"item {index}: an array of shape {shape}; (height, width) or (height, width, 3) is wanted")

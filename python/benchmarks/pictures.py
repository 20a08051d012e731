"""How many edited copies of pictures have a fingerprint near the original's.

    apt-get download gnome-backgrounds mate-backgrounds ukui-wallpapers desktop-base lomiri-wallpapers-20.04
    for package in *.deb; do dpkg -x "$package" root; done
    python python/benchmarks/pictures.py root

Takes every picture below a folder of at least 640 pixels on its shorter side, scaled to 1024 pixels, but those that
are near an earlier one.
"""

import io
import pathlib
import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageEnhance, ImageFont, ImageOps

from nearprint import images

Edit = Callable[[Image.Image], Image.Image]


def scaled(share: float) -> Edit:
    return lambda image: image.resize((int(image.width * share), int(image.height * share)), Image.Resampling.BICUBIC)


def compressed(quality: int) -> Edit:
    def edit(image: Image.Image) -> Image.Image:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=quality)
        return Image.open(file).convert("RGB")

    return edit


def cropped(share: float) -> Edit:
    """Without so much of the width and the height, half of it on each side."""

    def edit(image: Image.Image) -> Image.Image:
        x, y = int(image.width * share / 2), int(image.height * share / 2)
        return image.crop((x, y, image.width - x, image.height - y))

    return edit


def bordered(image: Image.Image) -> Image.Image:
    return ImageOps.expand(image, int(0.02 * image.width), "black")


def watermarked(image: Image.Image) -> Image.Image:
    marked = image.copy()
    size = image.width // 16
    place = (image.width // 10, int(image.height * 0.85))
    ImageDraw.Draw(marked).text(place, "example.org 2024", "white", ImageFont.load_default(size))
    return marked


EDITS: dict[str, Edit] = {
    "half the size": scaled(0.5),
    "a quarter of the size": scaled(0.25),
    "JPEG of quality 75": compressed(75),
    "JPEG of quality 30": compressed(30),
    "grey": lambda image: image.convert("L").convert("RGB"),
    "brighter by 30 %": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
    "darker by 30 %": lambda image: ImageEnhance.Brightness(image).enhance(0.7),
    "a black border of 2 %": bordered,
    "cropped by 5 %": cropped(0.05),
    "cropped by 10 %": cropped(0.1),
    "a line of text": watermarked,
    "rotated by 2 degrees": lambda image: image.rotate(2, Image.Resampling.BICUBIC),
    "rotated by 90 degrees": lambda image: image.transpose(Image.Transpose.ROTATE_90),
    "mirrored": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
}

Words = npt.NDArray[np.uint64]


def distances(one: Words, others: Words) -> npt.NDArray[np.int64]:
    """Of a fingerprint from each of some others."""
    bits = np.unpackbits((one ^ others).reshape(len(others), -1).view(np.uint8), axis=1)
    return np.asarray(bits.sum(axis=1), np.int64)


def turns(image: Image.Image) -> list[Image.Image]:
    """The picture, and its rotations and reflections."""
    return [image, *(image.transpose(turn) for turn in Image.Transpose)]


def originals(folder: pathlib.Path) -> list[Image.Image]:
    chosen: list[Image.Image] = []
    prints: list[Words] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in (".jpg", ".png", ".webp") or path.is_symlink():
            continue
        file = Image.open(path)
        if min(file.size) < 640:
            continue
        image = file.convert("RGB")
        image.thumbnail((1024, 1024))
        found = images.fingerprint([image], min_quality=50, missing="drop")
        if len(found) and not (prints and distances(np.asarray(found[0]), np.stack(prints)).min() <= 60):
            chosen.append(image)
            prints.append(np.asarray(found[0]))
    return chosen


def main() -> None:
    chosen = originals(pathlib.Path(sys.argv[1]))
    print(f"{len(chosen)} pictures; PDQ within 15, 31 and 47 bits, with all turns within 31; dHash, pHash within 8")
    pdq = [np.asarray(images.fingerprint(turns(image))) for image in chosen]
    small = {recipe: np.asarray(images.fingerprint(chosen, recipe)) for recipe in ("dhash", "phash")}
    for name, edit in EDITS.items():
        edited = [edit(image) for image in chosen]
        prints = np.asarray(images.fingerprint(edited))
        plain = np.array([distances(prints[at], pdq[at][:1])[0] for at in range(len(chosen))])
        any_turn = np.array([distances(prints[at], pdq[at]).min() for at in range(len(chosen))])
        shares = [(plain <= k).mean() for k in (15, 31, 47)] + [(any_turn <= 31).mean()]
        for recipe, before in small.items():
            after = np.asarray(images.fingerprint(edited, recipe))
            near = [distances(after[at : at + 1], before[at : at + 1])[0] <= 8 for at in range(len(chosen))]
            shares.append(np.mean(near))
        print("| " + " | ".join([name, *(f"{share:.2f}" for share in shares)]) + " |", flush=True)
    apart = [distances(pdq[at][0], np.stack([other[0] for other in pdq[:at]])).min() for at in range(1, len(pdq))]
    print(f"the nearest two of different pictures differ in {min(apart)} bits")


if __name__ == "__main__":
    main()

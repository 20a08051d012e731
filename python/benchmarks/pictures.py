"""Edited copies of pictures: how many have a fingerprint near the original's, and folders of them.

    apt-get download gnome-backgrounds mate-backgrounds ukui-wallpapers desktop-base lomiri-wallpapers-20.04
    for package in *.deb; do dpkg -x "$package" root; done
    python python/benchmarks/pictures.py recall root

takes every picture below a folder of at least 640 pixels on its shorter side, scaled to 1024 pixels, but those that
are near an earlier one.

    python python/benchmarks/pictures.py generate photos --count 10000

makes JPEGs of scenes of coloured spots and shapes. One in ten is an edited copy of a scene that has no other one.
photos.tsv has a line for each copy: its path, the original's, and the edit. They depend on the arguments only.
Several sizes, as in --side 192 320 448, take turns.
"""

import argparse
import io
import multiprocessing
import pathlib
from collections.abc import Callable
from typing import Optional

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFont, ImageOps

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

#: Pixels that are stored turned to the left, and EXIF data that say so: shown as the original is.
BY_EXIF = "turned by EXIF data"

#: Widths and heights of scenes, in parts of the longer side.
SHAPES = ((1.0, 0.75), (0.75, 1.0), (1.0, 0.5625), (1.0, 1.0))


def scene(seed: int, side: int) -> Image.Image:
    """Coloured spots of four sizes, on them shapes, and on all of it grain; the longer side has so many pixels."""
    random = np.random.default_rng(seed)
    across, down = SHAPES[seed % len(SHAPES)]
    width, height = int(side * across), int(side * down)
    image = Image.new("RGB", (width, height))
    for cells, share in ((4, 1.0), (9, 0.5), (28, 0.35), (90, 0.2)):
        spots = Image.fromarray(random.integers(0, 256, (cells, cells, 3), np.uint8))
        image = Image.blend(image, spots.resize((width, height), Image.Resampling.BICUBIC), share)
    pen = ImageDraw.Draw(image)
    for kind in random.integers(0, 2, random.integers(2, 9)):
        x, y = int(random.integers(0, width)), int(random.integers(0, height))
        size = (random.uniform(0.03, 0.3, 2) * side).astype(int)
        red, green, blue = (int(part) for part in random.integers(0, 256, 3))
        draw = pen.ellipse if kind else pen.rectangle
        draw((x, y, x + int(size[0]), y + int(size[1])), (red, green, blue))
    grain = Image.fromarray(random.integers(118, 138, (height, width), np.uint8)).convert("RGB")
    return ImageChops.add(image, grain, offset=-128)


def generate(folder: pathlib.Path, count: int, sides: list[int]) -> None:
    num_scenes = count - count // 10
    edits = [*EDITS, BY_EXIF]
    copies = {number: edits[number % len(edits)] for number in range(count // 10)}
    for part in range(0, num_scenes, 1000):
        (folder / f"{part // 1000:03}").mkdir(parents=True)
    (folder / "copies").mkdir()
    with multiprocessing.Pool() as pool:
        tasks = [(folder, number, sides[number % len(sides)], copies.get(number)) for number in range(num_scenes)]
        lines = pool.starmap(_write, tasks, chunksize=16)
    folder.with_suffix(".tsv").write_text("".join(lines))


def _write(folder: pathlib.Path, number: int, side: int, edit: Optional[str]) -> str:
    """Writes a scene and its copy; returns the line of the copy."""
    image = scene(number, side)
    original = f"{number // 1000:03}/{number:06}.jpg"
    image.save(folder / original, quality=90)
    if edit is None:
        return ""
    name = f"copies/{number:06}.jpg"
    exif = Image.Exif()
    if edit == BY_EXIF:
        exif[0x0112] = 6
        image.transpose(Image.Transpose.ROTATE_90).save(folder / name, quality=90, exif=exif)
    else:
        EDITS[edit](image).save(folder / name, quality=90)
    return f"{name}\t{original}\t{edit}\n"


Words = npt.NDArray[np.uint64]


def distances(one: Words, others: Words) -> npt.NDArray[np.int64]:
    """Of a fingerprint from each of some others."""
    bits = np.unpackbits((one ^ others).reshape(len(others), -1).view(np.uint8), axis=1)
    return np.asarray(bits.sum(axis=1), np.int64)


def turns(image: Image.Image) -> list[Image.Image]:
    """The picture, and its rotations and reflections."""
    return [image, *(image.transpose(turn) for turn in Image.Transpose)]


def originals(folder: pathlib.Path) -> list[Image.Image]:
    from nearprint import images

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
        found = images.fingerprint([image], min_quality=50, missing="skip")
        if len(found) and not (prints and distances(np.asarray(found[0]), np.stack(prints)).min() <= 60):
            chosen.append(image)
            prints.append(np.asarray(found[0]))
    return chosen


def recall(folder: pathlib.Path) -> None:
    from nearprint import images

    chosen = originals(folder)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("recall").add_argument("folder", type=pathlib.Path)
    generates = commands.add_parser("generate")
    generates.add_argument("folder", type=pathlib.Path)
    generates.add_argument("--count", type=int, default=10_000)
    generates.add_argument("--side", type=int, nargs="+", default=[1024], help="pixels of the longer side")
    arguments = parser.parse_args()
    if arguments.command == "recall":
        recall(arguments.folder)
    else:
        generate(arguments.folder, arguments.count, arguments.side)


if __name__ == "__main__":
    main()

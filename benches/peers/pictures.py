"""Nearprint and its peers find edited copies among the same pictures: prints two tables.

    benches/peers/pictures.sh                        10,000 pictures of 1,024 pixels on the longer side
    benches/peers/pictures.sh --count 100000 --side 192 320 448 --only nearprint,czkawka,pdq-faiss

python/benchmarks/pictures.py makes the pictures. Each program uses all cores. The
pictures are read once before, so that their files are in memory. CPU is user and system time of it and its children.
The first table has their cost, the second one the share of copies that they find by edit. A pair is wrong if it is
not a copy and its original.

- nearprint and czkawka_cli run twice. The second time, the database or cache has all pictures: what is left is
  searching, and the difference is decoding and hashing.
- czkawka_cli searches with the hashes that it makes: of 64 bits, within the largest distance that it recommends less
  two, and of 256 bits, its default, within the largest distance that it recommends.
- imagededup and PDQ's own code with FAISS measure their steps themselves. The second decodes with Pillow and scales
  to 512 pixels first, as the PDQ hasher of ThreatExchange's Python package does.
"""

import argparse
import collections
import datetime
import itertools
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import types

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {
    "nearprint": "nearprint, PDQ within 31",
    "czkawka": "czkawka_cli, 64 bits within 8",
    "czkawka-256": "czkawka_cli, 256 bits within 20",
    "imagededup-phash": "imagededup, pHash within 10",
    "imagededup-dhash": "imagededup, dHash within 10",
    "pdq-faiss": "PDQ's code and FAISS IndexBinaryFlat, within 31",
}


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Steps:
    """The CPU time of the steps of a process of this program."""

    def __init__(self):
        self.seconds = {}

    def run(self, name, work):
        start = cpu_seconds()
        result = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + cpu_seconds() - start
        return result


def files_of(folder):
    return sorted(path for path in folder.rglob("*.jpg"))


def imagededup(folder, kind, steps):
    # Neural networks and plots, which nothing here uses, would need PyTorch.
    unused = {"methods.cnn": "CNN", "utils.models": "CustomModel", "utils.plotter": "plot_duplicates"}
    for name, item in unused.items():
        module = sys.modules[f"imagededup.{name}"] = types.ModuleType(name)
        setattr(module, item, None)
    from imagededup.methods import DHash, PHash

    method = {"phash": PHash, "dhash": DHash}[kind](verbose=False)
    encodings = steps.run("decode and hash", lambda: method.encode_images(folder, recursive=True))
    found = steps.run("search", lambda: method.find_duplicates(encoding_map=encodings, max_distance_threshold=10))
    return [(one, other) for one, others in found.items() for other in others]


def decoded(path):
    from PIL import Image

    image = Image.open(path).convert("RGB")
    image.thumbnail((512, 512))
    return np.asarray(image)


def hashed(path):
    import pdqhash

    start = cpu_seconds()
    pixels = decoded(path)
    middle = cpu_seconds()
    bits, _ = pdqhash.compute(pixels)
    return np.packbits(bits.astype(np.uint8)), middle - start, cpu_seconds() - middle


def pdq_faiss(folder, steps):
    import multiprocessing

    import faiss

    files = files_of(folder)
    with multiprocessing.Pool() as pool:
        found = pool.map(hashed, files, chunksize=16)
    steps.seconds["decode"] = sum(decode for _, decode, _ in found)
    steps.seconds["hash"] = sum(seconds for _, _, seconds in found)
    prints = np.stack([bits for bits, _, _ in found])
    index = faiss.IndexBinaryFlat(256)

    def search():
        index.add(prints)
        limits, _, others = index.range_search(prints, 32)
        return limits, others

    limits, others = steps.run("search", search)
    names = [path.relative_to(folder) for path in files]
    return [
        (str(names[at]), str(names[other]))
        for at in range(len(files))
        for other in others[limits[at] : limits[at + 1]]
        if other != at
    ]


def worker(name, folder, output):
    steps = Steps()
    if name == "pdq-faiss":
        pairs = pdq_faiss(folder, steps)
    else:
        pairs = imagededup(folder, name.removeprefix("imagededup-"), steps)
    output.write_text(json.dumps({"steps": steps.seconds, "pairs": pairs}))


class Run:
    """The cost of a process."""

    def __init__(self, command, home):
        environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        start = time.perf_counter()
        with open(home / "log", "w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"{command} failed: " + (home / "log").read_text()[-2000:])
        self.cpu = usage.ru_utime + usage.ru_stime
        self.resident = usage.ru_maxrss * 1024


def disk_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def relative(path, folder):
    return os.path.relpath(path, folder)


def twice(command, home):
    """The cost of a program that remembers pictures: of the first run by steps, and of the second one."""
    first, second = Run(command, home), Run(command, home)
    return {
        "total": first.cpu,
        "wall": first.wall,
        "resident": first.resident,
        "steps": {"decode and hash": first.cpu - second.cpu, "search": second.cpu},
        "again": f"{second.cpu:.2f} s, {second.wall:.2f} s, {second.resident / 1e6:,.0f} MB",
    }


def nearprint(tools, folder, home):
    database = home / "pictures.np"
    report = twice([tools.nearprint, "scan", folder, "--db", database], home)
    listed = [tools.nearprint, "prune", folder, "--db", database, "--move-to", home / "gone", "--dry-run"]
    lines = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.splitlines()
    cells = [line.split("\t") for line in lines]
    pairs = [[relative(path, folder) for path in (cell[1], cell[5])] for cell in cells]
    return {**report, "disk": disk_bytes(database), "pairs": pairs}


def czkawka(tools, folder, home, size, distance):
    found = home / "found.json"
    options = ["--minimal-file-size", "1", "--hash-size", size, "--max-difference", distance, "-W", "-C", found]
    report = twice([tools.czkawka, "image", "--directories", folder, *options], home)
    groups = [[relative(file["path"], folder) for file in group] for group in json.loads(found.read_text())]
    found.unlink()
    pairs = [pair for group in groups for pair in itertools.combinations(group, 2)]
    return {**report, "disk": disk_bytes(home), "pairs": pairs}


def measured(name, tools, folder, home):
    if name == "nearprint":
        return nearprint(tools, folder, home)
    if name.startswith("czkawka"):
        return czkawka(tools, folder, home, *(("16", "20") if name.endswith("256") else ("8", "8")))
    run = Run([sys.executable, __file__, "--worker", name, folder, home / "out.json"], home)
    out = json.loads((home / "out.json").read_text())
    return {
        "total": run.cpu,
        "wall": run.wall,
        "resident": run.resident,
        "steps": out["steps"],
        "again": "-",
        "disk": None,
        "pairs": out["pairs"],
    }


def evaluated(pairs, truth):
    """The copies that a peer found by edit, and the number of wrong pairs."""
    found, wrong = collections.Counter(), set()
    seen = set()
    for pair in pairs:
        one, other = sorted(pair)
        if (one, other) in seen:
            continue
        seen.add((one, other))
        edit = truth.get((one, other))
        if edit is None:
            wrong.add((one, other))
        else:
            found[edit] += 1
    return found, len(wrong)


def truth_of(folder):
    truth = {}
    for line in folder.with_suffix(".tsv").read_text().splitlines():
        copy, original, edit = line.split("\t")
        truth[tuple(sorted((copy, original)))] = edit
    return truth


def brute_force(tools, folder, home, k=31):
    """The pairs of nearprint's own fingerprints within k bits, by comparing all of them."""
    prints = home / "prints.tsv"
    files = files_of(folder)
    with open(prints, "wb") as out:
        for at in range(0, len(files), 1000):
            subprocess.run([tools.nearprint, "fingerprint", *files[at : at + 1000]], stdout=out, check=True)
    lines = [line.split("\t") for line in prints.read_text().splitlines()]
    words = np.array([[int(line[0][at : at + 16], 16) for at in range(2, 66, 16)] for line in lines], np.uint64)
    pairs = []
    for at in range(1, len(words)):
        distances = np.bitwise_count(words[:at] ^ words[at]).sum(axis=1)
        pairs.extend((lines[at][-1], lines[other][-1]) for other in np.flatnonzero(distances <= k))
    return [[relative(path, folder) for path in pair] for pair in pairs]


def main():
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--side", type=int, nargs="+", default=[1024])
    parser.add_argument("--folder", type=pathlib.Path, help="of pictures, made if it does not exist")
    parser.add_argument("--only", help="names of peers, separated by commas: " + ", ".join(PEERS))
    parser.add_argument("--nearprint", required=True, help="the program")
    parser.add_argument("--czkawka", help="the program czkawka_cli")
    tools = parser.parse_args()
    wanted = tools.only.split(",") if tools.only else list(PEERS)
    with tempfile.TemporaryDirectory() as temporary:
        compare(tools, wanted, pathlib.Path(temporary))


def compare(tools, wanted, temporary):
    folder = (tools.folder or temporary / "photos").resolve()
    if not folder.exists():
        generator = HERE / "../../python/benchmarks/pictures.py"
        size = ["--count", str(tools.count), "--side", *map(str, tools.side)]
        subprocess.run([sys.executable, generator, "generate", folder, *size], check=True)
    files, truth = files_of(folder), truth_of(folder)
    size = sum(len(path.read_bytes()) for path in files) / 1e6
    print(f"{len(files):,} pictures ({size:,.0f} MB), {len(truth):,} edited copies, {datetime.date.today()}\n")
    columns = [
        "",
        "CPU",
        "wall",
        "steps, CPU",
        "resident",
        "a second run: CPU, wall, resident",
        "on disk",
    ]
    print_row([*columns, "found", "wrong"])
    print("|---" * (len(columns) + 2) + "|", flush=True)
    by_edit = {}
    for name in wanted:
        home = temporary / name
        home.mkdir()
        report = measured(name, tools, folder, home)
        by_edit[PEERS[name]], wrong = evaluated(report["pairs"], truth)
        cells = [
            f"{report['total']:,.1f} s",
            f"{report['wall']:,.1f} s",
            ", ".join(f"{step} {seconds:,.2f} s" for step, seconds in report["steps"].items()),
            f"{report['resident'] / 1e6:,.0f} MB",
            report["again"],
            "-" if report["disk"] is None else f"{report['disk'] / 1e6:,.1f} MB",
            f"{by_edit[PEERS[name]].total()} of {len(truth)}",
            str(wrong),
        ]
        print_row([PEERS[name], *cells])
    found, wrong = evaluated(brute_force(tools, folder, temporary), truth)
    by_edit["all of nearprint's fingerprints compared"] = found
    print(f"\nComparing all of nearprint's fingerprints: {found.total()} found, {wrong} wrong.\n")
    print_row(["edit", *by_edit])
    print("|---" * (len(by_edit) + 1) + "|")
    for edit, count in collections.Counter(truth.values()).items():
        print_row([edit, *(f"{found[edit] / count:.2f}" for found in by_edit.values())])


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

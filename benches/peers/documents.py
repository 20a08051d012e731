"""Nearprint and its peers deduplicate the same documents: prints one table for each set of documents.

    benches/peers/documents.sh                       24,000 and 240,000 generated pages
    benches/peers/documents.sh --pages 24000 --template 0.3 --only nearprint,rensa
    benches/peers/documents.sh --pages "" --descriptions FILE.jsonl.gz
    benches/peers/documents.sh --pages "" --forms 50
    benches/peers/documents.sh --pages "" --labelled diabetes,cardiac

A file of descriptions holds `{"package", "text"}` a line. Each peer is a process of its own, which reads the
documents, makes words and shingles of them, and writes which documents it left out. The example
`yardstick` measures precision and recall. Afterwards a second process checks 1% more documents against what the first one
stored: with generated pages the next ones, with descriptions the last 1% of the file.

Of forms and labelled records it is known which documents are the same: there are precision and recall by that, too.
"""

import argparse
import dataclasses
import datetime
import gzip
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Optional, Union

import labelled

HERE = pathlib.Path(__file__).resolve().parent
SIMILARITY = "0.7"
Command = list[Union[str, pathlib.Path]]
COLUMNS = [
    "",
    "CPU, s",
    "wall, s",
    "memory, MB",
    "resident, MB",
    "on disk, MB",
    "left out",
    "precision",
    "recall",
]
MORE = "1% more: CPU, wall"
LABELS = ["precision by labels", "recall"]
#: Documents made of forms.
FORM_DOCUMENTS = 100_000


@dataclasses.dataclass
class Corpus:
    name: str
    documents: pathlib.Path
    more: Optional[pathlib.Path] = None
    #: What each document is one of, by key, if that is known.
    groups: Optional[dict[str, str]] = None


@dataclasses.dataclass
class Run:
    """The files of one process."""

    documents: pathlib.Path
    duplicates: pathlib.Path
    output: pathlib.Path
    state: pathlib.Path


@dataclasses.dataclass
class Tools:
    nearprint: pathlib.Path
    yardstick: pathlib.Path
    generated_pages: pathlib.Path
    gaoya: pathlib.Path


@dataclasses.dataclass
class Usage:
    cpu: float
    wall: float
    anonymous: int
    resident: int


@dataclasses.dataclass
class Limits:
    cpu_seconds: float
    memory_bytes: float


@dataclasses.dataclass
class Peer:
    label: str
    command: Callable[[Tools, Run], Command]
    continues: bool = False
    finds: bool = True
    # What turns the output of the peer into the file of duplicates, not measured.
    finish: Optional[Callable[[Run], None]] = None


def nearprint(*options: str) -> Callable[[Tools, Run], Command]:
    def command(tools: Tools, run: Run) -> Command:
        files: Command = [run.documents, "--output", run.output, "--duplicates", run.duplicates]
        return [tools.nearprint, "dedup", *files, "--key-field", "key", *options]

    return command


def nearprint_database(tools: Tools, run: Run) -> Command:
    return [*nearprint()(tools, run), "--db", run.state]


def python_peer(name: str, *, stores: bool = False) -> Callable[[Tools, Run], Command]:
    def command(_: Tools, run: Run) -> Command:
        state = [run.state] if stores else []
        return [sys.executable, HERE / "document_peers.py", name, run.documents, run.duplicates, *state]

    return command


def gaoya(tools: Tools, run: Run) -> Command:
    return [tools.gaoya, run.documents, run.duplicates]


def text_dedup(_: Tools, run: Run) -> Command:
    source: Command = ["--path", "json", "--data_files", run.documents, "--split", "train", "--column", "text"]
    files: Command = ["--cache_dir", run.output.with_suffix(".cache"), "--output", run.output, "--debug"]
    # No text is too short to be considered.
    near = ["--ngram", "3", "--threshold", SIMILARITY, "--min_length", "1"]
    return [sys.executable, "-m", "text_dedup.minhash", *source, *files, *near]


def spark(name: str) -> Callable[[Tools, Run], Command]:
    def command(_: Tools, run: Run) -> Command:
        return [sys.executable, HERE / "spark_peers.py", name, run.documents, run.duplicates]

    return command


def text_dedup_duplicates(run: Run) -> None:
    script = HERE / "text_dedup_clusters.py"
    clusters = run.output / "uf.pkl"
    subprocess.run([sys.executable, script, run.documents, clusters, run.duplicates], check=True)


PEERS = {
    "nearprint": Peer("nearprint", nearprint()),
    "nearprint-db": Peer("nearprint, `--db`", nearprint_database, continues=True),
    "nearprint-none": Peer("nearprint, `--store hashes`", nearprint("--store", "hashes")),
    "nearprint-spark": Peer("nearprint.spark.dedup", spark("nearprint")),
    "spark-session": Peer("a session of Spark, and the texts to Python", spark("session"), finds=False),
    "spark-mllib": Peer("Spark MLlib, MinHashLSH", spark("mllib")),
    "datatrove": Peer("datatrove", python_peer("datatrove")),
    "incrededup": Peer("incrededup", python_peer("incrededup")),
    "rensa": Peer("rensa, RMinHashDeduplicator", python_peer("rensa")),
    "rensa-lsh": Peer("rensa, RMinHashLSH and pickle", python_peer("rensa-lsh", stores=True), continues=True),
    "gaoya": Peer("gaoya, MinHashIndex", gaoya),
    "datasketch": Peer("datasketch, MinHashLSH and pickle", python_peer("datasketch", stores=True), continues=True),
    "text-dedup": Peer("text-dedup, text_dedup.minhash", text_dedup, finish=text_dedup_duplicates),
}


def generate_pages(tools: Tools, home: pathlib.Path, count: int, template: float) -> Corpus:
    documents, more = home / "pages.jsonl", home / "more.jsonl"
    command: Command = [tools.generated_pages, str(count + count // 100), "--template", str(template)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        lines = iter(process.stdout or ())
        write_lines(documents, itertools.islice(lines, count))
        write_lines(more, lines)
    if process.returncode != 0:
        sys.exit(f"{tools.generated_pages} failed")
    name = f"{count:,} generated pages"
    return Corpus(f"{name}, template {template}" if template else name, documents, more)


def read_descriptions(path: pathlib.Path, home: pathlib.Path) -> Corpus:
    documents, more = home / "descriptions.jsonl", home / "more.jsonl"
    with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as lines:
        parsed = [json.loads(line) for line in lines]
    encoded = [json.dumps({"key": item["package"], "text": item["text"]}).encode() + b"\n" for item in parsed]
    count = len(encoded) - len(encoded) // 100
    write_lines(documents, iter(encoded[:count]))
    write_lines(more, iter(encoded[count:]))
    return Corpus(f"{count:,} package descriptions", documents, more)


def generate_forms(tools: Tools, home: pathlib.Path, forms: int) -> Corpus:
    documents = home / "forms.jsonl"
    with open(documents, "wb") as out:
        subprocess.run([tools.generated_pages, str(FORM_DOCUMENTS), "--forms", str(forms)], stdout=out, check=True)
    with open(documents, encoding="utf-8") as lines:
        groups = {document["key"]: document["group"] for document in map(json.loads, lines)}
    return Corpus(f"{FORM_DOCUMENTS:,} documents of {forms} forms", documents, groups=groups)


def read_labelled(package: pathlib.Path, name: str, home: pathlib.Path) -> Corpus:
    documents = home / f"{name}.jsonl"
    groups = labelled.read(package, name, documents)
    return Corpus(f"{len(groups):,} records of {name}", documents, groups=groups)


def write_lines(path: pathlib.Path, lines: Iterator[bytes]) -> None:
    with open(path, "wb") as out:
        out.writelines(lines)


def process_tree(pid: int) -> list[int]:
    """A process and all processes that it started."""
    children: list[int] = []
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        children.extend(map(int, (thread / "children").read_text().split()))
    return [pid, *itertools.chain.from_iterable(map(process_tree, children))]


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def memory_bytes(pid: int) -> tuple[int, int]:
    """Anonymous and resident memory; what processes share is divided among them."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = {name: int(size) * 1024 for name, size in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}
    return sizes["Pss_Anon"], sizes["Pss"]


def watch(process: subprocess.Popen[bytes], ended: threading.Event, usage: Usage, limits: Limits) -> None:
    """Keeps the most memory of a process tree and its CPU time in `usage`, and ends the tree at its limits."""
    pause = 0.0
    cpu: dict[int, float] = {}
    while not ended.wait(pause):
        start = time.perf_counter()
        try:
            tree = process_tree(process.pid)
            cpu.update((pid, cpu_seconds(pid)) for pid in tree)
            anonymous, resident = map(sum, zip(*map(memory_bytes, tree)))
        except OSError:  # a process has just ended
            pause = 0.002
            continue
        usage.anonymous, usage.resident = max(usage.anonymous, anonymous), max(usage.resident, resident)
        # Nobody waits for what Java has started: the system forgets its time.
        usage.cpu = sum(cpu.values())
        if usage.cpu > limits.cpu_seconds or resident > limits.memory_bytes:
            os.killpg(process.pid, signal.SIGKILL)
        pause = max(0.01, 20 * (time.perf_counter() - start))


def measure(command: Command, home: pathlib.Path, limits: Limits) -> Optional[Usage]:
    """What a command used, its children included; none if it failed or was ended at a limit."""
    # No peer needs a network.
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home / "huggingface")}
    usage, ended = Usage(0, 0, 0, 0), threading.Event()
    with open(home / "log", "wb") as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        watcher = threading.Thread(target=watch, args=(process, ended, usage, limits))
        watcher.start()
        # The watcher looks at the process until it is reaped.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        usage.wall = time.perf_counter() - start
        ended.set()
        watcher.join()
        _, status, total = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        lines = (home / "log").read_text(errors="replace").splitlines()
        print(*command, f"exit status {process.returncode}", *lines[-5:], sep="\n", file=sys.stderr)
        return None
    usage.cpu = max(usage.cpu, total.ru_utime + total.ru_stime)
    return usage


def output(command: Command) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def size_bytes(path: pathlib.Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def judge(tools: Tools, run: Run) -> list[str]:
    """How many documents were left out, precision and recall."""
    text = output([tools.yardstick, run.documents, run.duplicates, SIMILARITY])
    counted = re.search(r"(\d+) left out\nprecision ([\d.]+).*\nrecall ([\d.]+)", text)
    if counted is None:
        sys.exit(f"{tools.yardstick}: unexpected output: {text}")
    return [f"{int(counted[1]):,}", counted[2], counted[3]]


def shown_mb(size: int) -> str:
    return f"{size / 1e6:,.0f}"


def continued(peer: Peer, tools: Tools, run: Run, limits: Limits) -> str:
    """The time of a second process with more documents, and how many it left out."""
    usage = measure(peer.command(tools, run), run.output.parent, limits)
    if usage is None:
        return "-"
    left_out = len(run.duplicates.read_bytes().splitlines())
    return f"{usage.cpu:.2f}, {usage.wall:.2f} s; {left_out:,} left out"


def columns(corpus: Corpus) -> list[str]:
    return COLUMNS + LABELS * (corpus.groups is not None) + [MORE] * (corpus.more is not None)


def row(name: str, tools: Tools, corpus: Corpus, home: pathlib.Path, limits: Limits) -> list[str]:
    peer = PEERS[name]
    first = Run(corpus.documents, home / "duplicates.tsv", home / "out", home / "state")
    usage = measure(peer.command(tools, first), home, limits)
    if usage is None:
        return [peer.label] + ["-"] * (len(columns(corpus)) - 1)
    if peer.finish:
        peer.finish(first)
    sizes = [shown_mb(usage.anonymous), shown_mb(usage.resident)]
    disk = shown_mb(size_bytes(first.state)) if peer.continues else "-"
    cells = [peer.label, f"{usage.cpu:.2f}", f"{usage.wall:.2f}", *sizes, disk]
    cells += judge(tools, first) if peer.finds else ["-"] * 3
    if corpus.groups is not None:
        cells += labelled.judge(corpus.groups, first.duplicates) if peer.finds else ["-"] * 2
    if corpus.more is not None and peer.continues:
        again = Run(corpus.more, home / "more.tsv", home / "more-out", first.state)
        cells.append(continued(peer, tools, again, limits))
    elif corpus.more is not None:
        cells.append("from the start" if peer.finds else "-")
    return cells


def table(names: list[str], tools: Tools, corpus: Corpus, home: pathlib.Path, limits: Limits) -> None:
    size = shown_mb(size_bytes(corpus.documents))
    print(f"\n### {corpus.name} ({size} MB), {commit()}, {datetime.date.today()}\n")
    print(f"| {' | '.join(columns(corpus))} |")
    print(f"|{'---|' * len(columns(corpus))}", flush=True)
    for name in names:
        folder = home / name
        folder.mkdir()
        print(f"| {' | '.join(row(name, tools, corpus, folder, limits))} |", flush=True)
        shutil.rmtree(folder)


def commit() -> str:
    return output(["git", "-C", HERE, "rev-parse", "--short", "HEAD"]).strip()


def corpora(arguments: argparse.Namespace, tools: Tools, home: pathlib.Path) -> Iterator[Corpus]:
    for count in filter(None, arguments.pages.split(",")):
        yield generate_pages(tools, home, int(count), arguments.template)
    if arguments.descriptions:
        yield read_descriptions(arguments.descriptions, home)
    if arguments.forms:
        yield generate_forms(tools, home, arguments.forms)
    if arguments.labelled:
        package = labelled.download(home)
        for name in arguments.labelled.split(","):
            yield read_labelled(package, name, home)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", default="24000,240000", help="numbers of generated pages, separated by commas")
    parser.add_argument("--template", type=float, default=0, help="the share of pages with the same 150 words")
    parser.add_argument("--descriptions", type=pathlib.Path, help='JSON lines with "package" and "text", plain or .gz')
    parser.add_argument("--forms", type=int, default=0, help="a number of forms; 100,000 documents are made of them")
    parser.add_argument("--labelled", default="", help="names of labelled sets of bib-dedupe, separated by commas")
    parser.add_argument("--only", default=",".join(PEERS), help="names of peers, separated by commas: %(default)s")
    parser.add_argument("--cpu-limit", type=float, default=1200, help="seconds for each process; a dash if exceeded")
    parser.add_argument("--memory-limit", type=float, default=16, help="GB for each process; a dash if exceeded")
    parser.add_argument("--release", type=pathlib.Path, required=True, help="a folder with release builds of nearprint")
    parser.add_argument("--gaoya", type=pathlib.Path, required=True, help="the compiled gaoya_documents")
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - PEERS.keys()
    if unknown:
        parser.error(f"no such peers: {', '.join(sorted(unknown))}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    # The peers run in folders of their own.
    release, gaoya_documents = arguments.release.resolve(), arguments.gaoya.resolve()
    tools = Tools(release / "nearprint", release / "yardstick", release / "generated_pages", gaoya_documents)
    limits = Limits(arguments.cpu_limit, arguments.memory_limit * 1e9)
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        for corpus in corpora(arguments, tools, home):
            table(arguments.only.split(","), tools, corpus, home, limits)


if __name__ == "__main__":
    main()

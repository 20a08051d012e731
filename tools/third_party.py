#!/usr/bin/env python3
"""Prints the licences of everything that a program or library of this workspace contains.

    tools/third_party.py PACKAGE TARGET...

PACKAGE is a package of the workspace, and TARGET a target of rustc. With several, the
contents of all are listed. Equal texts are printed once. A package without a licence text gets the text of another
one from the same repository, or the standard text of its licence; if there is none, this is an error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
# Folders of packages that no program contains.
UNUSED = {"debian", "tests", "test", "benches", "examples", "fuzz"}
MIT = (ROOT / "LICENSE-MIT").read_text()
STANDARD = {
    "Apache-2.0": (ROOT / "LICENSE-APACHE").read_text(),
    "MIT": MIT[MIT.index("Permission is hereby granted") :],
}
MUSL = "Copyright © 2005-2020 Rich Felker, et al.\n\n" + STANDARD["MIT"]
LINE = "=" * 80


def metadata(targets: list[str]) -> dict:
    platforms = [word for target in targets for word in ("--filter-platform", target)]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *platforms]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def contained(found: dict, package: str) -> list[dict]:
    """The packages that a package is linked with, and itself."""
    packages = {entry["id"]: entry for entry in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    waiting = [key for key in found["workspace_members"] if packages[key]["name"] == package]
    if not waiting:
        sys.exit(f"tools/third_party.py: no package {package} in the workspace")
    seen: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen.add(key)
            normal = (dep for dep in nodes[key]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"]))
            waiting.extend(dep["pkg"] for dep in normal)
    return sorted((packages[key] for key in seen), key=lambda entry: (entry["name"], entry["version"]))


def own_texts(entry: dict) -> list[str]:
    """The licence texts in the sources of a package."""
    folder = Path(entry["manifest_path"]).parent
    if not folder.is_dir():
        sys.exit(f"tools/third_party.py: {entry['name']}: {folder} is missing")
    # The package in the root of the workspace holds the others.
    paths = [*folder.glob("*"), *(folder / "src").rglob("*")] if folder == ROOT else folder.rglob("*")
    texts = []
    for path in sorted(paths):
        used = not UNUSED.intersection(path.relative_to(folder).parts)
        if used and path.is_file() and NAMES.match(path.name) and path.suffix not in {".rs", ".py"}:
            texts.append(path.read_text(errors="replace"))
    return texts


def standard_texts(entry: dict) -> list[str]:
    """Standard texts for the expression of a package: one for each part of an AND. Empty if one is unknown."""
    texts = []
    for part in re.split(r"\s+AND\s+", entry["license"] or ""):
        choices = re.split(r"\s+OR\s+|/", part.strip(" ()"))
        chosen = next((choice.strip(" ()") for choice in choices if choice.strip(" ()") in STANDARD), None)
        if chosen is None:
            return []
        authors = ", ".join(entry["authors"]) or f"the authors of {entry['name']}"
        texts.append((f"Copyright (c) {authors}\n\n" if chosen == "MIT" else "") + STANDARD[chosen])
    return texts


def all_texts(packages: list[dict]) -> dict[str, list[str]]:
    """The texts of each package, by name and version."""
    own = {entry["id"]: own_texts(entry) for entry in packages}
    by_repository = {entry["repository"]: own[entry["id"]] for entry in packages if own[entry["id"]]}
    found = {}
    for entry in packages:
        texts = own[entry["id"]]
        if not texts and entry["repository"]:
            texts = by_repository.get(entry["repository"], [])
        texts = texts or standard_texts(entry)
        if not texts:
            sys.exit(f"tools/third_party.py: {entry['name']}: no text of its licence, {entry['license']}")
        found[f"{entry['name']} {entry['version']}"] = texts
    return found


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    package, *targets = sys.argv[1:]
    packages = contained(metadata(targets), package)
    texts = all_texts(packages)
    rust = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    licences = {f"{entry['name']} {entry['version']}": entry["license"] for entry in packages}
    licences[f"Rust's standard library {rust}"] = "MIT OR Apache-2.0"
    texts[f"Rust's standard library {rust}"] = [STANDARD["Apache-2.0"]]
    if any(target.endswith("-musl") for target in targets):
        licences["musl"] = "MIT"
        texts["musl"] = [MUSL]

    users: dict[str, tuple[str, list[str]]] = {}
    for name, found in texts.items():
        for text in found:
            _, names = users.setdefault(" ".join(text.split()), (text.strip("\n"), []))
            if name not in names:
                names.append(name)
    sys.stdout.reconfigure(encoding="utf-8")
    print(f"What {package} contains, and the licences. The texts follow.\n")
    for name, licence in licences.items():
        print(f"{name}: {licence}")
    for text, names in users.values():
        print(f"\n{LINE}\n{', '.join(names)}\n{LINE}\n\n{text}")


main()

#!/usr/bin/env python3
"""Checks the links between the pages: each file exists, and each anchor by GitHub's rules."""

import re
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text("utf-8"))


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    anchors: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text_of(page), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = 0
        while (unique := f"{anchor}-{count}" if count else anchor) in anchors:
            count += 1
        anchors.add(unique)
    return anchors


def faults_of(page: Path) -> list[str]:
    """What is wrong with the links of a page."""
    faults = []
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text_of(page))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists():
            faults.append(f"{page}: {link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            faults.append(f"{page}: {link}: no such anchor")
    return faults


def main() -> int:
    """Prints what is wrong, and says whether anything is."""
    listed = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, check=True, text=True)
    pages = [page for name in listed.stdout.splitlines() if not (page := Path(name)).is_symlink()]
    faults = [fault for page in pages for fault in faults_of(page)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""A training set without evaluation texts: `nearprint decontaminate` beside a script of twenty lines.

    python benches/peers/decontaminate.py --nearprint target/release/nearprint --pages pages.jsonl

Evaluation texts are thirty words of every hundredth page. Prints the processor time, the time and the memory of each
process. Both keep the same pages, or this fails. `generated_pages` makes pages.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

#: The passages of 13 words of the evaluation texts are a set, and each page is looked up in it.
SCRIPT = """
import json, re, sys

def words(text):
    return re.findall(r"[^\\W_]+", text.lower())

def passages(words, n):
    return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}

pages, evaluation, kept = sys.argv[1:]
known = set()
for line in open(evaluation):
    known |= passages(words(json.loads(line)["text"]), 13)
with open(kept, "w") as out:
    for line in open(pages):
        if known.isdisjoint(passages(words(json.loads(line)["text"]), 13)):
            out.write(line)
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nearprint", required=True)
    parser.add_argument("--pages", required=True)
    given = parser.parse_args()
    print("| | processor time | clock | memory at most |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        evaluation, *kept = (os.path.join(folder, name) for name in ("evaluation.jsonl", "one.jsonl", "two.jsonl"))
        with open(given.pages) as pages, open(evaluation, "w") as out:
            for number, line in enumerate(pages):
                words = re.findall(r"[^\W_]+", json.loads(line)["text"])
                if number % 100 == 0 and len(words) >= 60:
                    out.write(json.dumps({"text": " ".join(words[20:50])}) + "\n")
        commands = {
            "a script of twenty lines": [sys.executable, "-c", SCRIPT, given.pages, evaluation, kept[0]],
            "`nearprint decontaminate`": [
                *(given.nearprint, "--quiet", "decontaminate", given.pages, "--against", evaluation),
                *("--threads", "1", "-o", kept[1]),
            ],
        }
        for name, command in commands.items():
            measured = ["/usr/bin/time", "-f", "%U %S %e %M", *command]
            done = subprocess.run(measured, check=True, stderr=subprocess.PIPE, text=True)
            user, system, clock, memory = map(float, done.stderr.split()[-4:])
            print(f"| {name} | {user + system:.1f} s | {clock:.1f} s | {memory / 1000:.0f} MB |")
        one, two = (open(path).read().splitlines() for path in kept)
        with open(given.pages) as pages:
            total = sum(1 for _ in pages)
        assert [json.loads(line) for line in one] == [json.loads(line) for line in two], "other pages are kept"
        print(f"\n{total - len(one):,} of {total:,} pages are left out")


if __name__ == "__main__":
    main()

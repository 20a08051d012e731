#!/usr/bin/env bash
# The commands of the pages, as they stand there, and what they print.
source "$(dirname "$0")/common.sh"
programs
export PATH="$work/programs:$PATH"
# The table of docs/commands.md is what `nearprint help` prints.
nearprint help | sed -n '/^Options/q; /^Files/,$ { s/^  \([a-z]*\)  *\(.*\)/| `\1` | \2 |/p; t
  s/^[A-Z].*/| **&** | |/p; }' > "$work/help"
sed -n '/^<!-- commands -->/,/^<!-- end of commands -->/ { /^| [`*]/p; }' docs/commands.md | diff "$work/help" -
# A page that says something else than what is printed is noticed, and a block that nobody runs.
printf '```sh\necho 1\n```\n\n```text\n2\n```\n' > "$work/wrong.md"
printf '```text\nof a file\n```\n\n```sh\ntrue\n```\n' > "$work/nobody.md"
for page in wrong nobody; do
  ! tools/blocks.py all "$work" "$work/$page.md" > /dev/null || { echo "$page.md passes"; exit 1; }
done
folder pages
tools/blocks.py all "$work/pages"
# The last command of the walk of README.md has undone the others.
folder before
(export ROOT=$PWD && cd "$work/before" && source "$ROOT/tools/ci/prepare.sh" && articles)
sums() {
  (cd "$work/$1" && find articles -type f -exec sha256sum {} + | sort)
}
diff <(sums before) <(sums pages/README)
grep -q "articles/b.md" "$work/pages/README/gone/nearprint-undo.tsv"

#!/usr/bin/env bash
# The commands of README.md and docs, as they stand there.
source "$(dirname "$0")/common.sh"
programs
export PATH="$work/programs:$PATH"
# The table of docs/commands.md is what `nearprint help` prints.
nearprint help | sed -n '/^Options/q; /^Files/,$ { s/^  \([a-z]*\)  *\(.*\)/| `\1` | \2 |/p; t
  s/^[A-Z].*/| **&** | |/p; }' > "$work/help"
sed -n '/^<!-- commands -->/,/^<!-- end of commands -->/ { /^| [`*]/p; }' docs/commands.md | diff "$work/help" -
# The folder of README.md.
folder folder
cp -r docs "$work/folder/articles"
cp docs/commands.md "$work/folder/articles/a.md"
sed '1,9d' docs/commands.md > "$work/folder/articles/b.md"
# Files of all kinds, as people have them.
gzip -c docs/recipes.md > "$work/folder/articles/recipes.md.gz"
{ echo '<html><body>'; cat docs/minhash.md; } > "$work/folder/articles/page.html"
printf '{"text": "one of several"}\n' > "$work/folder/articles/data.json"
printf 'id,text\n1,one of several\n' > "$work/folder/articles/table.csv"
cp docs/scan.md "$work/folder/articles/line"$'\n'"feed.md"
mkfifo "$work/folder/articles/pipe"
sums() {
  (cd "$work/folder" && find articles -type f -exec sha256sum {} + | sort)
}
sums > "$work/before"
folder images/photos
cp docs/images/*.png "$work/images/photos"
cp docs/images/report.png "$work/images/photos/a.png"
for block in tour dedup recipes explain reports images folder; do
  tools/readme.sh "$block" "$work/$block" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
done
# They go on in the folder of the guide.
for block in dedup-lookup dedup-detail; do
  tools/readme.sh "$block" "$work/dedup" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
done
# The last command of the walk has undone the others.
sums | diff "$work/before" -
grep -q "articles/b.md" "$work/folder/gone/nearprint-undo.tsv"

# What the blocks of the pages find in their folder, before `<!-- prepare: NAME -->`: see tools/blocks.py, which sets
# ROOT. Programs in `bin` come before those of the machine.
# shellcheck shell=bash

# Records, of which each second one has one more word than the one before.
pages() {
  awk 'BEGIN {
    for (n = 0; n < 40; n++) {
      text = "page"
      for (word = 0; word < 120 + n % 2; word++) text = text " " int(n / 2) "x" word
      printf "{\"url\":\"https://example.org/%d\",\"group\":\"g%d\",\"text\":\"%s\"}\n", n, n / 2, text
    }
  }' > pages.jsonl
  printf 'https://example.org/0\thttps://example.org/1\n' > same.tsv
  printf 'text\nOne two three four five six seven eight?\n' > evals.csv
  gzip -k pages.jsonl
  nearprint dedup pages.jsonl -o pages.parquet --quiet
}

# Records of two days.
days() {
  local day
  for day in monday tuesday; do
    awk -v day="$day" 'BEGIN {
      for (n = 0; n < 40; n++) printf "{\"url\":\"%s/%d\",\"text\":\"page %d of the series, one of %d pages\"}\n", day, n, n, n * 7
    }' > "$day.jsonl"
  done
}

# Fingerprints, each with an id.
prints() {
  seq 1 1000 | awk '{ printf "%d\t%d\n", $1 * $1 * 65537, $1 }' > prints.txt
}

# A database with keys, and more rows.
corpus() {
  prints
  mkdir backup
  sed 's/\t/\tu/' prints.txt > keyed.tsv
  nearprint build corpus.np keyed.tsv --store keys --columns fingerprint,key
  awk '{ printf "%d\t%d\n", $1 + 1, $2 }' prints.txt > today.txt
}

# What a page on all commands takes.
crate() {
  prints
  pages
  mkdir projects
  seq 1 60 | tr '\n' ' ' | tee projects/a.txt > projects/b.txt
}

# Fingerprints alone.
hashes() {
  seq 1 1000 > hashes.txt
}

# A text.
fox() {
  printf 'the quick brown fox jumps over the lazy dog\n' > fox.txt
}

# The pages that measurements are made with, and the same with their keys as addresses.
generated() {
  cargo run --release --package measures --bin generated_pages -- 24000 > pages.jsonl
  sed 's/"key"/"url"/' pages.jsonl | gzip -1 > pages.jsonl.gz
}

# A crawl, and the questions of an evaluation.
crawl() {
  pages
  mv pages.jsonl crawl.jsonl
  local question="Which page of the series is one of how many pages that somebody may have read before?"
  printf '{"question":"%s","text":"%s"}\n' "$question" "$question" > evals.jsonl
}

# What docs/deduplication.md leaves in its folder.
guide() {
  [ -d ../guide ] || "$ROOT/tools/blocks.py" all ../guide docs/deduplication.md
  cp -r ../guide/docs/deduplication/. .
}

# A program of the folder, made of its second argument.
program() {
  mkdir -p bin
  printf '#!/bin/sh\n%s\n' "$2" > "bin/$1"
  chmod +x "bin/$1"
}

# Letters of several formats, and stand-ins for the programs that read them.
letters() {
  mkdir letters
  seq 1 60 | tr '\n' ' ' | tee letters/a.txt letters/b.pdf letters/c.docx > letters/d.odt
  # shellcheck disable=SC2016 # The program expands it.
  program pdftotext 'cat "$1"'
  # shellcheck disable=SC2016
  program pandoc 'cat "$3"'
  # shellcheck disable=SC2016
  program totext 'cat "$1"'
  [ -e totext ] || cp bin/totext .
}

# A stand-in for a program that needs another machine.
rsync() {
  program rsync true
}

# Stand-ins for the programs of MongoDB, and no database yet.
mongodb() {
  rm -rf seen.np
  program mongoexport "printf '%s\n' '{\"_id\":{\"\$oid\":\"1\"},\"content\":\"one two three\"}'"
  program mongoimport 'cat > imported.jsonl'
}

# A folder of texts of all kinds, as people have them.
articles() {
  cp -r "$ROOT/docs" articles
  cp "$ROOT/docs/commands.md" articles/a.md
  sed '1,9d' "$ROOT/docs/commands.md" > articles/b.md
  gzip -c "$ROOT/docs/recipes.md" > articles/recipes.md.gz
  { echo '<html><body>'; cat "$ROOT/docs/minhash.md"; } > articles/page.html
  printf '{"text": "one of several"}\n' > articles/data.json
  printf 'id,text\n1,one of several\n' > articles/table.csv
  cp "$ROOT/docs/scan.md" articles/line$'\n'feed.md
  mkfifo articles/pipe
}

# Pictures of one beach in three sizes and colours, and another picture.
photos() {
  mkdir -p photos/holiday photos/small
  python3 - << 'EOF'
import struct

def write(name, width, height, colour):
    places = ((x / width, y / height) for y in reversed(range(height)) for x in range(width))
    pixels = bytes(min(255, int(colour * value)) for x, y in places for value in beach(x, y))
    head = struct.pack("<2s6I2H6I", b"BM", 54 + len(pixels), 0, 54, 40, width, height, 1, 24, *[0] * 6)
    open(f"photos/{name}", "wb").write(head + pixels)

def beach(x, y):
    if (x - 0.7) ** 2 + (y - 0.2) ** 2 < 0.01:
        return 120, 230, 250
    if y < 0.45:
        return 230, 150 + 100 * y, 90 + 120 * y
    if y < 0.6 + 0.1 * (x * 5 % 1):
        return 150, 80 + 60 * x, 30
    return (140, 190, 220) if (x * 8 % 1) * (y * 8 % 1) < 0.6 else (60, 90, 120)

write("holiday/beach.bmp", 400, 300, 1)
write("small/beach.bmp", 160, 120, 1)
write("beach (edited).bmp", 160, 120, 1.2)
EOF
  cp "$ROOT/docs/images/report.png" photos/a.png
  cp photos/holiday/beach.bmp photo.jpg
}

# The list that a report of `scan notes` saves.
marked() {
  local state="%s %.9Y %i"
  mkdir Downloads
  printf 'path\tkept\tsimilarity\tstate\tkept_state\nnotes/draft.txt\tnotes/final.txt\t\t%s\t%s\n' \
    "$(stat -c "$state" notes/draft.txt)" "$(stat -c "$state" notes/final.txt)" > Downloads/nearprint-chosen.tsv
}

# Two notes, and a copy of one.
notes() {
  mkdir notes
  seq 1 60 | tr '\n' ' ' | tee notes/draft.txt > notes/copy.txt
  seq 1 62 | tr '\n' ' ' > notes/final.txt
}

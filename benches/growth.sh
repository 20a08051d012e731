#!/usr/bin/env bash
# What a database of documents costs while it grows: a job for each million, which is generated and then removed.
# Prints, for each, the seconds of processor time and on the clock, the memory at most in KB, the documents kept, and
# the bytes of the database. Takes some 450 bytes of disk for a document, and up to 2.5 times that during merges.
#
#   benches/growth.sh FOLDER MILLIONS [OPTION OF dedup ...]
#
# benches/growth.py makes a picture of several such tables.
set -euo pipefail
folder=$1 millions=$2
shift 2
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked --package nearprint-cli --package measures --bin nearprint --bin generated_pages
programs=${CARGO_TARGET_DIR:-$PWD/target}/release
mkdir -p "$folder"
cd "$folder"
echo "million cpu clock memory kept bytes"
for ((million = 0; million < millions; million++)); do
  "$programs/generated_pages" 1000000 --first $((million * 1000000)) --short > in.jsonl
  /usr/bin/time --format '%U %S %e %M' --output time \
    "$programs/nearprint" --quiet dedup in.jsonl -o out.jsonl --db seen.np --key-field key "$@"
  kept=$(wc -l < out.jsonl)
  bytes=$(du --bytes --summarize seen.np | cut -f 1)
  awk -v million=$((million + 1)) -v kept="$kept" -v bytes="$bytes" \
    '{ print million, $1 + $2, $3, $4, kept, bytes }' time
  rm in.jsonl out.jsonl
done

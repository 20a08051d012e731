#!/usr/bin/env bash
# Counts the instructions of the hot paths, and compares them with those in benches/instructions.txt: more than one in
# twenty more is an error. Times on shared machines vary too much for that.
#
#     benches/instructions.sh            compare
#     benches/instructions.sh --write    replace the file, after a change that is worth it
#
# Counts depend on the compiler, the C library and valgrind. Where the file was made with others, the
# differences are printed and nothing fails.
set -euo pipefail
cd "$(dirname "$0")/.."

known=benches/instructions.txt
most_percent=5

tools() {
  printf 'rustc %s, glibc %s, %s, %s\n' "$(rustc --version | cut -d' ' -f2)" "$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)" \
    "$(valgrind --version)" "$(uname -m)"
}

cargo build --quiet --release --locked --package measures --bin instructions
binary=${CARGO_TARGET_DIR:-target}/release/instructions

count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no "$binary" "$1" 2>&1 |
    sed -n 's/.*Collected : //p'
}

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
tools > "$counts"
"$binary" | while read -r name; do
  printf '%s\t%s\n' "$name" "$(count "$name")" >> "$counts"
done

if [ "${1:-}" = --write ]; then
  cp "$counts" "$known"
  cat "$known"
  exit
fi

is_comparable=$([ "$(head -1 "$known")" = "$(head -1 "$counts")" ] && echo 1 || echo 0)
[ "$is_comparable" = 1 ] || printf 'counted with other tools: %s; now %s\n' "$(head -1 "$known")" "$(head -1 "$counts")"
awk -F '\t' -v most="$most_percent" -v is_comparable="$is_comparable" '
  FNR == 1 { next }
  NR == FNR { known[$1] = $2; next }
  $2 + 0 == 0 { printf "%-28s  nothing was counted\n", $1; failed = 1; delete known[$1]; next }
  !($1 in known) { printf "%-28s %12d  new: add it with --write\n", $1, $2; failed = 1; next }
  {
    percent = 100 * ($2 - known[$1]) / known[$1]
    printf "%-28s %12d  %+.1f%%\n", $1, $2, percent
    if (is_comparable && percent > most) { failed = 1 }
    delete known[$1]
  }
  END {
    for (name in known) { printf "%-28s  is missing\n", name; failed = 1 }
    exit failed
  }
' "$known" "$counts"

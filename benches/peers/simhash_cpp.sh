#!/usr/bin/env bash
# simhash-cpp beside nearprint, five runs of each in turn: find_all from C++, and the program simhash-find-all.
#
#     benches/peers/simhash_cpp.sh [HASHES [HASHES OF THE PROGRAM]]
#
# SIMHASH_CPP is a folder with simhash-cpp's sources; without it they are fetched. It gets the fewest blocks that it takes
# for three bits, with which it is fastest. nearprint uses all cores.
set -euo pipefail
cd "$(dirname "$0")"

count=${1:-1000000}
count_of_program=${2:-10000000}
blocks=4
bits=3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${SIMHASH_CPP:-}" ]; then
  ../../tools/peers.sh simhash-cpp "$work/simhash-cpp"
  SIMHASH_CPP=$work/simhash-cpp
fi
../../crates/nearprint-c/install.sh "$work/nearprint"
cargo build --quiet --release --locked --manifest-path ../../Cargo.toml --package nearprint-cli --bin simhash-find-all
our_program=${CARGO_TARGET_DIR:-../../target}/release/simhash-find-all
compile() { g++ -std=c++14 -O3 "$@"; }
of_theirs=(-I "$SIMHASH_CPP/include" "$SIMHASH_CPP"/src/{simhash,permutation}.cpp)
compile find_all.cpp "${of_theirs[@]}" -o "$work/theirs"
compile "$SIMHASH_CPP/src/bin/simhash-find-all.cpp" "${of_theirs[@]}" -o "$work/their-program"
compile find_all.cpp -I "$work/nearprint/include" -I "$work/nearprint/include/simhash" \
  "$work/nearprint/lib/libnearprint.a" -lpthread -ldl -lm -o "$work/ours"
"$work/ours" "$count_of_program" print > "$work/hashes"

# The seconds that a program takes, and the pairs that it writes.
run_program() {
  local start=$EPOCHREALTIME
  "$1" --blocks "$blocks" --distance "$bits" --input "$work/hashes" --output "$work/pairs" > /dev/null 2>&1
  local end=$EPOCHREALTIME
  printf 'the program, %s hashes of text\t%d\t%d\n' "$count_of_program" $((${end/./} - ${start/./})) \
    "$(wc -l < "$work/pairs")"
}

# Prints a table of lines `what, microseconds, pairs` of both: nearprint's with their ratio to the last one of simhash-cpp.
compare() {
  awk -F '\t' '
    /^simhash-cpp/ { theirs = $3; pairs = $4 }
    $4 != pairs { printf "%s: %d pairs instead of %d\n", $2, $4, pairs; exit 1 }
    /^nearprint/ { printf "%s\t%.6f\t%.6f\t%.4f\n", $2, $3 / 1e6, theirs / 1e6, theirs / $3 }
  ' | sort -t "$(printf '\t')" -k1,1 -k4,4n | awk -F '\t' '
    $1 != name { name = $1; number = 0 }
    { ours[++number] = $2; theirs[number] = $3; ratio[number] = $4 }
    number == 5 { printf "| %s | %.3f | %.3f | %.1f, %.1f, %.1f |\n", name, ours[3], theirs[3], ratio[1], ratio[3], ratio[5] }
  '
}

printf '| | nearprint, s | simhash-cpp, s | ratio: least, median, most |\n|---|---|---|---|\n'
for _ in 1 2 3 4 5; do
  "$work/theirs" "$count" "$blocks" | sed 's/^/simhash-cpp\t/'
  "$work/ours" "$count" "$blocks" | sed 's/^/nearprint\t/'
done | compare
for _ in 1 2 3 4 5; do
  run_program "$work/their-program" | sed 's/^/simhash-cpp\t/'
  run_program "$our_program" | sed 's/^/nearprint\t/'
done | compare

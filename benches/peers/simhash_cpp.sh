#!/usr/bin/env bash
# simhash-cpp's find_all, and nearprint's from C++, of the same million hashes: five runs of each in turn.
#
#     benches/peers/simhash_cpp.sh [COUNT]
#
# SIMHASH_CPP is a folder with simhash-cpp's sources; without it they are fetched. It gets the fewest blocks that it takes
# for three bits, with which it is fastest. nearprint uses all cores.
set -euo pipefail
cd "$(dirname "$0")"

count=${1:-1000000}
blocks=4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${SIMHASH_CPP:-}" ]; then
  git clone --quiet --depth 1 https://github.com/seomoz/simhash-cpp "$work/simhash-cpp"
  SIMHASH_CPP=$work/simhash-cpp
fi
../../crates/nearprint-c/install.sh "$work/nearprint"
compile() { g++ -std=c++14 -O3 find_all.cpp "$@"; }
compile -I "$SIMHASH_CPP/include" "$SIMHASH_CPP"/src/{simhash,permutation}.cpp -o "$work/theirs"
compile -I "$work/nearprint/include" -I "$work/nearprint/include/simhash" "$work/nearprint/lib/libnearprint.a" \
  -lpthread -ldl -lm -o "$work/ours"

for _ in 1 2 3 4 5; do
  "$work/theirs" "$count" "$blocks" | sed 's/^/simhash-cpp, /'
  "$work/ours" "$count" "$blocks" | sed 's/^/nearprint, /'
done > "$work/times"
# The ratio of each run to the run of simhash-cpp before it.
awk -F '\t' '
  /^simhash-cpp/ { theirs = $2; pairs = $3 }
  $3 != pairs { printf "%s: %d pairs instead of %d\n", $1, $3, pairs; exit 1 }
  { printf "%s\t%s\t%.4f\n", $1, $2, theirs / $2 }
' "$work/times" | sort -t "$(printf '\t')" -k1,1 -k3,3n | awk -F '\t' '
  BEGIN { print "| | s | times as fast as simhash-cpp: least, median, most |\n|---|---|---|" }
  $1 != name { name = $1; number = 0 }
  { seconds[++number] = $2; ratio[number] = $3 }
  number == 5 { printf "| %s | %.3f | %.1f, %.1f, %.1f |\n", name, seconds[3], ratio[1], ratio[3], ratio[5] }
'

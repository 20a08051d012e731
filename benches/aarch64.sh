#!/usr/bin/env bash
# Counts the instructions of the filter of 8,000 words on aarch64, and compares them with benches/aarch64.txt: more than one
# in twenty more is an error. qemu runs the unit test that filters between two marks, one instruction at a time. Also
# looks whether prefetches are compiled in.
#
#     benches/aarch64.sh TESTS            compare; TESTS is the program with the engine's unit tests
#     benches/aarch64.sh TESTS --write    replace the file, after a change that is worth it
#
# Where the file was made with another compiler, the difference is printed and nothing fails.
set -euo pipefail
cd "$(dirname "$0")/.."

known=benches/aarch64.txt
most_percent=5
compiler="rustc $(rustc --version | cut -d' ' -f2)"

# The mark is `hint #85`. qemu prints each instruction once, before it first runs, and a line for each that runs.
count=$(qemu-aarch64 -L /usr/aarch64-linux-gnu -singlestep -d in_asm,exec,nochain \
  "$1" --exact kernel::tests::a_filter_between_two_marks --test-threads 1 2>&1 |
  awk '/ d5032abf / { marks++ } /^Trace/ && marks == 1 { count++ } END { if (marks == 2) print count }')
[ -n "$count" ] || { echo "the test has not passed both marks" >&2; exit 1; }
aarch64-linux-gnu-objdump -d "$1" | awk '/prfm\tpldl2keep/ { found++ } END { exit found < 10 }' ||
  { echo "prefetches are missing" >&2; exit 1; }

if [ "${2:-}" = --write ]; then
  printf '%s\nfilter of 8,000 words\t%d\n' "$compiler" "$count" > "$known"
fi
before=$(cut -f 2 <(tail -n 1 "$known"))
printf 'filter of 8,000 words  %d instructions, %+d\n' "$count" $((count - before))
if [ "$(head -n 1 "$known")" != "$compiler" ]; then
  echo "counted with $(head -n 1 "$known"); now $compiler"
elif [ $((100 * count)) -gt $(((100 + most_percent) * before)) ]; then
  exit 1
fi

#!/usr/bin/env bash
# Compiles the C and C++ examples and tests with gcc and clang, and runs them: as they are, under valgrind, and with
# the address and undefined-behaviour sanitizers. Compares the header with the code, and the exported symbols with
# the header.
#
#   crates/nearprint-c/tests/run.sh            runs everything
#   crates/nearprint-c/tests/run.sh --write    writes the header anew
#
# With SIMHASH_CPP=FOLDER, a clone of https://github.com/seomoz/simhash-cpp, also compiles its tests against
# simhash/simhash.h. They need Google Test.
set -euo pipefail
cd "$(dirname "$0")/../../.."
here=crates/nearprint-c
cbindgen_version=0.29.4

if [ "$(cbindgen --version 2> /dev/null)" != "cbindgen $cbindgen_version" ]; then
  # Away from the workspace's build settings, which would only slow it down.
  (cd / && env -u CARGO_TARGET_DIR -u RUSTFLAGS CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
    cargo install --locked --quiet "cbindgen@$cbindgen_version")
fi
header() { (cd "$here" && cbindgen --quiet --config cbindgen.toml .); }
if [ "${1:-}" = --write ]; then
  header > "$here/include/nearprint.h"
  exit
fi
diff -u "$here/include/nearprint.h" <(header)

# With debug assertions, which recognize handles that were freed.
cargo test --quiet --package nearprint-c --locked
cargo build --quiet --profile test --package nearprint-c --locked
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/lib"
built=${CARGO_TARGET_DIR:-target}/debug
cp "$built/libnearprint_c.so" "$work/lib/libnearprint.so"
cp "$built/libnearprint_c.a" "$work/lib/libnearprint.a"

# None but the functions of the header.
diff <(nm -D --defined-only "$work/lib/libnearprint.so" | cut -d ' ' -f 3 | sort) \
  <(grep -o '\<nearprint_[a-z_]*(' "$here/include/nearprint.h" | grep -v '_fn(' | tr -d '(' | sort -u)

warnings=(-gdwarf-4 -O1 -Wall -Wextra -Wpedantic -Werror -I "$here/include")
# The files of a program are compiled by one compiler for one standard.
compile() {
  local compiler=$1 standard=$2 output=$3
  "$compiler" "-std=$standard" "${warnings[@]}" "${@:4}" -o "$work/$output"
}
shared=("-L$work/lib" "-Wl,-rpath,$work/lib" -lnearprint)
static=("$work/lib/libnearprint.a" -lpthread -ldl -lm)
sanitizers=(-fsanitize=address,undefined -fno-sanitize-recover=all)
leaks=(valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)

# Runs a test in a new folder. What it says on success is the last line.
runs=0
run() {
  runs=$((runs + 1))
  mkdir "$work/$runs"
  "$@" "$work/$runs" > "$work/log" 2>&1 || { cat "$work/log"; echo "failed: $*"; return 1; }
  rm -r "${work:?}/$runs"
}

for compiler in gcc clang; do
  compile "$compiler" c99 abi "$here/tests/abi.c" "${shared[@]}"
  run "$work/abi"
  compile "$compiler" c99 abi-sanitized "${sanitizers[@]}" "$here/tests/abi.c" "${static[@]}"
  run "$work/abi-sanitized"
  compile "$compiler" c99 check_stream "$here/examples/check_stream.c" "${shared[@]}"
  mkdir "$work/stream"
  printf '%s\n' 0x1f3a 0xffff0000 | "$work/check_stream" "$work/stream/seen.np" > /dev/null
  found=$(printf '%s\n' 0x1f3b 7 | "${leaks[@]}" "$work/check_stream" "$work/stream/seen.np")
  [ "$found" = $'7995\t0\t1\n7\tnew' ]
  ! echo x1 | "$work/check_stream" "$work/stream/seen.np" 2> "$work/log"
  grep -q 'line 1: text: ' "$work/log"
  rm -r "$work/stream"
done
for compiler in g++ clang++; do
  for standard in c++17 c++20; do
    compile "$compiler" "$standard" wrapper "$here/tests/wrapper.cpp" "${shared[@]}"
    run "$work/wrapper"
  done
  compile "$compiler" c++17 wrapper-sanitized "${sanitizers[@]}" "$here/tests/wrapper.cpp" "${static[@]}"
  run "$work/wrapper-sanitized"
  compile "$compiler" c++11 simhash "${sanitizers[@]}" "$here/tests/simhash.cpp" "${static[@]}"
  "$work/simhash" > /dev/null
  compile "$compiler" c++17 clusters "$here/examples/clusters.cpp" "${shared[@]}"
  mkdir "$work/lines"
  found=$(printf '%s\n' 'the cat sat on the mat today' 'The cat sat on the mat, today!' 'something else' |
    "${leaks[@]}" "$work/clusters" "$work/lines/lines.np")
  [ "$found" = $'2 lines\n  the cat sat on the mat today\n  The cat sat on the mat, today!' ]
  rm -r "$work/lines"
done
run "${leaks[@]}" "$work/abi"
run "${leaks[@]}" "$work/wrapper"
run python3 "$here/tests/abi.py" "$work/lib/libnearprint.so"

# simhash-cpp's own tests, of a folder with its sources.
if [ -n "${SIMHASH_CPP:-}" ]; then
  g++ -std=c++14 -I "$here/include" -I "$here/include/simhash" "$SIMHASH_CPP"/test/*.cpp "${static[@]}" -lgtest \
    -o "$work/simhash-cpp"
  "$work/simhash-cpp" | tail -n 1
fi
echo "C and C++: everything holds"

#!/usr/bin/env bash
# Compiles and runs every block of docs/c.md against an installed library, in its order: programs, what they print, and
# commands. A block of CMake builds the last program. run.sh itself runs the commands that install.
#
#   crates/nearprint-c/tests/docs.sh PREFIX
set -euo pipefail
prefix=$1
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v work="$work" '
  /^```[a-z]/ { language = substr($0, 4); number++; file = sprintf("%s/%02d.%s", work, number, language); next }
  /^```$/ { file = "" }
  file { print > file }
' docs/c.md
cd "$work"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror)
# The commands before the first program compile it.
cp "$(printf '%s\n' *.c | head -n 1)" program.c

# shellcheck disable=SC2046 # pkg-config prints several words.
run() { case ${1##*.} in
  c) gcc -std=c99 "${strict[@]}" "$1" $(pkg-config --cflags --libs nearprint) -o program && ./program > "$1.out" ;;
  cpp) g++ -std=c++17 "${strict[@]}" "$1" $(pkg-config --cflags --libs nearprint) -o program && ./program > "$1.out" ;;
  sh) grep -v '^ *\(DESTDIR=\|cargo deb\|crates/nearprint-c/install.sh\)' "$1" | sed "s|/usr/local|$prefix|g" > commands
    bash -euo pipefail commands > "$1.out" 2>&1 ;;
  cmake) cp "$1" CMakeLists.txt && cmake -S . -B built -D CMAKE_PREFIX_PATH="$prefix" > "$1.out" && cmake --build built >> "$1.out" ;;
  *) echo "docs/c.md: nothing runs a block of ${1##*.}" && return 1 ;;
esac; }
for block in [0-9]*.*; do
  rm -rf ./*.np
  run "$block" || { cat "$block" "$block.out"; echo "docs/c.md: this block fails"; exit 1; }
done

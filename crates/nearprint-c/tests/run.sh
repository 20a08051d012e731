#!/usr/bin/env bash
# Compiles the C and C++ examples and tests with gcc and clang, and runs them: as they are, under valgrind, and with
# the address and undefined-behaviour sanitizers. Compares the header with the code, and the exported symbols and the
# C++ wrapper with the header, and the binary interface with layouts.txt. Builds the examples against an installed
# library with pkg-config and with CMake.
#
#   crates/nearprint-c/tests/run.sh            runs everything
#   crates/nearprint-c/tests/run.sh --write    rewrites the header, and adds what is new to layouts.txt
#
# With SIMHASH_CPP=FOLDER, a clone of https://github.com/seomoz/simhash-cpp, also compiles its tests against
# simhash/simhash.h. They need Google Test. With cargo-deb 3.8, also makes the Debian packages. Without one of them,
# NEARPRINT_REQUIRE_ALL=1 makes the run fail, unless NEARPRINT_MAY_SKIP contains "simhash-cpp" or "cargo-deb".
set -euo pipefail
cd "$(dirname "$0")/../../.."
here=crates/nearprint-c
# As install.sh sets them, so that both compile the same.
RUSTFLAGS=$(tools/remap.sh)
export RUSTFLAGS
cbindgen_version=0.29.4

if [ "$(cbindgen --version 2> /dev/null)" != "cbindgen $cbindgen_version" ]; then
  # Away from the workspace's build settings, which would only slow it down.
  (cd / && env -u CARGO_TARGET_DIR -u RUSTFLAGS CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
    cargo install --locked --quiet "cbindgen@$cbindgen_version")
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/header.py" > "$work/nearprint.h"
if [ "${1:-}" = --write ]; then
  cp "$work/nearprint.h" "$here/include/nearprint.h"
  "$here/tests/layouts.py" "$here/include/nearprint.h" --write
  exit
fi
diff -u "$here/include/nearprint.h" "$work/nearprint.h"
"$here/tests/layouts.py" "$here/include/nearprint.h"

prefix=$work/prefix
PROFILE=test "$here/install.sh" "$prefix"
if command -v cargo-cinstall > /dev/null; then
  cargo cinstall --profile test --locked --package nearprint-c --prefix "$prefix" --libdir "$prefix/lib" \
    --destdir "$work/cargo-c" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  diff <(cd "$prefix" && find . ! -path './share/doc*' ! -name nearprint-static.pc | sort) \
    <(cd "$work/cargo-c$prefix" && find . | sort)
fi

# The shared library exports the functions of the header, each with its version of nearprint.map, and nothing else. The
# static one defines nothing else. The name of the library has the number of the binary interface.
functions=$(grep -o '\<nearprint_[a-z_]*(' "$here/include/nearprint.h" | grep -v '_\(fn\|init\)(' | tr -d '(' | sort -u)
soname=libnearprint.so.$(sed -n 's/^#define NEARPRINT_ABI_VERSION //p' "$here/include/nearprint.h")
versions=$(awk '/^NEARPRINT_/ { version = $1 } /^ *nearprint_/ { sub(";", ""); print $1 "@@" version }' "$here/nearprint.map")
diff <(sed 's/@@.*//' <<< "$versions" | sort) <(echo "$functions")
diff <(nm -D --defined-only "$prefix/lib/libnearprint.so" | cut -d ' ' -f 2- | grep -v '^A ' | LC_ALL=C sort) \
  <(sed 's/^/T /' <<< "$versions" | LC_ALL=C sort)
diff <(nm -g --defined-only "$prefix/lib/libnearprint.a" | sed -n 's/^[0-9a-f]* . //p' | sort) <(echo "$functions")
[ "$(objdump -p "$prefix/lib/libnearprint.so" | sed -n 's/^ *SONAME *//p')" = "$soname" ]
[ -e "$prefix/lib/$soname" ]

if grep -aoF -e "$PWD/" -e "${CARGO_HOME:-$HOME/.cargo}/" "$prefix"/lib/libnearprint.{a,so}; then
  echo "the libraries contain paths of this machine"
  exit 1
fi

# The wrapper has all of them. It has the code of an error from the failed call, and sizes from the header.
for function in $functions; do
  [ "$function" = nearprint_error_code ] || [[ $function = *_init_sized ]] || grep -qrw "$function" "$here/include/nearprint" ||
    { echo "nearprint.hpp lacks $function"; exit 1; }
done

# And so has the fuzz target, whose imports do not count.
calls=$(sed '/^use /,/;$/d' "$here"/src/fuzzing/*.rs)
for function in $functions; do
  grep -qw "$function" <<< "$calls" || { echo "the fuzz target never calls $function"; exit 1; }
done

warnings=(-gdwarf-4 -O1 -Wall -Wextra -Wpedantic -Werror)
# The files of a program are compiled by one compiler for one standard.
compile() {
  local compiler=$1 standard=$2 output=$3
  "$compiler" "-std=$standard" "${warnings[@]}" "${@:4}" -I "$prefix/include" -o "$work/$output"
}
shared=("-L$prefix/lib" "-Wl,-rpath,$prefix/lib" -lnearprint)
static=("$prefix/lib/libnearprint.a" -lpthread -ldl -lm)
sanitizers=(-fsanitize=address,undefined -fno-sanitize-recover=all)
leaks=(valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,possible
  --errors-for-leak-kinds=definite,possible "--suppressions=$prefix/share/nearprint/nearprint.supp")

# Runs a test in a new folder. What it says on success is the last line.
runs=0
run() {
  runs=$((runs + 1))
  mkdir "$work/$runs"
  "$@" "$work/$runs" > "$work/log" 2>&1 || { cat "$work/log"; echo "failed: $*"; return 1; }
  rm -r "${work:?}/$runs"
}

# Reports what does not run without a tool, which ends the run unless it may be skipped.
skip() {
  echo "skipped: $2 need $1 ($3)" >&2
  if [ "${NEARPRINT_REQUIRE_ALL:-}" = 1 ] && [[ ! " ${NEARPRINT_MAY_SKIP:-} " =~ [\ ,]$1[\ ,] ]]; then
    echo "NEARPRINT_REQUIRE_ALL=1 allows no skips" >&2
    exit 1
  fi
}
fails() { ! "$@" || { echo "did not fail: $*"; exit 1; }; }

# The examples. The first argument is the program, and the others are a command that runs it.
check_stream() {
  mkdir "$work/stream"
  printf '%s\n' 0x1f3a 0xffff0000 | "$1" "$work/stream/seen.np" > /dev/null
  found=$(printf '%s\n' 0x1f3b 7 | "${@:2}" "$1" "$work/stream/seen.np")
  [ "$found" = $'7995\t0\t1\n7\tnew' ]
  fails "$1" "$work/stream/seen.np" <<< x1 2> "$work/log"
  grep -q 'line 1: text: ' "$work/log"
  rm -r "$work/stream"
}
clusters() {
  mkdir "$work/lines"
  found=$(printf '%s\n' 'the cat sat on the mat today' 'The cat sat on the mat, today!' 'something else' |
    "${@:2}" "$1" "$work/lines/lines.np")
  [ "$found" = $'2 lines\n  the cat sat on the mat today\n  The cat sat on the mat, today!' ]
  rm -r "$work/lines"
}

c_programs() {
  local compiler=$1
  compile "$compiler" c99 abi "$here/tests/abi.c" "${shared[@]}"
  run "$work/abi"
  compile "$compiler" c99 abi-sanitized "${sanitizers[@]}" "$here/tests/abi.c" "${static[@]}"
  run "$work/abi-sanitized"
  compile "$compiler" c99 batches "$here/tests/batches.c" "${shared[@]}" -lpthread
  run "$work/batches"
  compile "$compiler" c99 batches-sanitized "${sanitizers[@]}" "$here/tests/batches.c" "${static[@]}"
  run "$work/batches-sanitized"
  compile "$compiler" c99 fork "$here/tests/fork.c" "${shared[@]}"
  run "$work/fork"
  compile "$compiler" c99 check_stream "$here/examples/check_stream.c" "${shared[@]}"
  check_stream "$work/check_stream" "${leaks[@]}"
}
cpp_programs() {
  local compiler=$1 standard
  for standard in c++17 c++20; do
    compile "$compiler" "$standard" wrapper "$here/tests/wrapper.cpp" "${shared[@]}"
    run "$work/wrapper"
  done
  compile "$compiler" c++17 wrapper-sanitized "${sanitizers[@]}" "$here/tests/wrapper.cpp" "${static[@]}"
  run "$work/wrapper-sanitized"
  compile "$compiler" c++17 keys "${sanitizers[@]}" "$here/tests/keys.cpp" "${static[@]}"
  run "$work/keys"
  compile "$compiler" c++17 fork "$here/tests/fork.cpp" "${static[@]}"
  run "$work/fork"
  compile "$compiler" c++11 exceptions "$here/tests/exceptions.cpp" "${shared[@]}"
  run "$work/exceptions"
  compile "$compiler" c++11 simhash "${sanitizers[@]}" "$here/tests/simhash.cpp" "${static[@]}"
  "$work/simhash" > /dev/null
  # What was written for simhash-cpp 0.1 includes its headers without a folder, and links nothing.
  for standard in c++98 c++11; do
    compile "$compiler" "$standard" simhash_v01 "${sanitizers[@]}" -Wno-long-long -I "$prefix/include/simhash/v0.1" \
      "$here/tests/simhash_v01.cpp"
    "$work/simhash_v01" > /dev/null
  done
  compile "$compiler" c++17 clusters "$here/examples/clusters.cpp" "${shared[@]}"
  clusters "$work/clusters" "${leaks[@]}"
}

# Two compilers at a time, each in a folder of its own.
with_each() {
  local programs=$1 compiler job jobs=()
  for compiler in "${@:2}"; do
    mkdir "$work/$compiler"
    (work+=/$compiler; "$programs" "$compiler") &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    wait "$job"
  done
}
with_each c_programs gcc clang
with_each cpp_programs g++ clang++
run "${leaks[@]}" "$work/clang/abi"
run "${leaks[@]}" "$work/clang/batches"
run "${leaks[@]}" "$work/clang++/wrapper"
run python3 "$here/tests/abi.py" "$prefix/lib/libnearprint.so"

# pkg-config finds the installed library, shared and static. The linker takes the static one where there is no other.
needs_shared() { objdump -p "$1" | grep -q "NEEDED *$soname"; }
flags() {
  PKG_CONFIG_PATH="$1/lib/pkgconfig" pkg-config --define-variable="prefix=$1" --cflags --libs "${@:2}" nearprint
}
static_flags() { PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs nearprint-static; }
mkdir -p "$work/static/lib"
cp -r "$prefix/include" "$work/static"
cp -r "$prefix/lib/"{libnearprint.a,pkgconfig} "$work/static/lib"
# shellcheck disable=SC2046 # They are several words.
{
  gcc -std=c99 "$here/examples/check_stream.c" $(flags "$prefix") -o "$work/with-shared"
  gcc -std=c99 "$here/examples/check_stream.c" $(flags "$work/static" --static) -o "$work/with-static"
  # The static library is taken where there is a shared one, too; and the program may need no library at all.
  gcc -std=c99 "$here/examples/check_stream.c" $(static_flags) -Wl,--gc-sections -o "$work/beside-shared"
  gcc -std=c99 -static "$here/examples/check_stream.c" $(static_flags) -Wl,--gc-sections -o "$work/whole" 2> "$work/log"
}
needs_shared "$work/with-shared"
fails needs_shared "$work/with-static"
fails needs_shared "$work/beside-shared"
fails grep -q NEEDED <(objdump -p "$work/whole")
check_stream "$work/beside-shared"
check_stream "$work/whole"
LD_LIBRARY_PATH="$prefix/lib" check_stream "$work/with-shared"
check_stream "$work/with-static"

# What the documentation shows.
"$here/tests/docs.sh" "$prefix"
mkdir "$work/header"
gcc -std=c99 -Wall -Wextra -Wpedantic -Werror "$here/examples/header.c" $(static_flags) -o "$work/header/program"
[ "$("$work/header/program" "$work/header/seen.np")" = $'row 0, distance 0\nrow 1, distance 1' ]

# A library without texts has the functions that its header declares.
TEXTS=no PROFILE=test "$here/install.sh" "$work/small"
small() { PKG_CONFIG_PATH="$work/small/lib/pkgconfig" pkg-config --cflags nearprint; }
# shellcheck disable=SC2046 # They are several words.
{
  declared=$(gcc -E $(small) "$work/small/include/nearprint.h" | grep -o '\<nearprint_[a-z_]*(' | grep -v '_\(fn\|init\)(' |
    tr -d '(' | sort -u)
  echo '#include <nearprint.hpp>' | g++ -std=c++17 -Wall -Wextra -Wshadow -Wpedantic -Werror $(small) -x c++ -fsyntax-only -
}
diff <(nm -D --defined-only "$work/small/lib/libnearprint.so" | sed -n 's/.* T \(.*\)@@.*/\1/p' | sort) <(echo "$declared")
fails grep -q nearprint_fingerprinter_new <<< "$declared"

# CMake finds it, too, also in another folder, and refuses versions that it is not.
cp -a "$prefix" "$work/moved"
configure() { cmake -S "$here/tests/cmake" -B "$work/cmake-$1" -D CMAKE_PREFIX_PATH="$work/moved" -D "WANTED=$1"; }
configure 0.1 > "$work/log" 2>&1 && cmake --build "$work/cmake-0.1" >> "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check_stream "$work/cmake-0.1/check_stream"
clusters "$work/cmake-0.1/clusters"
needs_shared "$work/cmake-0.1/check_stream"
fails needs_shared "$work/cmake-0.1/clusters"
for version in 0.0.9 0.2 1; do
  fails configure "$version" > "$work/log" 2>&1
  grep -q 'compatible with requested version' "$work/log"
done
grep -qF "PACKAGE_VERSION \"$(pkg-config --modversion "$work/moved/lib/pkgconfig/nearprint.pc")\"" \
  "$here/cmake/nearprint-config-version.cmake"

# The Debian packages have the installed files, each in one of them, and belong together.
if command -v cargo-deb > /dev/null; then
  DESTDIR=target/nearprint-c PROFILE=test "$here/install.sh" /usr
  for variant in lib dev; do
    cargo deb --no-build --no-strip --fast --package nearprint-c --variant "$variant" --output "$work/$variant.deb" \
      > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    dpkg-deb -x "$work/$variant.deb" "$work/$variant"
  done
  for name in libnearprint1 libnearprint-dev; do
    [ -s "$(echo "$work"/*/usr/share/doc/$name/THIRD-PARTY.txt)" ]
  done
  files() { (cd "$1" && find usr ! -type d ! -path 'usr/share/doc/*'); }
  diff <(files target/nearprint-c | sort) <({ files "$work/lib" && files "$work/dev"; } | sort)
  diff <(files "$work/lib" | sort) <(printf '%s\n' "usr/lib/$soname" "usr/lib/$(readlink "$prefix/lib/$soname")")
  [ "$(dpkg-deb -f "$work/lib.deb" Package)" = "libnearprint${soname##*.}" ]
  [ "$(dpkg-deb -f "$work/dev.deb" Depends)" = "libnearprint${soname##*.} (= $(dpkg-deb -f "$work/lib.deb" Version))" ]
else
  skip cargo-deb "the Debian packages" "it is not installed"
fi

# simhash-cpp's own tests, of a folder with its sources.
if [ -n "${SIMHASH_CPP:-}" ]; then
  g++ -std=c++14 -I "$prefix/include" -I "$prefix/include/simhash" "$SIMHASH_CPP"/test/*.cpp "${static[@]}" -lgtest \
    -o "$work/simhash-cpp"
  "$work/simhash-cpp" | tail -n 1
else
  skip simhash-cpp "simhash-cpp's own tests" "SIMHASH_CPP is not set"
fi
echo "C and C++: everything holds"

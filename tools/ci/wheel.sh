#!/usr/bin/env bash
# The wheel of Python, tested with the oldest and with the newest interpreter that it is for: those of Debian, each
# unpacked into a folder. With FROM=sdist, the wheel is made of the source distribution, with nothing compiled before.
source "$(dirname "$0")/common.sh"
tools/setup.sh python wheel
folder wheel
# What the step `python` has compiled is for the same interpreter.
(
  flock 9
  [ -x "$tools/python/bin/pip" ] || python3 -m venv "$tools/python"
) 9> "$tools/python.lock"
export PATH="$tools/python/bin:$PATH" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1

sources=./python
if [ "${FROM:-}" = sdist ]; then
  DIST=$work/wheel/sdist tools/release.sh sdist
  sources=$(echo "$work"/wheel/sdist/*.tar.gz)
  cargo fetch --locked
  export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$work/wheel/target
fi
pip wheel --no-deps --wheel-dir "$work/wheel" "$sources"
wheel=$(echo "$work"/wheel/*.whl)
ls -l "$wheel"
[ "$(stat -c %s "$wheel")" -le 12000000 ]

# Unpacks an interpreter of another release of Debian. The wheel needs this machine's C library, or a newer one.
unpack() {
  local version=$1 suite=$2 root=$3 own older=
  own=$(. /etc/os-release && echo "$VERSION_CODENAME")
  [ "$suite" != bullseye ] || { older=$suite suite=$own; }
  # Mirrors may lag behind a release that still changes.
  mmdebstrap --quiet --mode=root --format=directory --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' \
    ${older:+--setup-hook="sed -i 's/\\(.*\\) $own main/&\\n\\1 $older main/' \"\$1/etc/apt/sources.list\""} \
    --include="base-files,libstdc++6,python$version" "$suite" "$root"
}

# Tests the wheel with an interpreter, a release of Debian that has it, and NumPy.
try() {
  local version=$1 suite=$2 numpy=$3 root=$work/wheel/$1 said
  if ! said=$(unpack "$version" "$suite" "$root" 2>&1); then
    echo "skipped: python $version: $suite of Debian cannot be unpacked ($(tail -n 1 <<< "$said"))"
    return
  fi
  # Twice, because pip looks at this machine's Python when it installs. The names after NumPy are what it leaves out for
  # the same reason.
  pip download --dest "$root/wheels" --only-binary :all: --python-version "$version" "$numpy" exceptiongroup tomli \
    duckdb hypothesis pandas pillow polars pyarrow pytest xxhash
  pip install --no-compile --no-index --no-deps --ignore-requires-python --only-binary :all: \
    --python-version "$version" --target "$root/packages" "$wheel" "$root"/wheels/*
  cp -r python/{tests,benchmarks,examples,README.md,FRAMES.md,pyproject.toml} "$root"
  local python=(env -u NEARPRINT_REQUIRE_ALL HOME=/root PYTHONPATH=/packages chroot "$root" "python$version")
  "${python[@]}" /packages/bin/nearprint --version
  # Those that are left out take long, and are the same with every interpreter.
  "${python[@]}" -m pytest -q -p no:cacheprovider --ignore-glob "*mongodb*" --ignore-glob "*long_work*" \
    --ignore-glob "*forks*" /tests
}

oldest=$(sed -n 's/^dependencies = \["numpy>=\(.*\)"\]$/numpy==\1.*/p' python/pyproject.toml)
try 3.9 bullseye "$oldest" > "$work/wheel/oldest" 2>&1 &
tried=$!
try 3.14 forky numpy
wait "$tried" || { cat "$work/wheel/oldest"; exit 1; }
cat "$work/wheel/oldest"

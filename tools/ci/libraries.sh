#!/usr/bin/env bash
# The modules for other libraries, each with the oldest version that python/pyproject.toml names, and with the newest.
source "$(dirname "$0")/common.sh"
tools/setup.sh python
folder libraries
export PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv "$work/libraries/build"
"$work/libraries/build/bin/pip" wheel --no-deps --wheel-dir "$work/libraries" ./python
cp -r python/{tests,README.md,FRAMES.md,pyproject.toml} "$work/libraries"
cd "$work/libraries"

# Tests a module with what its extra needs, and the library that it is named after. `==` in place of `>=` takes the
# oldest versions. What else is missing belongs to other modules.
try() {
  local module=$1 library=$2 sign=$3 needed all=" PIL dask datasets datasketch datatrove duckdb polars pyarrow sklearn "
  mapfile -t needed < <(sed -n "s/^$module = \[\(.*\)\]$/\1/p" pyproject.toml | tr -d '" ' | tr ',' '\n')
  rm -rf venv
  python3 -m venv venv
  venv/bin/pip install --no-compile "${needed[@]/>=/$sign}" orjson pandas pytest ./*.whl
  printf '\n%s: %s\n' "$module" "$(venv/bin/pip freeze --exclude nearprint | paste -sd ' ')"
  NEARPRINT_REQUIRE_ALL=1 NEARPRINT_MAY_SKIP=${all/ $library / } venv/bin/python -m pytest -q -p no:cacheprovider \
    tests/test_fronts.py tests/test_readme.py
}

for sign in == ">="; do
  for module in datatrove duckdb huggingface=datasets polars sklearn; do
    try "${module%=*}" "${module#*=}" "$sign"
  done
done

#!/usr/bin/env bash
# Brings what the tests of Python need: two gigabytes. .ci/run starts it at once, so that they arrive while others
# compile.
source "$(dirname "$0")/common.sh"
exec 9> "$tools/python.lock"
flock 9
tools/setup.sh python
[ -x "$tools/python/bin/pip" ] || python3 -m venv "$tools/python"
sed -n '/^test = \[/,/^\]/s/^ *"\(.*\)",$/\1/p' python/pyproject.toml > "$tools/python/packages"
# Modules are compiled when they are imported. Most of them never are.
"$tools/python/bin/pip" install --quiet --disable-pip-version-check --no-compile zstandard \
  --requirement "$tools/python/packages"

#!/usr/bin/env bash
# The Python package: the command that installs it, its tests, types and style. With PEERS=yes, the tests of datasketch and
# the published pictures of others run, too.
source "$(dirname "$0")/common.sh"
if [ "${PEERS:-}" != yes ]; then
  export NEARPRINT_MAY_SKIP="${NEARPRINT_MAY_SKIP:-} datasketch pictures"
else
  folder datasketch
  folder pdq
  folder imagededup
  tools/peers.sh datasketch "$work/datasketch"
  tools/peers.sh ThreatExchange "$work/pdq"
  tools/peers.sh imagededup "$work/imagededup"
  export DATASKETCH="$work/datasketch" THREATEXCHANGE="$work/pdq" IMAGEDEDUP="$work/imagededup"
fi
# They are tested where they are installed.
export NEARPRINT_MAY_SKIP="${NEARPRINT_MAY_SKIP:-} datatrove sklearn"
# Spark needs Java.
tools/setup.sh python java || export NEARPRINT_MAY_SKIP="${NEARPRINT_MAY_SKIP:-} java"
tools/ci/python-packages.sh
export PATH="$tools/python/bin:$PATH"
tools/blocks.py python .
# It is there already; this checks that its tests have what they need.
pip install --quiet "nearprint[test]"
ruff format --no-cache --check python
ruff check --no-cache python
python crates/nearprint-text/dictionary/make.py --check
# Away from the sources, so that it is the installed package that is imported.
folder python
cp -r python/{tests,benchmarks,examples,pyproject.toml} "$work/python"
# The tests run the programs of the pages.
cp -RL README.md docs "$work"
cd "$work/python"
# Spark's tests wait for Spark: beside the others they take little.
pytest -q tests/test_spark.py > "$work/spark" 2>&1 &
spark=$!
# They end with the others, if one of these fails.
trap 'kill "$spark" 2> /dev/null || true; cleanup' EXIT
mypy tests benchmarks
mypy -p nearprint
stubtest nearprint._nearprint
pytest -q --ignore tests/test_spark.py
wait "$spark" || { cat "$work/spark"; exit 1; }
cat "$work/spark"

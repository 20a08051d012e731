# What the scripts of steps share. They source it, and it takes them to the root of the repository.
#
# `work` is the folder of their files: a new one, or that of .ci/run. So is what .ci/run exports: NEARPRINT_REQUIRE_ALL,
# NEARPRINT_MAY_SKIP, flags of the compiler.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=${NEARPRINT_WORK:-$(mktemp -d)}
# The tests that were skipped: nextest shows no output of tests that pass.
export NEARPRINT_SKIPPED=$work/skipped.$$
cleanup() {
  [ ! -e "$NEARPRINT_SKIPPED" ] || sort -u "$NEARPRINT_SKIPPED"
  [ -n "${NEARPRINT_WORK:-}" ] || rm -rf "$work"
}
trap cleanup EXIT
tools=${CARGO_TARGET_DIR:-$PWD/target}/tools
export PATH="$tools/bin:$PATH"
mkdir -p "$tools"

# Copies the programs that the tests run to a folder, for whichever step needs them first.
programs() {
  (
    flock 9
    [ ! -d "$work/programs" ] || exit 0
    cargo test --quiet --no-run --locked
    mkdir "$work/copied"
    cp "${CARGO_TARGET_DIR:-target}"/debug/{nearprint,simhash-find-all,simhash-find-clusters} "$work/copied"
    mv "$work/copied" "$work/programs"
  ) 9> "$work/programs.lock"
}

# A folder of `work` for a step.
folder() {
  rm -rf "${work:?}/$1"
  mkdir -p "$work/$1"
}

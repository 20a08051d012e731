#!/usr/bin/env bash
# Runs a command with a target folder for what is only checked, not run, so that it need not wait for what compiles.
#
#   tools/apart.sh COMMAND [ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/checks
# With the same flags as tools/release.sh: others would compile everything again.
RUSTFLAGS=$(tools/remap.sh)
export RUSTFLAGS
"$@"

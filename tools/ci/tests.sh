#!/usr/bin/env bash
# The tests of all crates: the command of README.md for the engine, the others by nextest, and examples in
# documentation. With `full`, all of them in their long form.
source "$(dirname "$0")/common.sh"
tools/setup.sh tests nextest
if [ "${1:-}" = full ]; then
  cargo nextest run --locked --no-tests fail --profile full
else
  tools/blocks.py tests .
  cargo nextest run --locked --no-tests fail --filterset 'not package(nearprint)'
  cargo test --quiet --locked --doc --package nearprint-text --package nearprint-image --package nearprint-cli
fi

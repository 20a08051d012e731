#!/usr/bin/env bash
# Compares the public API of the libraries with the lists in tests/golden/api. A difference is an error: either
# the change was not meant, or it belongs into CHANGELOG.md and the list.
#
#   tests/public-api.sh            compares
#   tests/public-api.sh --write    rewrites the lists
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.52.0

if [ "$(cargo public-api --version 2> /dev/null)" != "cargo-public-api $version" ]; then
  # Away from the workspace's build settings, which would only slow it down.
  (cd / && env -u CARGO_TARGET_DIR -u RUSTFLAGS cargo install --debug --locked --quiet "cargo-public-api@$version")
fi
target=${CARGO_TARGET_DIR:-target}
# The tool reads rustdoc's JSON, which a stable compiler only writes when it is told that this is meant.
export RUSTC_BOOTSTRAP=1

changed=0
for crate in nearprint nearprint-text nearprint-image; do
  cargo rustdoc --quiet --package "$crate" --lib -- -Z unstable-options --output-format json
  list=tests/golden/api/$crate.txt
  if [ "${1:-}" = --write ]; then
    cargo public-api --rustdoc-json "$target/doc/${crate//-/_}.json" -sss > "$list"
  elif ! diff -u "$list" <(cargo public-api --rustdoc-json "$target/doc/${crate//-/_}.json" -sss); then
    echo "$crate: the public API differs from $list"
    changed=1
  fi
done
exit "$changed"

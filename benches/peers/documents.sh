#!/usr/bin/env bash
# Installs the peers that deduplicate documents into a folder of their own and runs all of them on the same documents;
# see documents.py. NEARPRINT_RELEASE names a folder of release builds to use instead of building nearprint; the
# Python package is then what PYTHONPATH has.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=${NEARPRINT_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nearprint-peers}
[ -x "$home/bin/python" ] || python3 -m venv "$home"
"$home/bin/pip" install --quiet --requirement "$here/requirements-documents.txt"
build=(cargo build --quiet --release --locked)
RUSTFLAGS="-C target-cpu=native" "${build[@]}" --manifest-path "$here/Cargo.toml" --target-dir "$home/target" \
  --bin gaoya_documents
cargo install --quiet --locked --root "$home" --target-dir "$home/target" incrededup@0.3.1
release=${NEARPRINT_RELEASE:-}
if [ -z "$release" ]; then
  "$home/bin/pip" install --quiet "$here/../../python"
  build+=(--manifest-path "$here/../../Cargo.toml" --target-dir "$home/nearprint")
  "${build[@]}" --package nearprint-cli --package measures --bin nearprint --bin generated_pages --bin yardstick
  release=$home/nearprint/release
fi
exec "$home/bin/python" "$here/documents.py" --gaoya "$home/target/release/gaoya_documents" --release "$release" "$@"

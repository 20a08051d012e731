#!/usr/bin/env bash
# Installs the peers into a folder of their own and runs all of them on the same data; see libraries.py.
set -euo pipefail
cd "$(dirname "$0")"
home=${NEARPRINT_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nearprint-peers}
[ -x "$home/bin/python" ] || python3 -m venv "$home"
"$home/bin/pip" install --quiet --requirement requirements.txt
RUSTFLAGS="-C target-cpu=native" cargo build --quiet --release --target-dir "$home/target"
exec "$home/bin/python" libraries.py --binary "$home/target/release/peers" "$@"

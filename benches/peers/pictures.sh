#!/usr/bin/env bash
# Installs the peers that compare pictures into a folder of their own and runs all of them on the same pictures; see
# pictures.py. NEARPRINT_RELEASE names a folder of release builds to use instead of building nearprint.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=${NEARPRINT_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nearprint-peers}
[ -x "$home/bin/python" ] || python3 -m venv "$home"
"$home/bin/pip" install --quiet --requirement "$here/requirements-pictures.txt"
# Without PyTorch, which only its neural networks need.
"$home/bin/pip" install --quiet --no-deps imagededup
release=${NEARPRINT_RELEASE:-}
if [ -z "$release" ]; then
  cargo build --quiet --release --locked --manifest-path "$here/../../Cargo.toml" --target-dir "$home/nearprint" \
    --package nearprint-cli --bin nearprint
  release=$home/nearprint/release
fi
[ -x "$home/bin/czkawka_cli" ] || cargo install --quiet --locked --root "$home" czkawka_cli
exec "$home/bin/python" "$here/pictures.py" --nearprint "$release/nearprint" \
  --czkawka "$home/bin/czkawka_cli" "$@"

#!/usr/bin/env bash
# Runs every comparison with other libraries, one after the other, and prints the tables of RESULTS.md.
#
#     benches/peers/run.sh [ROWS]...     sizes of the databases; one and ten million rows by default
#
# simhash_cpp.sh and documents.sh say what SIMHASH_CPP and NEARPRINT_RELEASE are. simhash-cpp's program and usearch take
# minutes each. Each script here also runs on its own.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- 1000000 10000000
export NEARPRINT_PEERS=${NEARPRINT_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nearprint-peers}

title() { printf '\n## %s\n\n' "$1"; }

title 'Queries: nearprint and mih-rs in turn'
RUSTFLAGS="-C target-cpu=native" cargo build --quiet --release --locked --bins --target-dir "$NEARPRINT_PEERS/target"
"$NEARPRINT_PEERS/target/release/paired" "$@"
title 'From C'
"$NEARPRINT_PEERS/target/release/c_interface"
title 'From C++, and programs'
./simhash_cpp.sh
title 'Documents'
./documents.sh --pages 24000
title 'Pictures'
./pictures.sh
title 'Other libraries'
./libraries.sh
title 'A batch a day'
release=${NEARPRINT_RELEASE:-$NEARPRINT_PEERS/nearprint/release}
"$NEARPRINT_PEERS/bin/python" batch_a_day.py --nearprint "$release/nearprint"
title 'A training set'
"$release/generated_pages" 60000 > "$NEARPRINT_PEERS/pages.jsonl"
"$NEARPRINT_PEERS/bin/python" decontaminate.py --nearprint "$release/nearprint" --pages "$NEARPRINT_PEERS/pages.jsonl"
rm "$NEARPRINT_PEERS/pages.jsonl"

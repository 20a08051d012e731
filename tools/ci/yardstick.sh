#!/usr/bin/env bash
# What dedup finds: the commands of docs/measurements.md, whose program fails below a bound.
source "$(dirname "$0")/common.sh"
folder yardstick
sources="'$PWD/Cargo.toml'"
tools/readme.sh yardstick | sed "s|^cargo run|cargo run --quiet --locked --manifest-path $sources|" > "$work/yardstick.sh"
cd "$work/yardstick"
bash -euo pipefail ../yardstick.sh

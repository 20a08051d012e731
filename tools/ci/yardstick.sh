#!/usr/bin/env bash
# What dedup and tune find in generated pages, as pages say. A program fails below a bound.
source "$(dirname "$0")/common.sh"
folder yardstick
export sources="$PWD/Cargo.toml"
# They run beside their files, and print nothing of cargo's.
cargo() {
  command cargo "$1" --quiet --locked --manifest-path "$sources" "${@:2}"
}
nearprint() {
  cargo run --release --no-default-features -- "$@"
}
export -f cargo nearprint
tools/blocks.py yardstick "$work/yardstick"

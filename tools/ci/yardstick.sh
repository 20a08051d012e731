#!/usr/bin/env bash
# What dedup finds: the commands of a page, whose program fails below a bound.
source "$(dirname "$0")/common.sh"
folder yardstick
export sources="$PWD/Cargo.toml"
# They run beside their files, and print nothing of cargo's.
cargo() {
  command cargo "$1" --quiet --locked --manifest-path "$sources" "${@:2}"
}
export -f cargo
tools/blocks.py yardstick "$work/yardstick"

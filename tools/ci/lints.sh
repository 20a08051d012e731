#!/usr/bin/env bash
# Lints of the workspace with all features and without, of the peers' workspace, and whether the fuzz targets compile.
source "$(dirname "$0")/common.sh"
cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
cargo clippy --package nearprint-text --package nearprint-cli --no-default-features --all-targets --locked -- -D warnings
# Benchmarks run the peers of a workspace of their own by hand.
cargo clippy --manifest-path benches/peers/Cargo.toml --locked -- -D warnings
# cargo-fuzz would correct their lock file without a word.
cargo check --quiet --manifest-path fuzz/Cargo.toml --locked

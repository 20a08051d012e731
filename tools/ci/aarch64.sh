#!/usr/bin/env bash
# The engine's unit tests and a short form of tests/it on aarch64, under qemu: its kernel, and how many instructions that
# takes. Then an archive of static programs that are not optimized.
source "$(dirname "$0")/common.sh"
target=aarch64-unknown-linux-gnu
if ! rustup target add "$target" 2> "$work/log"; then
  echo "skipped: aarch64: rustup cannot add $target: $(tail -n 1 "$work/log")" >&2
  exit
fi
tools/setup.sh aarch64
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
# What takes long there: simulated disks, wide fingerprints, and whatever compares all with all.
slow=(testing:: of_128_bits of_256_bits of_320_bits bands:: blocks:: cross:: joins:: large)
echo "skipped: aarch64: ${slow[*]}, which take long there"
# shellcheck disable=SC2046 # It prints several words.
cargo test --locked --target "$target" --package nearprint --lib --test it -- $(printf -- '--skip %s ' "${slow[@]}")
tests=$(cargo test --locked --target "$target" --package nearprint --lib --no-run 2>&1 | sed -n 's/.*(\(.*\))$/\1/p')
benches/aarch64.sh "$tests"
rustup target add aarch64-unknown-linux-musl
export DIST=$work/aarch64-dist
CARGO_PROFILE_DEV_DEBUG=false PROFILE=dev tools/release.sh binary aarch64-unknown-linux-musl
tools/release.sh checksums
tools/release.sh check

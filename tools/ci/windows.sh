#!/usr/bin/env bash
# The engine, texts and the command line for Windows, under wine: unit tests, tests/it, and the programs of a release.
source "$(dirname "$0")/common.sh"
target=x86_64-pc-windows-gnu
if ! missing=$(rustup target add "$target" 2>&1); then
  echo "skipped: windows needs the target $target of rustup ($(tail -n 1 <<< "$missing"))"
  exit
fi
tools/setup.sh windows
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$PWD/tools/wine.sh"
# Wine 8 makes no links and knows no Ctrl-Break. Python with numpy, what cargo has downloaded, and gzip for real data,
# belong to another system.
export NEARPRINT_MAY_SKIP="${NEARPRINT_MAY_SKIP:-} links ctrl-break numpy sources data"
# Files are what differs there, and what wine takes long for: tests/it run for one width.
narrow=(--skip of_128_bits --skip of_256_bits --skip of_320_bits) failed=
echo "skipped: windows: tests/it: ${narrow[*]}, whose files are like those of 64 bits; unit tests run for all widths"
tests=(env -u NEARPRINT_DATA cargo test --target "$target" --locked --no-fail-fast
  --package nearprint --package nearprint-text --package nearprint-cli)
"${tests[@]}" --lib 2>&1 | tee "$work/windows" || failed=1
"${tests[@]}" --test it -- "${narrow[@]}" 2>&1 | tee -a "$work/windows" || failed=1
# The tests that are ignored there, and why.
sed -n 's/^test \(.*\) \.\.\. ignored, \(.*\)/skipped: windows: \1: \2/p' "$work/windows"
echo "skipped: windows: crates/nearprint-cli/tests/faults: needs strace, mounts and signals; its power cuts are" \
  "those of the simulated disk, which runs"
[ -z "$failed" ]
# Static programs: what they need is compiled again.
export DIST=$work/windows-dist
PROFILE=test tools/release.sh binary "$target"
tools/release.sh check

#!/usr/bin/env bash
# Runs every fuzz target for some seconds (20 by default), two at a time, each on its seeds and on what fuzzers have
# found before. Fails if a target finds something. The inputs are then in fuzz/artifacts.
#
#   fuzz/smoke.sh [SECONDS] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
targets=("${@:2}")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(basename -s .rs fuzz/fuzz_targets/*.rs)
fi

command -v cargo-fuzz > /dev/null || cargo install --debug --quiet --locked cargo-fuzz
# Without tracing of comparisons: the targets themselves correct checksums and lengths of inputs.
flags=(-s none --no-trace-compares)
# In less than a minute, more optimization takes longer to compile than it saves. Set here: with the default profile,
# whoever only checks the targets shares their dependencies with the workspace.
if [ "$seconds" -lt 60 ]; then
  flags+=(--dev)
  export CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_CODEGEN_UNITS=4
fi
cargo fuzz build "${flags[@]}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A target must not trust the bytes of files: more than a few seconds, or 1 GiB in total, is an error.
run() {
  local target=$1
  mkdir "$work/$target"
  [ ! -d "fuzz/corpus/$target" ] || cp -r "fuzz/corpus/$target" "$work"
  if NEARPRINT_SEEDS="$work/$target" cargo fuzz run "${flags[@]}" "$target" "$work/$target" -- -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1 > "$work/$target.log" 2>&1; then
    printf '%-20s %s\n' "$target" "$(grep -o 'Done [0-9]* runs in .*' "$work/$target.log")"
  else
    printf '%-20s FAILED\n' "$target"
    # Without the bytes of the input, which would hide why it failed.
    grep -vE '^[[:space:]]*(\[|stat::)' "$work/$target.log" | tail -n 60
    return 1
  fi
}

failed=0
for ((at = 0; at < ${#targets[@]}; at += 2)); do
  jobs=()
  for target in "${targets[@]:at:2}"; do
    run "$target" &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    wait "$job" || failed=1
  done
done
exit "$failed"

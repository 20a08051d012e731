#!/usr/bin/env bash
# Tests the tests: switches off the syncs of one kind of file at a time and expects the suite to fail. One method syncs
# all files, so `tests/mutants.sh` removes these syncs together.
# Exits with an error if the suite does not notice. Unit tests have the switches; `cargo test` runs the same tests.
set -euo pipefail
cd "$(dirname "$0")/.."

measures=(wal-sync run-sync manifest-sync)
suite() {
  NEARPRINT_SABOTAGE=$1 cargo test --quiet --package nearprint --lib --locked -- \
    crash::a_full_disk_that_is_freed crash::a_failed_sync 2>&1
}

unnoticed=0
for measure in "${measures[@]}"; do
  if out=$(suite "$measure"); then
    echo "$measure switched off: NOT NOTICED"
    unnoticed=1
  elif caught=$(grep -oE 'crash::[a-z_]+$' <<< "$out" | sort -u); then
    echo "$measure switched off: noticed by" $caught
  else
    printf '%s\n' "$out" | tail -20
    echo "$measure switched off: the suite did not run"
    exit 1
  fi
done
exit "$unnoticed"

#!/usr/bin/env bash
# Tests the tests: changes one expression of a room at a time, and expects its tests to fail.
#
#   tests/mutants.sh ROOM [SHARD]     a room of the list below, or a shard of its changes: 2/10 is each tenth from the third
#   tests/mutants.sh changed REV      what has changed since a commit, in all rooms
#
# Needs cargo-mutants. The fast tests of a room run first, then all tests of its crates on what those have not noticed.
# It goes on where it was stopped: target/mutants has the outcomes. What no test can notice is in .cargo/mutants.toml,
# with the reason. Exits with an error if a change is not noticed.
set -euo pipefail
cd "$(dirname "$0")/.."

rooms=(log storage writer database memtable run build query acts dedup)
# The files of each room, and the filters of its fast tests.
declare -A files=(
  [log]='src/log/**'
  [storage]='src/storage/**'
  [writer]='src/database/writer/**'
  [database]='src/database/*.rs'
  [memtable]='src/memtable/**'
  [run]='src/run/**'
  [build]='src/build/**'
  [query]='src/query/**'
  [acts]='crates/nearprint-text/src/{acts/**,aside.rs}'
  [dedup]='crates/nearprint-text/src/dedup/**'
)
declare -A fast=(
  [log]='log:: crash::a_f fuzzing::tests::logs golden follow::a_follower_goes unflushed'
  [storage]='storage:: simulated crash::a_f util::file golden ingest'
  [writer]='database:: crash::a_f golden fuzzing::tests::operations'
  [database]='database:: crash::a_f golden fuzzing::tests::operations'
  [memtable]='memtable:: unflushed fuzzing::tests::operations golden'
  [run]='run:: golden fuzzing::tests::damaged ingest'
  [build]='build:: bulk:: golden'
  [query]='query:: memtable:: fuzzing::tests::queries'
  [acts]='acts:: aside:: identity:: copies:: actions:: apply::'
  [dedup]='dedup:: restart:: trim:: outcomes::'
)

# Tries changes that were not noticed before. Takes the folder for outcomes, and options of cargo-mutants.
# A copy of the files is changed in place, and keeps what was compiled: each change compiles one crate.
try() {
  local out=$PWD/$1 tree=target/mutants/tree
  shift
  mkdir -p "$out" "$tree"
  comm -13 <(git ls-files | sort) <(find "$tree" -path "$tree/target" -prune -o ! -type d -printf '%P\n' | sort) |
    sed "s|^|$tree/|" | xargs --no-run-if-empty --delimiter '\n' rm
  git ls-files | while IFS= read -r file; do
    # What is equal keeps its time, so that it is not compiled again.
    cmp --quiet "$file" "$tree/$file" || cp --no-dereference --parents "$file" "$tree"
  done
  # 2 is a change that was not noticed, and 3 a test that ran too long: the lists have them.
  cargo mutants --dir "$tree" --in-place --output "$out" --profile mutants --baseline skip --timeout 600 --no-times \
    --colors never --iterate "$@" || [[ $? =~ ^[23]$ ]]
}

# The changes of a list, as one regular expression.
pattern() {
  sed 's/[][\.*^$+?(){}|/]/\\&/g; s/.*/^&$/' "$1" | paste -sd '|'
}

# How many changes are in some lists of outcomes.
count() {
  local out=$1 list changes=0
  shift
  for list in "$@"; do
    [ ! -f "$out/mutants.out/$list.txt" ] || changes=$((changes + $(wc -l < "$out/mutants.out/$list.txt")))
  done
  echo "$changes"
}

# Takes a room, a name for its outcomes, and options that choose changes.
room() {
  local room=$1 out=target/mutants/$1$2
  shift 2
  local chosen=(--package nearprint --file "${files[$room]}" "$@")
  # For what compiles and for what runs: otherwise all examples and benchmarks are compiled with each change.
  local first=(--cargo-arg=--lib) all=(--cargo-arg=--lib --cargo-arg=--test --cargo-arg=it)
  case $room in
    storage)
      all+=(--cargo-test-arg=--test --cargo-test-arg=faults --test-package nearprint --test-package nearprint-cli)
      ;;
    acts | dedup)
      chosen[1]=nearprint-text
      first=(--test-package nearprint-text --test-package nearprint-cli "${all[@]}")
      all=("${first[@]:0:4}")
      ;;
  esac
  # shellcheck disable=SC2086 # Several filters.
  try "$out/fast" "${chosen[@]}" "${first[@]}" -- ${fast[$room]}
  [ -d "$out/fast/mutants.out" ] || return 0
  local caught unviable missed=0
  caught=$(count "$out/fast" caught previously_caught)
  unviable=$(count "$out/fast" unviable)
  cat "$out/fast/mutants.out/"{missed,timeout}.txt > "$out/left"
  if [ -s "$out/left" ]; then
    try "$out/all" "${chosen[@]}" "${all[@]}" --re "$(pattern "$out/left")"
    caught=$((caught + $(count "$out/all" caught previously_caught timeout)))
    missed=$(count "$out/all" missed)
    cat "$out/all/mutants.out/missed.txt"
  fi
  echo "$room: $((caught + missed + unviable)) of $(cargo mutants --list "${chosen[@]:0:4}" | wc -l) changes tried;" \
    "$unviable do not compile, $caught are noticed, $missed are not"
  [ "$missed" -eq 0 ]
}

case ${1:-} in
  changed)
    mkdir -p target/mutants
    git diff "$2" > target/mutants/diff
    unnoticed=0
    for room in "${rooms[@]}"; do
      rm -rf "target/mutants/$room.changed"
      room "$room" .changed --in-diff target/mutants/diff || unnoticed=1
    done
    exit "$unnoticed"
    ;;
  *)
    [ -n "${1:-}" ] && [ -n "${files[$1]:-}" ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    room "$1" "${2:+-${2//\//of}}" ${2:+--shard "$2" --sharding round-robin}
    ;;
esac

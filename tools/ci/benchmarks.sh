#!/usr/bin/env bash
# Benchmarks and examples, on little data, with the code that the tests have compiled: whether they run is the question
# here.
source "$(dirname "$0")/common.sh"
bench() {
  cargo bench --quiet --profile test --locked --bench "$@"
}
NEARPRINT_BENCH_ROWS=100000 bench engine -- --sample-count 1 --sample-size 1
NEARPRINT_BENCH_MB=8 bench limits -- --sample-count 1 --sample-size 1
NEARPRINT_BENCH_ROWS=100000 bench living
NEARPRINT_BENCH_ROWS=3000 NEARPRINT_BENCH_DAYS=4 NEARPRINT_BENCH_DAY_MS=500 bench month
NEARPRINT_BENCH_ROWS=100000 NEARPRINT_BENCH_MS=1 bench model
NEARPRINT_BENCH_ROWS=20000 bench wide -- --sample-count 1 --sample-size 1
NEARPRINT_BENCH_MB=10 bench documents
NEARPRINT_BENCH_MB=4 bench text
example() {
  cargo run --quiet --profile test --package nearprint --locked --example "$@"
}
example embed
example build_corpus
folder stream
printf '0x1f3a\n0x1f3b\n0xffff0000\n' | example check_stream -- "$work/stream/seen.np"

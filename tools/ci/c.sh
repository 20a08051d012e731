#!/usr/bin/env bash
# C and C++. With PEERS=yes, simhash-cpp's own tests, too.
source "$(dirname "$0")/common.sh"
tools/setup.sh c
if [ "${PEERS:-}" != yes ]; then
  export NEARPRINT_MAY_SKIP="${NEARPRINT_MAY_SKIP:-} simhash-cpp"
else
  folder simhash-cpp
  tools/peers.sh simhash-cpp "$work/simhash-cpp"
  export SIMHASH_CPP="$work/simhash-cpp"
fi
crates/nearprint-c/tests/run.sh

#!/usr/bin/env bash
# Fetches the sources of another project, at the revision that its tests were tried with.
#
#   tools/peers.sh NAME FOLDER     datasketch, simhash-cpp, ThreatExchange (its folder pdq), imagededup
#
# A new revision is one that the step `peers` has passed with: git ls-remote URL HEAD.
set -euo pipefail
case $1 in
  datasketch) from=ekzhu/datasketch revision=8d4bda1b3085c8174f6f7c850c12644c87f135cf ;;
  simhash-cpp) from=seomoz/simhash-cpp revision=1eb4a0a82a1aaa12d53c9b85d014b2910300e012 ;;
  ThreatExchange) from=facebook/ThreatExchange revision=baefb4ed67b6cdc1d4c82dbaef858d50866ac424 ;;
  imagededup) from=idealo/imagededup revision=57a7e855eb00cbe824b63c265bc2ecc4dbee89dd ;;
  *) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
git init --quiet "$2"
cd "$2"
git remote add origin "https://github.com/$from"
if [ "$1" = ThreatExchange ]; then
  git sparse-checkout set pdq
fi
git fetch --quiet --depth 1 --filter=blob:none origin "$revision"
git -c advice.detachedHead=false checkout --quiet FETCH_HEAD

#!/usr/bin/env bash
# The files of a release for this machine, with the programs of the tests. The step `aarch64` makes an archive.
source "$(dirname "$0")/common.sh"
tools/setup.sh release
export DIST=$work/dist
programs
BUILT=yes PROFILE=test tools/release.sh deb
tools/release.sh sdist
tools/release.sh checksums
tools/release.sh check

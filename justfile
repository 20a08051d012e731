# The steps of CI, each of which works alone: `just lints`. `.ci/run` runs them two at a time, and has both lists.
# `just --list` shows them; CONTRIBUTING.md has what they need and how long they take.

set shell := ["bash", "-euo", "pipefail", "-c"]

export PATH := env("CARGO_TARGET_DIR", justfile_directory() / "target") / "tools/bin" + ":" + env("PATH")

[private]
default:
    @just --list --unsorted

# How sources are laid out
format:
    cargo fmt --all --check

# The tests of all crates
tests:
    tools/ci/tests.sh

# clippy, with all features and without
lints:
    tools/apart.sh tools/ci/lints.sh

# The documentation of all crates, without a warning
documentation:
    RUSTDOCFLAGS="-D warnings" tools/apart.sh cargo doc --no-deps --locked

# The public API, compared with its lists
api:
    tools/apart.sh tests/public-api.sh

# The crates as crates.io gets them, and whether all that is in them compiles
packages:
    DIST="${NEARPRINT_WORK:-target}/crates" tools/apart.sh tools/release.sh crates --allow-dirty

# The first command of README.md, and that its program has the engine once
main:
    tools/blocks.py main .
    python3 tools/copies.py 32768 --release --no-default-features --locked --bin nearprint

# The Python package and its tests
python:
    tools/ci/python.sh

# The tests of the tests: each measure that is switched off is noticed
sabotage:
    tests/sabotage.sh

# Benchmarks and examples run
benchmarks:
    tools/ci/benchmarks.sh

# C and C++
c:
    tools/ci/c.sh

# Counts of instructions of the hot paths
instructions:
    tools/setup.sh instructions && benches/instructions.sh

# The commands of README.md and docs
commands:
    tools/ci/commands.sh

# Reports in a browser
reports:
    tools/ci/reports.sh

# The files of a release for this machine
release:
    tools/ci/release.sh

# The wheel of Python with the oldest and the newest interpreter
wheel:
    tools/ci/wheel.sh

# The site of the documentation, and its pages in a browser
site:
    tools/anchors.py && tools/setup.sh site reports
    properdocs build --strict --site-dir "${NEARPRINT_WORK:-target}/site"
    python tests/site.py "${NEARPRINT_WORK:-target}/site"

# What dedup finds
yardstick:
    tools/ci/yardstick.sh

# Every test in its long form
full:
    tools/ci/tests.sh full

# Some seconds of each fuzz target, beyond its corpus
fuzz:
    fuzz/smoke.sh 5

# Changes of the last commit that its tests should notice
mutants:
    tools/setup.sh mutants && tests/mutants.sh changed HEAD~1

# Other projects' tests of what is compatible with them
peers:
    PEERS=yes tools/ci/c.sh && PEERS=yes tools/ci/python.sh

# Python's modules for other libraries, with the oldest and the newest versions of these
libraries:
    tools/ci/libraries.sh

# The wheel, made of the source distribution
sdist:
    FROM=sdist tools/ci/wheel.sh

# The engine on aarch64, under emulation
aarch64:
    tools/ci/aarch64.sh

# The programs for Windows, under wine
windows:
    tools/ci/windows.sh

# Licences, advisories and duplicates of dependencies
deny:
    tools/setup.sh deny && cargo deny --workspace --all-features --exclude-dev check

# Whether the version says what has changed, compared with crates.io: from the first release on
semver:
    tools/setup.sh semver && cargo semver-checks --package nearprint --package nearprint-text --package nearprint-image

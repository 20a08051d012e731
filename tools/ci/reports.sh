#!/usr/bin/env bash
# Reports in a browser: those of the tests, and one of the sources of all dependencies.
source "$(dirname "$0")/common.sh"
tools/setup.sh reports
export NEARPRINT_REPORT_DIR=$work/pages
programs
NEARPRINT_FULL=1 cargo nextest run --locked --no-tests fail --filterset 'package(nearprint-cli) & kind(lib) & test(/^report::/)'
# Of a folder with pictures, damaged and hostile files, rotated and mirrored copies.
cargo nextest run --locked --no-tests fail --filterset 'package(nearprint-cli) & test(/^pictures::the_page/)'
# Many files, and the program of README.md.
cargo run --quiet --release --no-default-features --locked -- --quiet scan "${CARGO_HOME:-$HOME/.cargo}/registry/src" \
  --report "$work/pages/scan.html" > /dev/null
# All but one file of each group are marked in this one; the saved list, then the saved commands, are applied.
folder choice
folder saves
cp -r docs "$work/choice/articles"
cp docs/commands.md "$work/choice/articles/it's a"$'\n'"copy.md"
sed '1,9d' docs/commands.md > "$work/choice/articles/-b.md"
(cd "$work/choice" && "$work/programs/nearprint" --quiet scan articles --report "$work/pages/choice.html") > /dev/null
python tests/report/browser.py "$work"/pages/*.html --saves "$work/saves"
cd "$work/choice"
find articles -type f | sort > ../before-choice
"$work/programs/nearprint" prune --list "$work/saves/choice/nearprint-chosen.tsv" --move-to gone
find articles -type f | sort > ../applied
"$work/programs/nearprint" undo gone/nearprint-undo.tsv
find articles -type f | sort | diff ../before-choice -
sh "$work/saves/choice/nearprint-chosen.sh"
find articles -type f | sort | diff ../applied -
if cmp -s ../before-choice ../applied; then exit 1; fi

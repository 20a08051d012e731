#!/usr/bin/env bash
# Runs the commands that README.md and docs show between markers `<!-- ci: NAME -->` and the end of their block.
#
#   tools/readme.sh NAME            prints them
#   tools/readme.sh NAME FOLDER     prints them, and runs them there; FOLDER is made
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
commands=$(sed -n "/<!-- ci: $1 -->/,/\`\`\`\$/p" "$root/README.md" "$root"/docs/*.md | grep '^[a-z]') ||
  { echo "tools/readme.sh: no commands of $1" >&2; exit 1; }
printf '%s\n' "$commands"
[ -n "${2:-}" ] || exit 0
mkdir -p "$2"
cd "$2"
bash -euo pipefail <(printf '%s\n' "$commands")

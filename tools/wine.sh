#!/usr/bin/env bash
# Starts a program for Windows under wine: tools/wine.sh PROGRAM [ARGUMENT...]
#
# Needs wine and wine64, and gcc-mingw-w64-x86-64 to make the library that wine 8 lacks. What wine needs is in the
# folder wine of cargo's target folder.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${CARGO_TARGET_DIR:-$root/target}/wine
if [ ! -e "$folder/bcryptprimitives.dll" ]; then
  mkdir -p "$folder"
  x86_64-w64-mingw32-gcc -O2 -s -shared -o "$folder/$$.dll" "$root/tests/windows/bcryptprimitives.c" -ladvapi32
  mv "$folder/$$.dll" "$folder/bcryptprimitives.dll"
fi
export WINEPREFIX=$folder/prefix WINEPATH=$folder
export WINEDEBUG=${WINEDEBUG:--all}
exec wine "$@"

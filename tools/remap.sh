#!/usr/bin/env bash
# Prints the RUSTFLAGS with which programs and libraries contain no paths of this machine: those that are set, and a
# fixed name for each folder that sources come from. A change of flags compiles everything again, so whoever builds
# several things sets them once:
#
#   export RUSTFLAGS; RUSTFLAGS=$(tools/remap.sh)
set -euo pipefail
cd "$(dirname "$0")/.."

flags=${RUSTFLAGS:-}
target=${CARGO_TARGET_DIR:-target}
[[ $target = /* ]] || target=$PWD/$target
# The last one that fits is taken.
for names in "$HOME=/home" "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$(rustc --print sysroot)=/rustc" \
  "$PWD=/nearprint" "$target=/target"; do
  case " $flags " in
    *" --remap-path-prefix=$names "*) ;;
    *) if [[ ${names%=*} =~ [[:space:]] ]]; then
         echo "tools/remap.sh: ${names%=*} has a space, and stays in what is built" >&2
       else
         flags+=" --remap-path-prefix=$names"
       fi ;;
  esac
done
printf '%s\n' "${flags# }"

#!/usr/bin/env bash
# Builds and installs the libraries, the headers, the pkg-config file and the CMake package, as `cargo cinstall` does,
# and the licences of what is in the libraries, which needs python3.
#
#   crates/nearprint-c/install.sh PREFIX [LIBDIR]
#
# LIBDIR is PREFIX/lib by default. With DESTDIR=FOLDER, everything goes to that folder, under the same paths. With
# PROFILE=NAME, that profile is built instead of `release`. With TEXTS=no, the libraries have no functions on texts and
# documents.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ $1 != /* ]]; then
  echo "usage: [DESTDIR=FOLDER] [PROFILE=NAME] $0 PREFIX [LIBDIR], with absolute paths" >&2
  exit 2
fi
prefix=$1
libdir=${2:-$prefix/lib}
root=${DESTDIR:-}
if [ -n "$root" ]; then
  mkdir -p "$root"
  root=$(cd "$root" && pwd)
fi
profile=${PROFILE:-release}
cd "$(dirname "$0")/../.."
here=crates/nearprint-c
version=$(sed -n 's/^version = "\([0-9.]*\)"$/\1/p' Cargo.toml | head -n 1)
library_version=$(sed -n '/metadata.capi.library/,/^version/s/^version = "\(.*\)"$/\1/p' "$here/Cargo.toml")

features=(--features capi)
defined=
if [ "${TEXTS:-yes}" = no ]; then
  features+=(--no-default-features)
  defined=" -DNEARPRINT_NO_TEXTS"
fi
RUSTFLAGS=$(tools/remap.sh)
export RUSTFLAGS
cargo build --quiet --profile "$profile" --package nearprint-c "${features[@]}" --locked
case $profile in
  dev | test) built=${CARGO_TARGET_DIR:-target}/debug ;;
  *) built=${CARGO_TARGET_DIR:-target}/$profile ;;
esac
libraries=$root$libdir
# The static library is one object, which defines the functions of the header and nothing else. What it is made of must
# not take the place of what a program has under the same names, such as another version of zstd.
mkdir -p "$libraries"
if [ "$(uname -s)" = Linux ]; then
  object=$(mktemp -d)/nearprint.o
  ld -r --whole-archive "$built/libnearprint_c.a" -o "$object"
  # Bitcode of LLVM is of use to nobody here, and plugins of other versions of LLVM stumble over it.
  objcopy --wildcard --keep-global-symbol='nearprint_*' --remove-section=.llvmbc --remove-section=.llvmcmd "$object"
  rm -f "$libraries/libnearprint.a"
  ar crsD "$libraries/libnearprint.a" "$object"
  rm -r "$(dirname "$object")"
  chmod 644 "$libraries/libnearprint.a"
else
  install -m 644 "$built/libnearprint_c.a" "$libraries/libnearprint.a"
fi
install -D -m 755 "$built/libnearprint_c.so" "$libraries/libnearprint.so.$library_version"
ln -sf "libnearprint.so.$library_version" "$libraries/libnearprint.so.${library_version%%.*}"
ln -sf "libnearprint.so.$library_version" "$libraries/libnearprint.so"

(cd "$here/include" && find . -type f -exec install -D -m 644 {} "$root$prefix/include/{}" \;)
(cd "$here/cmake" && find . -type f -exec install -D -m 644 {} "$root$prefix/share/cmake/nearprint/{}" \;)
install -D -m 644 "$here/nearprint.supp" "$root$prefix/share/nearprint/nearprint.supp"
documents=$root$prefix/share/doc/nearprint
install -D -m 644 -t "$documents" LICENSE-APACHE LICENSE-MIT
tools/third_party.py nearprint-c "$(rustc -vV | sed -n 's/^host: //p')" > "$documents/THIRD-PARTY.txt"
mkdir -p "$libraries/pkgconfig"
# A folder that is moved as a whole needs no other files.
movable=$libdir
[[ $libdir != "$prefix"/* ]] || movable="\${prefix}${libdir#"$prefix"}"
cat > "$libraries/pkgconfig/nearprint.pc" << EOF
prefix=$prefix
libdir=$movable
includedir=\${prefix}/include

Name: nearprint
Description: nearprint for C and C++: a shared and a static library with their headers
Version: $version
Libs: -L\${libdir} -lnearprint
Cflags: -I\${includedir}$defined
Libs.private: -lpthread -lm -ldl
EOF
cat > "$libraries/pkgconfig/nearprint-static.pc" << EOF
prefix=$prefix
libdir=$movable
includedir=\${prefix}/include

Name: nearprint-static
Description: nearprint for C and C++, linked from its static library even where there is a shared one
Version: $version
Libs: \${libdir}/libnearprint.a -lpthread -lm -ldl
Cflags: -I\${includedir}$defined
EOF

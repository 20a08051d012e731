#!/usr/bin/env bash
# Builds and installs the libraries, the headers, the pkg-config file and the CMake package, as `cargo cinstall` does,
# and the licences of what is in the libraries, which needs python3.
#
#   crates/nearprint-c/install.sh PREFIX [LIBDIR]
#
# LIBDIR is PREFIX/lib by default. With DESTDIR=FOLDER, everything goes to that folder, under the same paths. With
# PROFILE=NAME, that profile is built instead of `release`.
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

RUSTFLAGS=$(tools/remap.sh)
export RUSTFLAGS
cargo build --quiet --profile "$profile" --package nearprint-c --features capi --locked
case $profile in
  dev | test) built=${CARGO_TARGET_DIR:-target}/debug ;;
  *) built=${CARGO_TARGET_DIR:-target}/$profile ;;
esac
libraries=$root$libdir
install -D -m 644 "$built/libnearprint_c.a" "$libraries/libnearprint.a"
install -D -m 755 "$built/libnearprint_c.so" "$libraries/libnearprint.so.$library_version"
ln -sf "libnearprint.so.$library_version" "$libraries/libnearprint.so.${library_version%%.*}"
ln -sf "libnearprint.so.$library_version" "$libraries/libnearprint.so"

(cd "$here/include" && find . -type f -exec install -D -m 644 {} "$root$prefix/include/{}" \;)
(cd "$here/cmake" && find . -type f -exec install -D -m 644 {} "$root$prefix/share/cmake/nearprint/{}" \;)
documents=$root$prefix/share/doc/nearprint
install -D -m 644 -t "$documents" LICENSE-APACHE LICENSE-MIT
tools/third_party.py nearprint-c "$(rustc -vV | sed -n 's/^host: //p')" > "$documents/THIRD-PARTY.txt"
mkdir -p "$libraries/pkgconfig"
cat > "$libraries/pkgconfig/nearprint.pc" << EOF
prefix=$prefix
libdir=$libdir
includedir=\${prefix}/include

Name: nearprint
Description: nearprint for C and C++: a shared and a static library with their headers
Version: $version
Libs: -L\${libdir} -lnearprint
Cflags: -I\${includedir}
Libs.private: -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
EOF

#!/usr/bin/env bash
# Makes the files of a release, and checks them. Uploads nothing.
#
#   tools/release.sh binary TARGET        an archive of the programs for a target of rustc; *-musl and *-windows-* are
#                                         static
#   tools/release.sh deb [PACKAGE...]     Debian packages of crates (nearprint-cli), for this machine
#   tools/release.sh crates [OPTION...]   the crates of crates.io, and whether all that is in them compiles; options
#                                         go to cargo package
#   tools/release.sh licences TARGET...   python/THIRD-PARTY.txt, which maturin puts into wheels
#   tools/release.sh urls URL             writes the address of the repository into python/pyproject.toml
#   tools/release.sh sdist                the source distribution of the Python package
#   tools/release.sh checksums            SHA256SUMS of everything that is there
#   tools/release.sh check                unpacks, installs and runs what is there; looks for licences, and for paths
#                                         of this machine
#
# PROFILE is the profile of cargo (dist), and DIST the folder of the files (dist). With BUILT=yes, deb packs what is in
# the target folder.
#
# binary for *-musl needs cargo-zigbuild and ziglang of PyPI, and qemu-user if this machine has another processor.
# binary for *-windows-gnu needs gcc-mingw-w64-x86-64, wine and wine64.
# deb needs cargo-deb and dpkg-dev. sdist needs maturin. check needs root and mmdebstrap for Debian packages. Licences
# need python3.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTFLAGS=$(tools/remap.sh)
export RUSTFLAGS

profile=${PROFILE:-dist}
target=${CARGO_TARGET_DIR:-target}
mkdir -p "${DIST:-dist}" "$target"
dist=$(cd "${DIST:-dist}" && pwd)
case $profile in
  dev | test) built=debug ;;
  *) built=$profile ;;
esac
version=$(cargo pkgid --package nearprint-cli)
version=${version##*[#@]}
programs=(nearprint simhash-find-all simhash-find-clusters)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "tools/release.sh: $*" >&2
  exit 1
}

# The target of this machine.
host() {
  rustc -vV | sed -n 's/^host: //p'
}

# What starts programs of a target on this machine.
runner() {
  case $1 in
    aarch64-*-linux-* | x86_64-*-linux-*)
      if [ "${1%%-*}" = "$(uname -m)" ]; then echo env; else echo "qemu-${1%%-*}"; fi
      ;;
    *-windows-gnu) echo tools/wine.sh ;;
    *) echo env ;;
  esac
}

# The end of the names of programs of a target.
suffix() {
  [[ $1 != *-windows-* ]] || echo .exe
}

# Makes a folder of what comes with the programs of a target, in the layout of /usr/local/share. The rest of the
# arguments runs `nearprint`.
share() {
  local share=$1 triple=$2
  shift 2
  rm -rf "$share"
  mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,doc/nearprint}
  "$@" man --dir "$share/man/man1"
  cp crates/nearprint-cli/man/*.1 "$share/man/man1"
  gzip -9n "$share"/man/man1/*.1
  "$@" completions bash > "$share/bash-completion/completions/nearprint"
  "$@" completions zsh > "$share/zsh/site-functions/_nearprint"
  "$@" completions fish > "$share/fish/vendor_completions.d/nearprint.fish"
  cp README.md LICENSE-APACHE LICENSE-MIT "$share/doc/nearprint"
  gzip -9nc CHANGELOG.md > "$share/doc/nearprint/changelog.gz"
  tools/third_party.py nearprint-cli "$triple" > "$work/THIRD-PARTY"
  gzip -9nc "$work/THIRD-PARTY" > "$share/doc/nearprint/THIRD-PARTY.gz"
}

binary() {
  local triple=$1 name=nearprint-$version-$1 build=build folder suffix program
  suffix=$(suffix "$triple")
  [[ $triple != *-musl ]] || build=zigbuild
  cargo "$build" --profile "$profile" --locked --target "$triple" --package nearprint-cli
  folder=$work/$name
  mkdir -p "$folder/bin"
  for program in "${programs[@]}"; do
    cp "$target/$triple/$built/$program$suffix" "$folder/bin"
  done
  share "$folder/share" "$triple" "$(runner "$triple")" "$folder/bin/nearprint$suffix"
  if [ -n "$suffix" ]; then
    (cd "$work" && rm -f "$dist/$name.zip" && python3 -m zipfile -c "$dist/$name.zip" "$name")
    return
  fi
  # The archive is one folder: `tar --strip-components=1` installs it to ~/.local or /usr/local.
  local owner=(--owner=0 --group=0)
  [ "$(uname)" != Darwin ] || owner=(--uid=0 --gid=0)
  tar -czf "$dist/$name.tar.gz" "${owner[@]}" -C "$work" "$name"
}

deb() {
  local package
  for package in "${@:-nearprint-cli}"; do
    [ "${BUILT:-}" = yes ] || cargo build --profile "$profile" --locked --package "$package"
    [ "$package" != nearprint-cli ] || share "$target/$built/share" "$(host)" "$target/$built/nearprint"
    # cargo-deb looks for programs in a folder with the name of the profile.
    [ "$built" = "$profile" ] || ln -sfn "$built" "$target/$profile"
    # It would build the whole workspace.
    cargo deb --package "$package" --profile "$profile" --no-build --strip --compress-system --output "$dist/"
  done
}

crates() {
  local names=(nearprint nearprint-text nearprint-image nearprint-cli nearprint-c) name
  # check_crates compiles more than cargo's own check.
  cargo package --locked --no-verify "$@" "${names[@]/#/--package=}"
  for name in "${names[@]}"; do
    cp "$target/package/$name-$version.crate" "$dist"
  done
  check_crates "${names[@]}"
}

# Compiles everything in the packages, away from the repository: libraries, programs, tests, benchmarks and examples.
check_crates() {
  local folder=$work/crates name
  mkdir "$folder"
  { printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n'
    for name in "$@"; do
      printf '%s = { path = "%s-%s" }\n' "$name" "$name" "$version"
    done; } > "$folder/Cargo.toml"
  for name in "$@"; do
    # Files of packages have a time long ago, by which cargo would take what it has compiled of another version for new.
    tar -xzmf "$dist/$name-$version.crate" -C "$folder"
    [ -s "$folder/$name-$version/LICENSE-MIT" ] || fail "$name has no licence"
  done
  # Cargo leaves out what these packages do not need.
  cp Cargo.lock "$folder"
  cargo fetch --locked --target "$(host)"
  CARGO_TARGET_DIR=$(cd "$target" && pwd) cargo check --manifest-path "$folder/Cargo.toml" --offline --workspace \
    --all-targets
}

licences() {
  tools/third_party.py nearprint-python "$@" > python/THIRD-PARTY.txt
}

# The sources have no address of their own, so that a fork publishes its own one.
urls() {
  printf '\n[project.urls]\n' >> python/pyproject.toml
  printf '%s = "%s"\n' Source "$1" Issues "$1/issues" Changelog "$1/blob/v$version/CHANGELOG.md" >> python/pyproject.toml
}

sdist() {
  licences {x86_64,aarch64}-{unknown-linux-gnu,apple-darwin}
  maturin sdist --manifest-path python/Cargo.toml --out "$dist"
}

checksums() {
  (cd "$dist" && rm -f SHA256SUMS && sha256sum -- * > "$work/SHA256SUMS" && cp "$work/SHA256SUMS" .)
}

# Files contain no path of this machine, and none of cargo on another one.
has_no_paths() {
  local path
  for path in "$PWD/" "${CARGO_HOME:-$HOME/.cargo}/" "$HOME/" "$(cd "$target" && pwd)/" \
    '/(root|(home|Users)/[^/[:space:]]+)/\.(cargo|rustup)/'; do
    [ "$path" = // ] || ! grep -aoE "$path[[:graph:]]{0,80}" "$@" >&2 || fail "a path of the machine in $*"
  done
}

# Files for Linux have no table of symbols, which would be a sixth of a program.
are_stripped() {
  local file
  for file in "$@"; do
    ! readelf --wide --section-headers "$file" | grep -qF .symtab || fail "$file is not stripped"
  done
}

# Compares what a command prints with what it should print.
prints() {
  local expected=$1 got
  shift
  got=$("$@" 2> "$work/errors") || true
  [ "$got" = "$expected" ] || fail "$* printed '$got' instead of '$expected', and $(cat "$work/errors")"
}

# Uses the programs in the folder `bin`, whose names end with a suffix, and a folder for files, as the programs see
# them. The rest of the arguments starts programs.
round_trip() {
  local bin=$1 suffix=$2 folder=$3
  shift 3
  local nearprint=("$@" "$bin/nearprint$suffix" --quiet)
  prints "nearprint $version" "$@" "$bin/nearprint$suffix" --version
  printf '0x1f3a\t10\n0xffff0000\t11\n' | "${nearprint[@]}" build "$folder/seen.np"
  printf '0x1f3b\t12\n' | "${nearprint[@]}" add "$folder/seen.np"
  prints $'7995\t0\t7995\t12\n7995\t1\t7994\t10' "${nearprint[@]}" query "$folder/seen.np" -f 7995 -k 1
  "${nearprint[@]}" verify "$folder/seen.np" > /dev/null
  prints '{"text":"one two three four five"}' "${nearprint[@]}" dedup - -o - \
    < <(printf '{"text":"one two three four five"}\n%.0s' 1 2)
  prints '[1, 2]' "$@" "$bin/simhash-find-all$suffix" --blocks 4 --distance 3 < <(printf '1\n2\n255\n')
  prints '[1, 2]' "$@" "$bin/simhash-find-clusters$suffix" --blocks 4 --distance 3 < <(printf '1\n2\n255\n')
}

check_archive() {
  local name folder=$work/unpacked triple program file suffix
  name=$(basename "$(basename "$1" .tar.gz)" .zip)
  triple=${name#"nearprint-$version-"}
  suffix=$(suffix "$triple")
  mkdir -p "$folder/$name/files"
  case $1 in
    *.zip) python3 -m zipfile -e "$1" "$folder" ;;
    *) tar -xzf "$1" -C "$folder" ;;
  esac
  folder=$folder/$name
  if [[ $triple == *-musl ]]; then
    for program in "${programs[@]}"; do
      file=$(readelf --wide --program-headers --dynamic "$folder/bin/$program")
      [[ $file != *INTERP* && $file != *NEEDED* ]] || fail "$program of $1 is not static"
    done
  fi
  if [ -n "$suffix" ]; then
    local of_windows='^(api-ms-win-[a-z0-9-]+|bcrypt(primitives)?|kernel32|msvcrt|ntdll|userenv|ws2_32)\.dll$'
    for program in "${programs[@]}"; do
      # All that they load belongs to Windows.
      file=$(x86_64-w64-mingw32-objdump -p "$folder/bin/$program$suffix" | sed -n 's/.*DLL Name: //p')
      [[ $file == *KERNEL32.dll* ]] || fail "$program of $1 does not say what it loads"
      ! grep -ivE "$of_windows" <<< "$file" >&2 || fail "$program of $1 is not static"
    done
  fi
  has_no_paths "$folder"/bin/*
  # Programs of tests keep their symbols.
  [ -n "$suffix" ] || [ "$built" = debug ] || are_stripped "$folder"/bin/*
  for file in man/man1/{nearprint{,-query},simhash-find-{all,clusters}}.1.gz \
    doc/nearprint/{LICENSE-{APACHE,MIT},THIRD-PARTY.gz} \
    bash-completion/completions/nearprint zsh/site-functions/_nearprint fish/vendor_completions.d/nearprint.fish; do
    [ -s "$folder/share/$file" ] || fail "$1 has no $file"
  done
  round_trip "$folder/bin" "$suffix" "$folder/files" "$(runner "$triple")"
}

# Unpacks the Debian packages and what they depend on into an empty folder, with three shells and man, and uses them.
check_debs() {
  local root=$work/root codename page
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # The packages have the same path inside and outside.
  mmdebstrap --quiet --mode=root --format=directory --variant=extract \
    --setup-hook="mkdir -p \"\$1$dist\" && cp $(printf "'%s' " "$@") \"\$1$dist\"" \
    --include=bash,bash-completion,coreutils,fish,man-db,zsh "${@/#/--include=}" "$codename" "$root"
  mkdir "$root/files"
  has_no_paths "${programs[@]/#/$root/usr/bin/}"
  are_stripped "${programs[@]/#/$root/usr/bin/}"
  [ -s "$root/usr/share/doc/nearprint/THIRD-PARTY.gz" ] || fail "the package has no licences of dependencies"
  round_trip /usr/bin "" /files chroot "$root"
  for page in nearprint nearprint-query simhash-find-all; do
    prints "/usr/share/man/man1/$page.1.gz" chroot "$root" env LC_ALL=C man -w "$page"
  done
  prints query chroot "$root" bash -c '
    . /usr/share/bash-completion/bash_completion
    _completion_loader nearprint
    COMP_WORDS=(nearprint que) COMP_CWORD=1
    _nearprint nearprint que nearprint
    echo "${COMPREPLY[@]}"'
  prints _nearprint chroot "$root" zsh -f -c 'autoload -U compinit; compinit -u -D; print "$_comps[nearprint]"'
  prints query chroot "$root" env HOME=/files fish -c 'complete -C "nearprint que" | string split --fields 1 \t'
}

# A wheel or a source distribution of Python, which begin with the name of the package.
check_python() {
  local folder=$work/python file
  rm -rf "$folder"
  mkdir "$folder"
  case $1 in
    *.whl) python3 -m zipfile -e "$1" "$folder" && find "$folder" -name '*.so' -o -name '*.pyd' > "$work/modules" ;;
    *) tar -xzf "$1" -C "$folder" && : > "$work/modules" ;;
  esac
  for file in LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt; do
    [ -n "$(find "$folder" -name "$file" -size +0)" ] || fail "$1 has no $file"
  done
  while read -r file; do has_no_paths "$file" && are_stripped "$file"; done < "$work/modules"
  [[ $1 == *.whl ]] || return 0
  # The command line and the library are one module.
  [ "$(wc -l < "$work/modules")" -eq 1 ] && [ -z "$(find "$folder" -path '*.data/*' -type f)" ] ||
    fail "$1 has several copies of the engine"
  grep -qx 'License-Expression: MIT OR Apache-2.0' "$folder"/*.dist-info/METADATA || fail "$1 does not name its licence"
}

check() {
  local file found=0 debs=()
  for file in "$dist"/*; do
    case $file in
      */nearprint-"$version"-*.tar.gz | */nearprint-"$version"-*.zip)
        check_archive "$file"
        found=1
        ;;
      */nearprint-"$version".tar.gz | *.whl)
        check_python "$file"
        found=1
        ;;
      *_"$(dpkg --print-architecture 2> /dev/null || true)".deb) debs+=("$file") ;;
      */SHA256SUMS) (cd "$dist" && sha256sum --check --strict --quiet SHA256SUMS) ;;
    esac
  done
  if [ ${#debs[@]} -gt 0 ]; then
    check_debs "${debs[@]}"
  elif [ $found = 0 ]; then
    fail "nothing to check in $dist"
  fi
}

case ${1:-} in
  binary | deb | crates | licences | urls | sdist | checksums | check) "$@" ;;
  *) sed -n '2,/^[^#]/s/^# \{0,1\}//p' tools/release.sh >&2; exit 2 ;;
esac

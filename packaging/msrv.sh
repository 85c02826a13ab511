#!/usr/bin/env bash
# Builds with the oldest compilers that `rust-version` promises, and runs what was built.
#
#   packaging/msrv.sh [library] [program] [fleet]      without a name: library, program
#
#   library   crates/clock with all features and its examples, crates/clock-c with its test programs, and the Python
#             wheel with its tests: with the compiler of Debian 13 (rustc 1.85), in a new Debian 13
#   program   crates/cli with the version that it states, which rustup installs
#   fleet     the engine of `fleet` likewise, checked only: minutes
#
# The source is a copy of what git has here (with changes that are not committed). The Debian system is made by
# packaging/debian-root.sh; crates and Python's build tools come over the network. Exits with 1 when something is wrong,
# with 77 when a tool is missing, with 75 when the network is; the last line says which.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cd "$root"
. "$here/offline.sh"
export LC_ALL=C
debian=trixie
wanted=(binutils ca-certificates cargo g++ gcc libc6-dev pkg-config python3-dev python3-venv rustc)

strict() {
    # As ./test.sh reads it.
    case ${STRICT-} in '' | 0 | [Nn][Oo] | [Oo][Ff][Ff] | [Ff][Aa][Ll][Ss][Ee]) return 1 ;; esac
}

missing() {
    echo "msrv: $1" >&2
    exit "${2:-77}"
}

fail() {
    echo "msrv: $1" >&2
    exit 1
}

states() {
    # states DIR: the rust-version of the crate there; the workspace's if it has none of its own.
    local version
    version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$1/Cargo.toml")
    [ -n "$version" ] || version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    echo "$version"
}

steps=("$@")
[ "${#steps[@]}" -gt 0 ] || steps=(library program)
for tool in git cargo tar; do
    command -v "$tool" >/dev/null || missing "no $tool: apt-get install $tool"
done
as_root=()
if [ "$(id -u)" -ne 0 ] && strict; then as_root=(sudo -n); fi
dir=$(mktemp -d)
trap '"${as_root[@]}" rm -rf --one-file-system "$dir"' EXIT

library() {
    local system cache version crate
    version=$(states crates/clock)
    for crate in crates/clock-c python; do
        [ "$(states "$crate")" = "$version" ] ||
            fail "$crate states rust-version $(states "$crate"), and crates/clock $version; make them the same"
    done
    # Its last line says what is missing.
    system=$("$here/debian-root.sh" "$debian" "${wanted[@]}") || exit
    cache=${CLOCKSMITH_PACKAGE_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/clocksmith-packages}/msrv-cargo-home
    mkdir -p "$cache" "$dir/system/source"
    "${as_root[@]}" tar -C "$dir/system" --numeric-owner --exclude=./dev -xf "$system"
    "${as_root[@]}" mkdir -p "$dir/system/dev" "$dir/system/root/.cargo"
    # Files that are deleted but not committed are still listed.
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi; done |
        tar --null -T - -cf - | "${as_root[@]}" tar --no-same-owner -C "$dir/system/source" -xf -
    "${as_root[@]}" cp "$here/test-msrv.sh" "$dir/system/source-test.sh"
    # The way to the registries is this machine's.
    "${as_root[@]}" cp -L /etc/resolv.conf /etc/hosts "$dir/system/etc/"
    if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
        "${as_root[@]}" cp -L /etc/ssl/certs/ca-certificates.crt "$dir/system/etc/ssl/certs/"
    fi
    if [ -e "${CARGO_HOME:-$HOME/.cargo}/config.toml" ]; then
        cp "${CARGO_HOME:-$HOME/.cargo}/config.toml" "$cache/"
    fi
    local settings=() name status=0
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_DEFAULT_TIMEOUT; do
        if [ -n "${!name-}" ]; then settings+=("$name=${!name}"); fi
    done
    "${as_root[@]}" unshare --mount --pid --ipc --uts --fork --kill-child -- bash -euc '
        mount --make-rprivate /
        mount -t proc proc "$0/proc"
        mount --rbind /sys "$0/sys"
        mount --rbind /dev "$0/dev"
        mount --bind "$1" "$0/root/.cargo"
        system=$0 version=$2
        shift 2
        exec chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@" \
            bash /source-test.sh "$version"' "$dir/system" "$cache" "$version" ${settings[@]+"${settings[@]}"} || status=$?
    [ "$status" -eq 0 ] || exit "$status"
}

# toolchain VERSION: has rustup install it.
toolchain() {
    command -v rustup >/dev/null || missing "no rustup, which has Rust $1; install it, or name the step library alone"
    if ! rustup run "$1" cargo --version >/dev/null 2>&1; then
        fetch rustup toolchain install "$1" --profile minimal || missing "rustup cannot install Rust $1" $?
    fi
}

# Below target/, but not among what this machine's own compiler has made: it would be replaced.
program() {
    local version log=book/samples/causes/tsc-warp-2.log
    version=$(states crates/cli)
    toolchain "$version"
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/msrv CARGO_PROFILE_DEV_DEBUG=0
    fetch cargo "+$version" fetch --locked --quiet || missing "cargo cannot fetch the dependencies" $?
    cargo "+$version" build --locked -p clocksmith-cli --features full || fail "crates/cli does not build with Rust $version, its rust-version"
    "$CARGO_TARGET_DIR/debug/clocksmith" why --log "$log" >"$dir/why" || fail "why --log ends with $? if built with Rust $version"
    grep -q tsc-warp "$dir/why" || fail "why --log says something else if built with Rust $version: $(cat "$dir/why")"
    echo "msrv: the program builds with Rust $version, and runs"
}

fleet() {
    local version
    version=$(states fleet)
    toolchain "$version"
    fetch cargo "+$version" fetch --locked --quiet --manifest-path fleet/Cargo.toml ||
        missing "cargo cannot fetch the dependencies" $?
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/msrv cargo "+$version" check --locked --manifest-path fleet/Cargo.toml ||
        fail "fleet does not build with Rust $version, its rust-version"
    echo "msrv: the engine of fleet builds with Rust $version"
}

for step in "${steps[@]}"; do
    case $step in
    library | program | fleet) "$step" ;;
    *) missing "no step $step; there are library, program, fleet" 2 ;;
    esac
done

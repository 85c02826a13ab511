#!/usr/bin/env bash
# Makes everything that is given to users, into dist/: static programs as archives, Debian and RPM packages of
# the program (x86-64, aarch64) and of the C library, the Python wheel, the bill of materials, SHA256SUMS.
#
#   packaging/build.sh [--out DIR] [STEP...]      without a step: all of them, in this order
#
#   program-x86_64, program-aarch64   the static program, compiled
#   libraries                         the C library and the library of `run --via preload`, compiled (x86-64)
#   sbom                              what is in all that: CycloneDX, and the licences of others
#   wheel                             the Python wheels, for glibc and for musl
#   image                             container images of the static programs that are compiled
#   packages                          archives and packages of what was compiled, and the sums
#   fleet                             clocksmith-fleet, the engine of `fleet` (x86-64): by name alone, because it takes as
#                                     long to compile as all the rest; name it before `packages`
#   install DIR                       the program by `cargo install`, compiled in the same way, below DIR
#
# The same source gives the same bytes, wherever and whoever builds: no path of this machine gets into a
# program, and the only time is SOURCE_DATE_EPOCH (the last commit's, if it is not set). Compiled things go
# below CARGO_TARGET_DIR (target/).
#
# Runs on x86-64 Debian 12 or later. Needs cargo with the targets x86_64-unknown-linux-musl and
# aarch64-unknown-linux-musl, cc, aarch64-linux-gnu-gcc, python3 (3.11) with venv, and rpmbuild,
# umoci and skopeo. Exits with 77 when a tool is missing, with 75 when the network is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cd "$root"
. "$here/offline.sh"
umask 022
export LC_ALL=C TZ=UTC

usage() {
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$here/build.sh"
}

fail() {
    echo "build.sh: $1" >&2
    exit "${2:-1}"
}

need() {
    # need COMMAND DEBIAN-PACKAGE
    command -v "$1" >/dev/null || fail "no $1: apt-get install $2" 77
}

out=$root/dist
steps=()
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --out)
        [ $# -ge 2 ] || fail "--out wants a directory; see --help" 2
        out=$2
        shift
        ;;
    install)
        [ $# -ge 2 ] || fail "install wants a directory; see --help" 2
        steps+=(install) prefix=$2
        shift
        ;;
    program-x86_64 | program-aarch64 | libraries | wheel | sbom | image | packages | fleet) steps+=("$1") ;;
    *) fail "unknown argument $1; see --help" 2 ;;
    esac
    shift
done
[ "${#steps[@]}" -gt 0 ] || steps=(program-x86_64 program-aarch64 libraries sbom wheel image packages)

need cargo rustup
prefix=${prefix-}
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
# What is compiled, and waits to be packed.
built=$target/packages
mkdir -p "$out" "$built"
out=$(cd "$out" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
if [ -z "${SOURCE_DATE_EPOCH-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) ||
        fail "no git history here to take the time from; set SOURCE_DATE_EPOCH" 2
fi
export SOURCE_DATE_EPOCH

# Compilers write paths into programs (for panics, and C's assert). They get others, the same everywhere.
# After `cargo fetch`, because only then is it known where the dependencies are.
reproducibly() {
    # reproducibly TARGET
    fetch cargo fetch --locked --quiet --target "$1" --manifest-path "${manifest:-Cargo.toml}" ||
        fail "cargo cannot fetch the dependencies" $?
    local home=${CARGO_HOME:-$HOME/.cargo} dir flags=()
    # The last one that fits counts.
    flags+=("--remap-path-prefix=$root=/usr/src/clocksmith" "--remap-path-prefix=$target=/usr/src/target")
    for dir in "$home"/registry/src/*; do
        flags+=("--remap-path-prefix=$dir=/usr/src/cargo")
    done
    flags+=("--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/usr/src/rust")
    # Separated by a character that no path has.
    CARGO_ENCODED_RUSTFLAGS=$(
        IFS=$'\x1f'
        printf %s "${flags[*]}"
    )
    export CARGO_ENCODED_RUSTFLAGS
    export CFLAGS="-ffile-prefix-map=$target=/usr/src/target -ffile-prefix-map=$home/registry/src=/usr/src/cargo"
    export CARGO_PROFILE_DIST_STRIP=symbols CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_INCREMENTAL=0
}

# No program has a time in it. Where they are compiled SOURCE_DATE_EPOCH is unset, because ring is compiled anew, and
# all that uses it, when it changes: at each commit.
program() {
    # program MACHINE
    local triple=$1-unknown-linux-musl
    if [ "$1" = aarch64 ]; then
        # rustc brings the C library and lld; the C of ring only needs a compiler.
        need aarch64-linux-gnu-gcc "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
        export CC_aarch64_unknown_linux_musl=aarch64-linux-gnu-gcc
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
    fi
    (
        reproducibly "$triple"
        unset SOURCE_DATE_EPOCH
        cargo build --locked --profile dist --features full -p clocksmith-cli --target "$triple"
    )
    install -D -m 755 "$target/$triple/dist/clocksmith" "$built/$1/clocksmith"
}

install_by_cargo() {
    (
        reproducibly x86_64-unknown-linux-musl
        unset SOURCE_DATE_EPOCH
        cargo install --locked --path crates/cli --profile dist --features full \
            --target x86_64-unknown-linux-musl --root "$prefix"
    )
}

# Shared libraries are loaded by the programs of this distribution, so they are built for its C library.
libraries() {
    need cc gcc
    rm -rf "$built/c"
    (
        reproducibly x86_64-unknown-linux-gnu
        # Its objects end up in other programs, which strip them as they like; only debug information goes.
        export CARGO_PROFILE_DIST_STRIP=debuginfo
        DESTDIR=$built/c "$root/crates/clock-c/install.sh" --prefix /usr --libdir /usr/lib/MULTIARCH \
            --target x86_64-unknown-linux-gnu
        cargo build --locked --profile dist -p clocksmith-preload --target x86_64-unknown-linux-gnu
    )
    strip --strip-unneeded "$built"/c/usr/lib/MULTIARCH/libclocksmith.so."$version"
    strip --strip-debug --enable-deterministic-archives "$built/c/usr/lib/MULTIARCH/libclocksmith.a"
    install -D -m 644 "$target/x86_64-unknown-linux-gnu/dist/libclocksmith_preload.so" \
        "$built/x86_64/libclocksmith_preload.so"
    strip --strip-unneeded "$built/x86_64/libclocksmith_preload.so"
}

wheel() {
    need python3 python3
    local env=$built/maturin bill=clocksmith-python.cdx.json
    [ -e "$built/sbom/$bill" ] || fail "$built/sbom/$bill is not there: the step sbom makes it"
    if ! [ -x "$env/bin/maturin" ]; then
        python3 -m venv "$env" || fail "python3 cannot make a virtual environment: apt-get install python3-venv" 77
        # Earlier ones take no bill of materials.
        fetch "$env/bin/pip" install --quiet --disable-pip-version-check 'maturin[zig]>=1.16,<2' ||
            fail "pip cannot install maturin and zig" $?
    fi
    rm -rf "$built/wheel"
    (
        manifest=python/Cargo.toml reproducibly x86_64-unknown-linux-gnu
        cd python
        # It must lie within the project.
        trap 'rm -f "$bill"' EXIT
        cp "$built/sbom/$bill" .
        PYO3_PYTHON=$env/bin/python TOOLS=$env/bin ./wheels.sh "$built/wheel" --sbom-include "$bill"
    )
}

# For many queries at once the C library of the distribution is faster than the static one.
fleet() {
    (
        manifest=fleet/Cargo.toml reproducibly x86_64-unknown-linux-gnu
        CARGO_TARGET_DIR=$target/fleet cargo build --locked --release --manifest-path fleet/Cargo.toml \
            --target x86_64-unknown-linux-gnu
    )
    install -D -m 755 "$target/fleet/x86_64-unknown-linux-gnu/release/clocksmith-fleet" \
        "$built/x86_64/clocksmith-fleet"
}

sbom() {
    need python3 python3
    local manifest
    for manifest in Cargo.toml python/Cargo.toml; do
        fetch cargo fetch --locked --quiet --manifest-path "$manifest" || fail "cargo cannot fetch the dependencies" $?
    done
    python3 "$here/sbom.py" --out "$built/sbom"
}

image() {
    local machine machines=()
    for machine in x86_64 aarch64; do
        if [ -e "$built/$machine/clocksmith" ]; then machines+=("$machine"); fi
    done
    out=$out built=$built version=$version "$here/image.sh" "${machines[@]}"
}

for step in "${steps[@]}"; do
    case $step in
    program-*) program "${step#program-}" ;;
    install) install_by_cargo ;;
    packages) out=$out built=$built version=$version "$here/pack.sh" ;;
    *) "$step" ;;
    esac
done

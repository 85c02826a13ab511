#!/usr/bin/env bash
# The checks of this project: a program in Rust (xtask/), which needs nothing but the standard library.
#
#   ./test.sh            what needs no emulator, no root, and no network but for dependencies (8 minutes on two processors)
#   ./test.sh all        everything
#   ./test.sh STEP...    by name
#   ./test.sh --help     what there is, how long it takes, what it needs
# By `sh test.sh`, too.
if [ -z "${BASH_VERSION-}" ]; then exec bash "$0" "$@"; fi
set -euo pipefail
# Modes that tests compare with, and programs that another user starts.
umask 022
# With CDPATH, cd prints, and a script that asks where it is gets two lines. A hook of git has the variables of its repository.
unset CDPATH GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_PREFIX
# By a link to it, too.
cd "$(dirname "$(readlink -f "$0")")"
. packaging/environment.sh
# Administrators' tools (mke2fs, libvirtd) are there.
export PATH="$PATH:/usr/sbin:/sbin" CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
export CLOCKSMITH_BENCH_MIB="${CLOCKSMITH_BENCH_MIB:-1024}"
# Property tests make the same values each time, so that a failure comes from the change; nightly runs use others, and
# more of them.
cases=32
if [ "${1-}" = all ]; then cases=64; fi
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}" PROPTEST_CASES="${PROPTEST_CASES:-$cases}"
# As .cargo/config.toml says it to cargo.
export PROPTEST_DISABLE_FAILURE_PERSISTENCE="${PROPTEST_DISABLE_FAILURE_PERSISTENCE:-true}"
# Where rustup puts it, also without a login.
export PATH="$PATH:${CARGO_HOME:-${HOME-}/.cargo}/bin"
if ! command -v cargo >/dev/null; then
    echo "test.sh: no cargo; install Rust: https://www.rust-lang.org/tools/install" >&2
    exit 2
fi
# Where cargo compiles, by whatever setting; the steps look for programs there.
if ! metadata=$(cargo metadata --format-version 1 --no-deps --locked); then
    echo "test.sh: cargo cannot read this workspace" >&2
    exit 2
fi
# As JSON writes it, in which some characters of a path are escaped.
CARGO_TARGET_DIR=$(printf '%s' "$metadata" |
    sed -E 's/.*"target_directory":"(([^"\\]|\\.)*)".*/\1/; s/\\(["\\])/\1/g')
# Cargo takes the programs of another checkout for those of this one, if their files are older than the programs.
other=$(cat "$CARGO_TARGET_DIR/.clocksmith-checkout" 2>/dev/null || true)
if [ -n "$other" ] && [ "$other" != "$PWD" ] && [ -d "$other" ]; then
    CARGO_TARGET_DIR=$CARGO_TARGET_DIR/checkout-$(printf '%s' "$PWD" | cksum | cut -d ' ' -f 1)
    echo "test.sh: $other compiles there, too; this checkout compiles in $CARGO_TARGET_DIR" >&2
fi
if ! { mkdir -p "$CARGO_TARGET_DIR" && printf '%s\n' "$PWD" >"$CARGO_TARGET_DIR/.clocksmith-checkout"; } 2>/dev/null; then
    echo "test.sh: cannot write to $CARGO_TARGET_DIR, where cargo compiles: if another user's run made it, for example by" \
        "sudo, remove it as that user; or set CARGO_TARGET_DIR to a directory of yours" >&2
    exit 2
fi
compiled=$CARGO_TARGET_DIR
if ! command -v cc >/dev/null && ! [ -e "$compiled/debug/xtask" ]; then
    echo "test.sh: no cc, which the Rust compiler links with: apt-get install gcc libc6-dev" >&2
    exit 2
fi
# Without a setting, crates beside the workspace have directories of their own.
if [ "$compiled" = "$PWD/target" ]; then unset CARGO_TARGET_DIR; else export CARGO_TARGET_DIR; fi
# Of another cargo, which calls this: the program of the checks looks there for the top.
unset CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR CARGO_MANIFEST_DIR
# Who has compiled with increments goes on so; a first run is a fifth quicker without, and takes half the disk.
if [ -z "${CARGO_INCREMENTAL-}" ] && [ -z "$(ls -A "$compiled/debug/incremental" 2>/dev/null)" ]; then
    export CARGO_INCREMENTAL=0
fi
if command -v flock >/dev/null && [ -e "$compiled/debug/.cargo-lock" ] &&
    ! flock -n "$compiled/debug/.cargo-lock" true; then
    echo "test.sh: waiting for another cargo, which compiles in $compiled" >&2
fi
if ! [ -e "$compiled/debug/xtask" ]; then
    echo "test.sh: compiling the program of the checks (xtask/), once" >&2
fi
built=$(cargo build --quiet --locked -p xtask --message-format json-render-diagnostics) || {
    # It depends on nothing, but cargo reads what the whole workspace depends on.
    . packaging/offline.sh
    if is_offline "$(cargo metadata --format-version 1 --locked 2>&1 >/dev/null || true)"; then
        echo "test.sh: the program of the checks (xtask/) was not compiled: cargo cannot fetch what the workspace depends on, and" \
            "needs a network once; a proxy is set by https_proxy or in cargo's config.toml" >&2
        exit 2
    fi
    echo "test.sh: the program of the checks (xtask/) was not compiled: the lines above say why. If it is Cargo.lock, which" \
        "is not that of the manifests, \`cargo metadata >/dev/null\` updates it; after a merge with conflicts in it," \
        "\`git checkout HEAD -- Cargo.lock\` first" >&2
    free=$(df -Pk "$compiled" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
    if [ "${free:-9999}" -lt 500 ]; then echo "test.sh: $compiled has $free MiB left, which is too little" >&2; fi
    exit 2
}
# In JSON, quotes and backslashes of a path are escaped.
executable="\"executable\":\"$(printf '%s' "$compiled" | sed -E 's/["\\]/\\&/g')/debug/xtask\""
if [ "${built#*"$executable"}" = "$built" ]; then
    echo "test.sh: cargo did not compile into $compiled/debug, where the steps look for programs. If a" \
        "config.toml of cargo sets build.target, take that line out while the checks run" >&2
    exit 2
fi
# In the background of a script SIGINT is ignored, and programs that are interrupted in tests would inherit that.
interruptible=()
if env --default-signal=INT true 2>/dev/null; then interruptible=(env --default-signal=INT,QUIT); fi
exec "${interruptible[@]}" "$compiled/debug/xtask" test "$@"

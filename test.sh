#!/usr/bin/env bash
# The checks of this project: a program in Rust (xtask/), which needs nothing but the standard library.
#
#   ./test.sh            what needs no emulator, no root, and no network but for dependencies (8 minutes on two processors)
#   ./test.sh all        everything
#   ./test.sh STEP...    by name
#   ./test.sh --help     what there is, how long it takes, what it needs
set -euo pipefail
cd "$(dirname "$0")"
# Administrators' tools (mke2fs, libvirtd) are there.
export PATH="$PATH:/usr/sbin:/sbin" CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
export CLOCKSMITH_BENCH_MIB="${CLOCKSMITH_BENCH_MIB:-64}"
# Property tests make the same values each time, so that a failure comes from the change; nightly runs use others.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}" PROPTEST_CASES="${PROPTEST_CASES:-64}"
if ! command -v cargo >/dev/null; then
    echo "test.sh: no cargo; install Rust: https://www.rust-lang.org/tools/install" >&2
    exit 2
fi
# Who has compiled with increments goes on so; a first run is a fifth quicker without, and takes half the disk.
if [ -z "${CARGO_INCREMENTAL-}" ] && ! [ -d "${CARGO_TARGET_DIR:-target}/debug/incremental" ]; then
    export CARGO_INCREMENTAL=0
fi
cargo build --quiet -p xtask
# In the background of a script SIGINT is ignored, and programs that are interrupted in tests would inherit that.
interruptible=()
if env --default-signal=INT true 2>/dev/null; then interruptible=(env --default-signal=INT,QUIT); fi
exec "${interruptible[@]}" "${CARGO_TARGET_DIR:-target}/debug/xtask" test "$@"

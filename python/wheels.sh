#!/usr/bin/env bash
# Builds the wheels that are given to users: for glibc 2.17 and later (manylinux_2_17), and for musl 1.2 (musllinux_1_2).
#
#   python/wheels.sh OUT [OPTION...]     OPTION: for `maturin build`
#
# Zig links them: it has the symbols of every version of both C libraries, so that the build machine's does not matter.
# Settings: TOOLS, the directory with programs of a virtual environment that has maturin and ziglang (`maturin[zig]`). Needs
# cargo and Rust's target x86_64-unknown-linux-musl. Exits with 1 when something is wrong, with 77 when a tool is missing.
set -euo pipefail
[ $# -ge 1 ] || {
    echo "wheels: no directory; python/wheels.sh OUT" >&2
    exit 2
}
out=$(realpath -m "$1")
shift
cd "$(dirname "$0")"

missing() {
    echo "wheels: $1" >&2
    exit 77
}

tools=${TOOLS:-$(dirname "$(command -v maturin || echo /nonexistent/maturin)")}
[ -x "$tools/maturin" ] && "$tools/python" -m ziglang version >/dev/null 2>&1 ||
    missing "no maturin with zig in $tools: pip install 'maturin[zig]'"
[ -d "$(rustc --print target-libdir --target x86_64-unknown-linux-musl 2>/dev/null)" ] ||
    missing "no target x86_64-unknown-linux-musl: rustup target add x86_64-unknown-linux-musl"
export PATH=$tools:$PATH

wheel() {
    # wheel TARGET TAG [OPTION...]
    local target=$1 tag=$2
    shift 2
    "$tools/maturin" build --release --quiet --zig --target "$target" --compatibility "$tag" --out "$out" \
        --interpreter "$tools/python" "$@"
}

wheel x86_64-unknown-linux-gnu manylinux_2_17 "$@"
# A module of a program that has musl already.
if [ -n "${CARGO_ENCODED_RUSTFLAGS-}" ]; then
    export CARGO_ENCODED_RUSTFLAGS+=$'\x1f-Ctarget-feature=-crt-static'
else
    export RUSTFLAGS="${RUSTFLAGS-} -Ctarget-feature=-crt-static"
fi
wheel x86_64-unknown-linux-musl musllinux_1_2 "$@"

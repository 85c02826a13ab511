#!/usr/bin/env bash
# Compares the interface of the library with that of the last release: what a change removes or makes different needs a new
# version (0.2.0 after 0.1.x, 2.0.0 after 1.x).
#
#   packaging/semver.sh [REVISION]     REVISION: what to compare with; the last tag vX.Y.Z before this commit if none is given
#
# Needs cargo-semver-checks and git's history. Exits with 1 when something is wrong, with 77 when a tool or a release to
# compare with is missing, with 75 when the network is.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/offline.sh

missing() {
    echo "semver: $1" >&2
    exit "${2:-77}"
}

command -v git >/dev/null || missing "no git: apt-get install git"
cargo semver-checks --version >/dev/null 2>&1 ||
    missing "no cargo-semver-checks: cargo install --locked cargo-semver-checks"
base=${1-}
if [ -z "$base" ]; then
    base=$(git describe --tags --abbrev=0 --match 'v[0-9]*.[0-9]*.[0-9]*' 2>/dev/null) ||
        missing "no release to compare with (a tag vX.Y.Z before this commit); name a revision"
fi
git rev-parse --quiet --verify "$base^{commit}" >/dev/null || {
    echo "semver: no revision $base in this checkout" >&2
    exit 1
}
fetch cargo fetch --locked --quiet || missing "cargo cannot fetch the dependencies" $?
echo "the library, compared with $base"
# A version that is not bumped yet is that of the release: what only adds is allowed.
same=()
if [ "$(git show "$base:Cargo.toml" | sed -n 's/^version = "\(.*\)"/\1/p' | head -n 1)" = "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)" ]; then
    same=(--release-type minor)
fi
cargo semver-checks --package clocksmith --all-features --baseline-rev "$base" "${same[@]}" || {
    echo "semver: the library's interface is not that of $base: take the change back, or raise the version in Cargo.toml" >&2
    exit 1
}

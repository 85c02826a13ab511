#!/usr/bin/env bash
# Checks that every crate with features compiles without them, and with all of them; and that the library compiles in
# programs that set `--cfg loom` for their own model tests, which sets it for every crate.
#
#   packaging/features.sh
#
# Exits with 1 when one does not, with 77 when a tool is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
    sed -n '/^#!/d; /^set/q; s/^# \{0,1\}//p' "$0"
    case $1 in -h | --help) exit 0 ;; *) exit 2 ;; esac
fi
for tool in cargo python3; do
    command -v "$tool" >/dev/null || {
        echo "features: no $tool" >&2
        exit 77
    }
done
crates=$(cargo metadata --locked --no-deps --format-version 1 | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["features"]:
        print(package["name"])')
# One at a time: features of crates that are built together add up.
for crate in $crates; do
    for features in --no-default-features --all-features; do
        echo "-- $crate $features"
        cargo check --locked --quiet -p "$crate" "$features" || {
            echo "features: $crate does not compile with $features" >&2
            exit 1
        }
    done
done
echo "-- clocksmith --cfg loom"
RUSTFLAGS="--cfg loom" cargo check --locked --quiet -p clocksmith --target-dir "${CARGO_TARGET_DIR:-target}/users-loom" || {
    echo "features: clocksmith does not compile with --cfg loom; its own models use clocksmith_loom" >&2
    exit 1
}
echo "features: ok, $(wc -w <<<"$crates") crates with and without"

#!/usr/bin/env bash
# Builds the library and the benchmark, and runs it: crates/clock-c/bench/run.sh [--json] [--rounds N]
# [--calls N]. Needs cargo, cc and pkg-config.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for tool in cargo cc pkg-config; do
    if ! command -v "$tool" >/dev/null; then
        echo "bench: no $tool, which builds the benchmark; apt-get install gcc pkg-config" >&2
        exit 1
    fi
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$here/../install.sh" --prefix "$dir" >&2
export PKG_CONFIG_PATH=$dir/lib/pkgconfig
# shellcheck disable=SC2046 # words on purpose
cc -std=c11 -O2 -Wall -Wextra -Werror "$here/bench.c" -o "$dir/bench" $(pkg-config --cflags --libs clocksmith)
LD_LIBRARY_PATH=$dir/lib "$dir/bench" "$@"

#!/usr/bin/env bash
# Builds the wheel, installs it in a new virtual environment and tests it there.
#
#   python/test.sh [--bench]     --bench: measures too, and checks nothing by it
#
# Settings: PYTHON=python3 the interpreter. Needs cargo, and Python 3.9 or later with venv and pip, which
# fetches maturin and pytest. Exits with 1 when something is wrong, with 77 when a tool is missing, with 75
# when the packages cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}

missing() {
    echo "python: $1" >&2
    exit "${2:-77}"
}

command -v cargo >/dev/null || missing "no cargo, which builds the module; install Rust"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    missing "no $python of version 3.9 or later: apt-get install python3"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$python" -m venv "$dir/env" >"$dir/venv" 2>&1 ||
    missing "$python cannot make a virtual environment: apt-get install python3-venv"
pip=("$dir/env/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install 'maturin>=1.9,<2' 'pytest>=8' || missing "pip cannot fetch maturin and pytest" 75

cargo fmt --check
# The interpreter of the environment decides what is built; the module is the same for all of them.
export PYO3_PYTHON=$dir/env/bin/python
"$dir/env/bin/maturin" build --release --quiet --out "$dir/wheel" --interpreter "$PYO3_PYTHON"
cargo clippy --quiet --release --locked --no-deps -- -D warnings
"${pip[@]}" install --no-index "$dir"/wheel/clocksmith-*-abi3-*.whl

"$dir/env/bin/python" -m pytest
if [ "${1-}" = --bench ]; then
    "$dir/env/bin/python" bench.py --rounds 300
fi

#!/usr/bin/env bash
# Builds the wheel, installs it in a new virtual environment and tests it there.
#
#   python/test.sh [--bench | --wheels]     --bench: measures too, and checks nothing by it
#                                           --wheels: the wheels of python/wheels.sh instead, and what their names promise
#
# Settings: PYTHON=python3 the interpreter. Needs cargo with rustfmt and clippy, and Python 3.9 or later with venv and pip, which
# fetches maturin and pytest. Exits with 1 when something is wrong, with 77 when a tool is missing, with 75
# when the network is.
set -euo pipefail
cd "$(dirname "$0")"
. ../packaging/environment.sh
. ../packaging/offline.sh
python=${PYTHON:-python3}

missing() {
    echo "python: $1" >&2
    exit "${2:-77}"
}

fail() {
    missing "$1" 1
}

command -v cargo >/dev/null || missing "no cargo, which builds the module; install Rust"
if [ "${1-}" != --wheels ]; then
    cargo fmt --version >/dev/null 2>&1 || missing "no rustfmt: rustup component add rustfmt"
    cargo clippy --version >/dev/null 2>&1 || missing "no clippy: rustup component add clippy"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    missing "no $python of version 3.9 or later: apt-get install python3"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! said=$("$python" -m venv "$dir/env" 2>&1); then
    printf '%s\n' "$said" >&2
    # Debian's package has what venv makes the environment with.
    if "$python" -c 'import ensurepip' 2>/dev/null; then fail "$python cannot make a virtual environment in $dir"; fi
    missing "$python cannot make a virtual environment: apt-get install python3-venv"
fi
pip=("$dir/env/bin/python" -m pip --disable-pip-version-check --quiet)
fetch "${pip[@]}" install 'maturin>=1.9,<2' 'pytest>=8' || missing "pip cannot install maturin and pytest" $?

# promised TAG WHEEL: whether the wheel needs no more than the tag says. auditwheel reads one for musl on a system with musl
# alone; but what a module of musl needs is the one library.
promised() {
    case $1 in
    musllinux_*)
        "$dir/env/bin/python" - "$2" <<'END'
import io
import sys
import zipfile

from elftools.elf.elffile import ELFFile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.endswith(".so"):
            dynamic = ELFFile(io.BytesIO(wheel.read(name))).get_section_by_name(".dynamic")
            needed = [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
            if needed != ["libc.so"]:
                sys.exit(f"{name} needs {needed}")
            break
    else:
        sys.exit("no module in it")
END
        ;;
    *)
        "$dir/env/bin/auditwheel" show "$2" >"$dir/audit"
        tr '\n' ' ' <"$dir/audit" | grep -qE "consistent with the following platform tag: *\"${1}_x86_64\"" || {
            cat "$dir/audit" >&2
            return 1
        }
        ;;
    esac
}

# What the names of the wheels promise: which versions of the C libraries and of Python take them.
if [ "${1-}" = --wheels ]; then
    fetch "${pip[@]}" install 'maturin[zig]>=1.9,<2' auditwheel abi3audit ||
        missing "pip cannot install zig, auditwheel and abi3audit" $?
    TOOLS=$dir/env/bin ./wheels.sh "$dir/wheels"
    for tag in manylinux_2_17 musllinux_1_2; do
        wheel=$(echo "$dir"/wheels/clocksmith-*-cp39-abi3-*"$tag"_x86_64*.whl)
        [ -e "$wheel" ] || {
            echo "python: no wheel of $tag among $(ls "$dir/wheels")" >&2
            exit 1
        }
        promised "$tag" "$wheel" || {
            echo "python: $(basename "$wheel") is not what its name says" >&2
            exit 1
        }
        "$dir/env/bin/abi3audit" --strict "$wheel"
        echo "$(basename "$wheel"): ok"
    done
    "${pip[@]}" install --no-index "$dir"/wheels/clocksmith-*manylinux*.whl
    ./pytest.sh "$dir/env/bin/python" --long
    exit
fi

cargo fmt --check -- --config-path ../rustfmt.toml
# The interpreter of the environment decides what is built; the module is the same for all of them.
export PYO3_PYTHON=$dir/env/bin/python
"$dir/env/bin/maturin" build --release --quiet --out "$dir/wheel" --interpreter "$PYO3_PYTHON"
cargo clippy --quiet --release --locked --no-deps -- -D warnings
"${pip[@]}" install --no-index "$dir"/wheel/clocksmith-*-abi3-*.whl

./pytest.sh "$dir/env/bin/python"
if [ "${1-}" = --bench ]; then
    "$dir/env/bin/python" bench.py --rounds 300
fi

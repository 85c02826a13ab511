#!/usr/bin/env bash
# Builds the library and its faces for C and Python, and runs them; packaging/msrv.sh runs it in a Debian system.
#
#   test-msrv.sh VERSION      VERSION is the rust-version that they state
set -euo pipefail

fail() {
    echo "msrv: $1" >&2
    exit "${2:-1}"
}

. /source/packaging/offline.sh
version=$1
has=$(rustc --version | awk '{ print $2 }')
case $has in
"$version" | "$version".*) ;;
*) fail "the compiler is $has, but $version is stated; state what the tested system has" ;;
esac
echo "-- rustc $has"
cd /source
export CARGO_TARGET_DIR=/target
fetch cargo fetch --locked --quiet --target "$(rustc -vV | sed -n 's/^host: //p')" || fail "cargo cannot fetch the dependencies" $?
export CARGO_NET_OFFLINE=true
cargo build --locked -p clocksmith || fail "crates/clock does not build"
# Not `time`, whose present versions need a newer compiler, as Cargo.toml says.
features=$(sed -n '/^\[features\]/,/^\[/s/^\([a-z0-9-]*\) = .*/\1/p' crates/clock/Cargo.toml | grep -v '^time$' | paste -sd,)
cargo build --locked --release -p clocksmith --features "$features" || fail "crates/clock does not build with $features"

# As a dependency, as programs have it: what the library needs for its own tests may need a newer compiler.
mkdir -p /user/src
cp /source/Cargo.lock /user/
cp /source/crates/clock/examples/*.rs /user/src/
cat >/user/Cargo.toml <<'TOML'
[package]
name = "user"
version = "0.0.0"
edition = "2021"

[dependencies]
clocksmith = { path = "/source/crates/clock" }
libc = "0.2"

[[bin]]
name = "clock_reader"
path = "src/clock_reader.rs"

[[bin]]
name = "api_speed"
path = "src/api_speed.rs"

[workspace]
TOML
(
    cd /user
    cargo build --release || fail "a program that uses crates/clock does not build"
    # It compares the library's clocks with the kernel's, in threads.
    timeout 60 /target/release/clock_reader --threads 2 --seconds 2 >/user/said || fail "clock_reader ends with $?"
    tail -n 1 /user/said
    tail -n 1 /user/said | grep -Eq '"reads": ?[1-9]' || fail "clock_reader has read no clock"
    timeout 120 /target/release/api_speed >/user/said || fail "api_speed ends with $?"
)
echo "-- the library: ok"

crates/clock-c/test.sh || fail "crates/clock-c does not pass its tests"
echo "-- the C library: ok"

cd python
python3 -m venv /env
# They come from Python's registry; only the module itself is compiled by this system.
fetch /env/bin/pip --disable-pip-version-check --quiet install 'maturin>=1.9,<2' 'pytest>=8' ||
    fail "pip cannot install maturin and pytest" $?
unset CARGO_NET_OFFLINE
fetch cargo fetch --locked --quiet || fail "cargo cannot fetch the wheel's dependencies" $?
PYO3_PYTHON=/env/bin/python /env/bin/maturin build --release --quiet --out /wheel --interpreter /env/bin/python ||
    fail "the wheel does not build"
/env/bin/pip --disable-pip-version-check --quiet install --no-index /wheel/clocksmith-*-abi3-*.whl
./pytest.sh /env/bin/python
echo "msrv: the library and its faces for C and Python build with rustc $has, and run"

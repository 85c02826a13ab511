#!/usr/bin/env bash
# Checks what crates/clock and crates/raw promise of `no_std`: a program without the standard library builds with the library and
# runs, and clocksmith-raw builds for targets without an operating system.
#
#   packaging/no-std.sh
#
# The program is linked with the C library alone; two standard libraries, ours by mistake and its own panic handler, do not link.
# Exits with 1 when something is wrong, with 77 when a tool is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
if [ $# -gt 0 ]; then
    sed -n '/^#!/d; /^set/q; s/^# \{0,1\}//p' "$0"
    case $1 in -h | --help) exit 0 ;; *) exit 2 ;; esac
fi
for tool in cargo rustc cc; do
    command -v "$tool" >/dev/null || {
        echo "no-std: no $tool" >&2
        exit 77
    }
done
fail() {
    echo "no-std: $1" >&2
    exit 1
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/src"
cp Cargo.lock "$dir/"
cat >"$dir/Cargo.toml" <<TOML
[package]
name = "without-std"
version = "0.0.0"
edition = "2024"

[dependencies]
clocksmith = { path = "$root/crates/clock", default-features = false, features = ["jiff", "chrono", "serde"] }

[profile.dev]
panic = "abort"
opt-level = 1

[workspace]
TOML
cat >"$dir/src/main.rs" <<'RUST'
#![no_std]
#![no_main]

use clocksmith::{CachedClock, Clock, FastInstant, Instant, SystemClock, Ticks, Timestamp, vmclock::VmClock};
use core::fmt::Write;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// `core` names it, and never calls it where a panic aborts.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[link(name = "c")]
unsafe extern "C" {
    fn write(file: i32, bytes: *const u8, length: usize) -> isize;
}

struct Out;

impl Write for Out {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // SAFETY: as many bytes as said.
        let written = unsafe { write(1, text.as_ptr(), text.len()) };
        if written < 0 { Err(core::fmt::Error) } else { Ok(()) }
    }
}

static NOW: CachedClock = CachedClock::new();

#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const u8) -> i32 {
    let (begin, fast, ticks) = (Instant::now(), FastInstant::now(), Ticks::now());
    NOW.update();
    let (earliest, latest) = clocksmith::realtime_bounded();
    let good = SystemClock.now() >= begin
        && FastInstant::now() >= fast
        && Ticks::now() >= ticks
        && NOW.monotonic_ns() >= begin.as_nanos()
        && earliest < latest
        && clocksmith::is_slow().slow != Some(true)
        && Timestamp::MAX.as_unix_seconds() > 0;
    let device = VmClock::open().map_or("no VMCLOCK", |_| "VMCLOCK");
    let written = writeln!(Out, "{} by {}, {device}", Timestamp::now(), clocksmith::source());
    if good && written.is_ok() { 0 } else { 1 }
}
RUST
target=${CARGO_TARGET_DIR:-$root/target}/no-std
(cd "$dir" && CARGO_TARGET_DIR=$target cargo build --quiet) || fail "a program without the standard library does not build with the library"
said=$(timeout 60 "$target/debug/without-std") || fail "a program without the standard library ends with $?: ${said-}"
case $said in
*Z" by "*) echo "no-std: $said" ;;
*) fail "a program without the standard library says: $said" ;;
esac

# The core alone, on targets that have no operating system.
missing=()
for target_name in x86_64-unknown-none aarch64-unknown-none; do
    if [ -d "$(rustc --print target-libdir --target "$target_name" 2>/dev/null)" ]; then
        cargo check --locked --quiet -p clocksmith-raw --target "$target_name" --target-dir "$target" ||
            fail "crates/raw does not build for $target_name"
    else
        missing+=("$target_name")
    fi
done
if [ "${#missing[@]}" -gt 0 ]; then
    echo "no-std: the program is good; not tried, because rustup target add is needed: ${missing[*]}"
    exit 77
fi
echo "no-std: ok"

#!/usr/bin/env bash
# Runs the own tests of crates that depend on a clock with the shim of that clock, and compiles a program with each shim.
#
#   shims/test.sh [CRATE...]     governor, metrics-util, fastrace, program; all if none is named
#
# The crates come from the registry, in the version that is named below, with the newest dependencies that fit. Their
# benchmarks are left out. Exits with 1 when something is wrong, with 77 when a tool is missing, with 75 when the network
# is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../packaging/offline.sh"
command -v cargo >/dev/null || {
    echo "shims: no cargo; install Rust" >&2
    exit 77
}
# The last words: tests that expect a wait to end within 100 ms, which a busy machine does not do with any clock.
versions=("governor 0.10.4 quanta sink stream" "metrics-util 0.20.4 quanta" "fastrace 0.7.17 fastant")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$(dirname "$here")/target}/shims CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
failed=0

wrong() {
    echo "shims: $1" >&2
    failed=$((failed + 1))
}

# fetched COMMAND...: ends the script if it fails, with 75 if that is for want of a network.
fetched() {
    local status=0
    fetch "$@" || status=$?
    if [ "$status" -ne 0 ]; then
        echo "shims: cargo cannot fetch crates" >&2
        exit "$status"
    fi
}

# source_of CRATE VERSION: where cargo has put the source, after it was fetched as a dependency.
source_of() {
    local package=$dir/fetch-$1
    mkdir -p "$package/src"
    : >"$package/src/lib.rs"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n%s = "=%s"\n[workspace]\n' "$1" "$2" \
        >"$package/Cargo.toml"
    fetched cargo fetch --manifest-path "$package/Cargo.toml"
    source=$(cargo metadata --format-version 1 --offline --manifest-path "$package/Cargo.toml" |
        grep -oE "\"manifest_path\":\"[^\"]*/$1-$2/Cargo.toml\"" | head -n 1 | cut -d '"' -f 4)
    source=${source%/Cargo.toml}
    [ -n "$source" ] || {
        echo "shims: cargo names no source of $1 $2" >&2
        exit 1
    }
}

# What only benchmarks and examples need takes minutes to compile.
without_benches() {
    awk '/^\[/ {
            skip = $0 ~ /^\[\[(bench|example)\]\]/ || $0 ~ /^\[(target\..*\.)?dev-dependencies\.(criterion|iai|iai-callgrind|divan)\]/
        }
        !skip' "$1"
}

dependent() {
    local crate=$1 version=$2 shim=$3 source skipped=() word
    shift 3
    for word in "$@"; do skipped+=(--skip "$word"); done
    source_of "$crate" "$version"
    cp -r "$source" "$dir/$crate"
    chmod -R u+w "$dir/$crate"
    rm -rf "$dir/$crate/benches" "$dir/$crate/examples" "$dir/$crate/Cargo.lock"
    {
        without_benches "$source/Cargo.toml"
        # Its tests name itself as a dependency, which cargo leaves out of a package.
        if [ "$crate" = fastrace ]; then printf '\n[dev-dependencies.fastrace]\npath = "."\nfeatures = ["enable"]\n'; fi
        printf '\n[workspace]\n\n[patch.crates-io]\n%s = { path = "%s" }\n' "$shim" "$here/$shim"
    } >"$dir/$crate/Cargo.toml"
    fetched cargo fetch --manifest-path "$dir/$crate/Cargo.toml"
    cargo tree --offline --manifest-path "$dir/$crate/Cargo.toml" --depth 1 --edges normal >"$dir/tree"
    grep -qF "$shim v" "$dir/tree" && grep -F "$shim v" "$dir/tree" | grep -qF "($here/$shim)" ||
        wrong "$crate $version does not get the shim: $(grep -F "$shim v" "$dir/tree" || echo "it has no $shim")"
    if cargo test --quiet --offline --manifest-path "$dir/$crate/Cargo.toml" --no-fail-fast --lib --tests -- \
        "${skipped[@]}" >"$dir/said" 2>&1; then
        # Its own lines, for who counts them.
        grep -E '^test result: ' "$dir/said" | sed "s/^/$crate $version, with our $shim: /"
    else
        tail -n 60 "$dir/said" >&2
        wrong "$crate $version fails its own tests with our $shim"
    fi
}

wanted=("$@")
for entry in "${versions[@]}"; do
    read -r crate version shim words <<<"$entry"
    case " ${wanted[*]-} " in
    "  " | *" $crate "*) 
        # shellcheck disable=SC2086 # words on purpose
        dependent "$crate" "$version" "$shim" $words
        ;;
    esac
done

# What the original exports, a program can use. One that has both versions of quanta builds, too.
mkdir -p "$dir/user/src"
cat >"$dir/user/Cargo.toml" <<END
[package]
name = "user"
version = "0.0.0"
edition = "2024"
[dependencies]
fastant = { version = "0.1", features = ["atomic"] }
minstant = { version = "0.1", features = ["atomic"] }
quanta = "0.12"
quanta-13 = { package = "quanta", version = "0.13" }
[patch.crates-io]
fastant = { path = "$here/fastant" }
minstant = { path = "$here/minstant" }
quanta = { path = "$here/quanta" }
quanta-13 = { package = "quanta", path = "$here/quanta-0.13" }
[workspace]
END
cat >"$dir/user/src/main.rs" <<'END'
macro_rules! of_quanta {
    ($name:ident, $quanta:ident) => {
        fn $name() {
            let clock = $quanta::Clock::new();
            let (start, end) = (clock.raw(), clock.raw());
            assert!(clock.delta(start, end) < std::time::Duration::from_secs(1));
            let (mocked, mock) = $quanta::Clock::mock();
            let before = mocked.now();
            mock.increment(7);
            assert_eq!((mocked.now() - before).as_nanos(), 7);
            let upkeep = $quanta::Upkeep::new(std::time::Duration::from_millis(1)).start().unwrap();
            assert!($quanta::Instant::recent() <= $quanta::Instant::now());
            drop(upkeep);
        }
    };
}
of_quanta!(quanta_12, quanta);
of_quanta!(quanta_13, quanta_13);

macro_rules! of_minstant {
    ($name:ident, $minstant:ident) => {
        fn $name() {
            let anchor = $minstant::Anchor::new();
            let now = $minstant::Instant::now();
            assert!(now.as_unix_nanos(&anchor) > 1_700_000_000_000_000_000);
            let atomic = $minstant::Atomic::new(now);
            assert_eq!(atomic.load(std::sync::atomic::Ordering::Relaxed), now);
            let _ = ($minstant::is_tsc_available(), now.elapsed());
        }
    };
}
of_minstant!(fastant_1, fastant);
of_minstant!(minstant_1, minstant);

fn main() {
    quanta_12();
    quanta_13();
    fastant_1();
    minstant_1();
    println!("a program with every shim: ok");
}
END
case " ${wanted[*]-} " in
"  " | *" program "*)
    fetched cargo fetch --manifest-path "$dir/user/Cargo.toml"
    cargo run --quiet --offline --manifest-path "$dir/user/Cargo.toml" || wrong "a program with every shim does not run"
    for shim in quanta quanta-0.13 fastant minstant; do
        cargo fmt --check --manifest-path "$here/$shim/Cargo.toml" || wrong "$shim: cargo fmt"
    done
    ;;
esac
if [ "$failed" -ne 0 ]; then
    echo "shims: $failed wrong" >&2
    exit 1
fi

#!/usr/bin/env bash
# All checks of this project: format, lints, docs, tests, the book, the clock, the libraries for C and Python,
# packages, the formats for configuration tools, the engine for fleets, monitoring with the real programs, licences
# and advisories, files of virtual machines against libvirt, boots of real kernels and of an installed system,
# scenarios in running guests, alerts of a Prometheus about a guest, fuzzing, speed.
#
#   ./test.sh            everything (an hour on two cores)
#   ./test.sh clippy     one step, or several, by name
#   ./test.sh servers    what no whole run does: servers in guests with a slow clock (figures, half an hour)
#   ./test.sh soak       likewise: a watch in a busy guest (half an hour; CLOCKSMITH_SOAK_MINUTES=30)
#
# A step whose tool is not here is skipped, and counted as skipped; `.ci/run` installs the tools.
# Exits with 1 when a step failed. Settings:
#   FUZZ_SECONDS=20         for each fuzz target
#   FUZZ_SEED=1             begin fuzzing the same way each time
#   CLOCKSMITH_BENCH_MIB=64 size of the logs of the speed check
#   STRICT=1                a skipped step is a failure, except where a network is missing
set -euo pipefail
cd "$(dirname "$0")"

export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
export CLOCKSMITH_BENCH_MIB="${CLOCKSMITH_BENCH_MIB:-64}"
fuzz_seconds="${FUZZ_SECONDS:-20}"
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

passed=0
failed=()
skipped=()

# A step says that it cannot run here by calling `skip` and returning.
skip() {
    echo "$1" >"$log/skip"
    [ -n "${2-}" ] || [ -z "${STRICT-}" ]
}

step() {
    local name=$1 begun=$SECONDS status=0
    shift
    echo
    echo "== $name: $*"
    rm -f "$log/skip"
    "$@" || status=$?
    local took=$((SECONDS - begun))
    if [ "$status" -ne 0 ]; then
        failed+=("$name")
        echo "== $name: FAILED after $took s"
    elif [ -s "$log/skip" ]; then
        skipped+=("$name: $(cat "$log/skip")")
        echo "== $name: skipped ($(cat "$log/skip"))"
    else
        passed=$((passed + 1))
        echo "== $name: ok, $took s"
    fi
}

docs() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
}

# cargo's own summary stands once for each test program; the end adds them up.
tests() {
    cargo test --workspace --locked 2>&1 | tee "$log/tests"
}

# The scripts of the two exit with 77 when a tool is missing and with 75 when the network is, and say
# which in their last line.
script() {
    local status=0
    "$@" 2>&1 | tee "$log/script" || status=$?
    case $status in
    77) skip "$(tail -n 1 "$log/script")" ;;
    75) skip "$(tail -n 1 "$log/script")" network ;;
    *) return "$status" ;;
    esac
}

licences() {
    if ! cargo deny --version >/dev/null 2>&1; then
        skip "cargo-deny is not installed: cargo install --locked cargo-deny"
        return
    fi
    cargo deny --locked check licenses bans sources
    cargo deny --locked --manifest-path python/Cargo.toml --config deny.toml check licenses bans sources
    cargo deny --locked --manifest-path fleet/Cargo.toml --config deny.toml check licenses bans sources
}

# The database of advisories is a git repository, which not every network reaches.
advisories() {
    if ! cargo deny --version >/dev/null 2>&1; then
        skip "cargo-deny is not installed: cargo install --locked cargo-deny"
        return
    fi
    local status=0
    timeout 120 cargo deny --locked check advisories >"$log/advisories" 2>&1 || status=$?
    cat "$log/advisories"
    if [ "$status" -ne 0 ] && [ "$status" -eq 124 ] || grep -qE \
        "failed to (fetch|load|open) advisory database|failed to clone" "$log/advisories"; then
        echo "advisories: not checked (database unreachable)"
        skip "advisories: not checked (database unreachable)" network
        return
    fi
    return "$status"
}

fuzz() {
    if ! cargo fuzz --version >/dev/null 2>&1; then
        skip "cargo-fuzz is not installed: cargo install --locked cargo-fuzz"
        return
    fi
    if ! command -v c++ >/dev/null; then
        skip "no C++ compiler, which libFuzzer needs: apt-get install g++"
        return
    fi
    local target
    for target in log bundle cpuid cmdline acpi http who boot_files vm_libvirt vm_qemu vm_yaml vm_proxmox \
        vm_migrate vm_vbox vm_vmx vm_xl vm_json vm_persist fleet; do
        if ! fuzz/run "$target" "$fuzz_seconds" >"$log/fuzz" 2>&1; then
            tail -n 100 "$log/fuzz"
            echo "fuzz $target: failed"
            return 1
        fi
        grep -E "^stat::number_of_executed_units" "$log/fuzz" |
            awk -v name="$target" '{ print "fuzz " name ": " $2 " inputs, no finding" }'
    done
}

speed() {
    if ! command -v grep >/dev/null; then
        skip "no grep to compare with"
        return
    fi
    cargo bench --locked -p clocksmith-cli --bench why_speed &&
        cargo bench --locked -p clocksmith-clock-bench --bench read_cost -- --quick &&
        cargo bench --locked -p clocksmith-measure --bench plain_c
}

# The clock: every order of its sequence lock (and of how `run`'s clock is published), 32-bit x86, aarch64 in an emulator, targets without
# support, and, with a nightly toolchain, undefined behaviour (Miri) and data races (ThreadSanitizer).
clock() {
    local targets missing=() target
    targets=$(rustup target list --installed 2>/dev/null || true)
    has() { grep -qx "$1" <<<"$targets"; }

    cargo test --locked -p clocksmith --all-features || return
    RUSTFLAGS="--cfg loom" cargo test --locked --release -p clocksmith --lib \
        --target-dir "${CARGO_TARGET_DIR:-target}/loom" model || return
    RUSTFLAGS="--cfg loom" cargo test --locked --release -p clocksmith-vdso --lib \
        --target-dir "${CARGO_TARGET_DIR:-target}/loom" model || return

    if has i686-unknown-linux-musl; then
        cargo test --locked -p clocksmith --target i686-unknown-linux-musl || return
    else
        missing+=(i686-unknown-linux-musl)
    fi
    if has aarch64-unknown-linux-musl && command -v qemu-aarch64-static >/dev/null; then
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
            CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64-static \
            CLOCKSMITH_TEST_RUNNER=qemu-aarch64-static \
            cargo test --locked -p clocksmith --target aarch64-unknown-linux-musl --lib --test hostile || return
    else
        missing+=(aarch64-unknown-linux-musl or qemu-user-static)
    fi
    for target in riscv64gc-unknown-linux-gnu s390x-unknown-linux-gnu powerpc64le-unknown-linux-gnu \
        x86_64-pc-windows-gnu aarch64-apple-darwin; do
        if has "$target"; then
            cargo check --locked -p clocksmith --all-features --target "$target" || return
        else
            missing+=("$target")
        fi
    done

    if cargo +nightly miri --version >/dev/null 2>&1; then
        PROPTEST_CASES=4 MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance" \
            cargo +nightly miri test --locked -p clocksmith --lib \
            --target-dir "${CARGO_TARGET_DIR:-target}/miri" || return
        PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked \
            -p clocksmith-vdso --lib --target-dir "${CARGO_TARGET_DIR:-target}/miri" \
            timeline::tests::a_child || return
        RUSTFLAGS=-Zsanitizer=thread cargo +nightly test --locked -Zbuild-std \
            --target x86_64-unknown-linux-gnu --target-dir "${CARGO_TARGET_DIR:-target}/tsan" \
            -p clocksmith --test hostile -- sources_change ordered_reads every_source || return
    else
        missing+=("Miri and ThreadSanitizer: rustup toolchain install nightly -c miri,rust-src")
    fi
    if [ "${#missing[@]}" -gt 0 ]; then skip "not there: ${missing[*]}" network; fi
}

# Real kernels in QEMU. Emulated time on a busy host spoils a boot now and then, so what disagrees is
# booted once more; what disagrees twice is a failure.
boots() {
    local tool
    for tool in qemu-system-x86_64 qemu-system-aarch64 qemu-system-s390x cc dpkg; do
        if ! command -v "$tool" >/dev/null; then
            skip "no $tool: apt-get install qemu-system-x86 qemu-system-arm qemu-system-misc gcc"
            return
        fi
    done
    # Within a step a failure does not end the script by itself.
    cargo build --locked -p clocksmith-cli -p clocksmith-testbed || return
    local bin=${CARGO_TARGET_DIR:-target}/debug status=0
    local guest=()
    if static_program; then guest=(--guest-clocksmith "$static"); fi
    local run=("$bin/testbed" --cases testbed/cases run --clocksmith "$bin/clocksmith" "${guest[@]}")
    timeout 1500 "${run[@]}" --out "$log/boots" 2>&1 | tee "$log/boots.txt" || status=$?
    if [ "$status" -eq 0 ]; then return 0; fi
    if ! grep -q "compared agree" "$log/boots.txt"; then
        skip "the kernels could not be fetched, or no guest came up" network
        return
    fi
    local again
    again=$(grep -B1 -E "^ +PREDICTED|FAILED" "$log/boots.txt" | grep -oE "^[^ ]+@[^ ]+" | paste -sd, || true)
    if [ -z "$again" ]; then return 0; fi
    echo "-- once more: $again"
    "${run[@]}" --subset "$again" --out "$log/again" 2>&1 | tee "$log/again.txt" || true
    ! grep -qE "^ +PREDICTED" "$log/again.txt"
}

# An installed system on a disk image, whose boot loader is told about another clocksource. The image
# is built once, by root; the boots need none.
disk() {
    local tool status=0 as_root=()
    for tool in qemu-system-x86_64 qemu-img mmdebstrap; do
        if ! command -v "$tool" >/dev/null; then
            skip "no $tool: apt-get install qemu-system-x86 qemu-utils mmdebstrap"
            return
        fi
    done
    cargo build --locked -p clocksmith-testbed
    local build=("${CARGO_TARGET_DIR:-target}/debug/testbed" disk build)
    if [ "$(id -u)" -ne 0 ] && [ -n "${STRICT-}" ] && sudo -n true 2>/dev/null; then
        # For continuous integration; nobody's own tests become root unasked.
        as_root=(sudo -n --preserve-env=CLOCKSMITH_TESTBED_MIRROR)
        build+=(--cache "${XDG_CACHE_HOME:-$HOME/.cache}/clocksmith-testbed")
    fi
    "${as_root[@]}" timeout 600 "${build[@]}" >"$log/disk" 2>&1 || status=$?
    cat "$log/disk"
    if [ "$status" -ne 0 ]; then
        if grep -q "needs root: it installs" "$log/disk"; then
            skip "no disk image, and only root can build one: testbed disk build"
            return
        fi
        if grep -qE "no Debian archive found|Failed to fetch|Could not resolve|apt-get update" "$log/disk"; then
            skip "the packages of the disk image could not be fetched" network
            return
        fi
        return "$status"
    fi
    timeout 600 cargo test --locked -p clocksmith-testbed --test live_disk -- --ignored --nocapture grub
}

# `clocksmith fix`: put back where it does not hold, in a guest that only runs it; and in installed systems:
# made fast, rebooted, cut off from power, taken back to the byte. Eight minutes on two busy processors.
# The release program, because a debug one is slow under emulation.
fix() {
    local tool
    for tool in qemu-system-x86_64 qemu-img mmdebstrap cc; do
        if ! command -v "$tool" >/dev/null; then
            skip "no $tool: apt-get install qemu-system-x86 qemu-utils mmdebstrap gcc"
            return
        fi
    done
    release_program || return 0
    # What does not hold is put back: one quick guest, once more if a busy host spoiled it.
    timeout 300 cargo test --locked -p clocksmith-testbed --test live_trial -- --ignored --nocapture ||
        timeout 300 cargo test --locked -p clocksmith-testbed --test live_trial -- --ignored --nocapture ||
        return
    cargo build --locked -p clocksmith-testbed || return
    if ! timeout 600 "${CARGO_TARGET_DIR:-target}/debug/testbed" disk build >"$log/fix" 2>&1; then
        cat "$log/fix"
        skip "no disk image, and only root can build one: testbed disk build" network
        return
    fi
    # One guest after the other.
    timeout 1800 cargo test --locked -p clocksmith-testbed --test live_fix -- --ignored --nocapture \
        --test-threads 1 a_slow the_command a_power_cut
}

# What happens to clocks in a running guest, on one kernel: the quick ones. Played once more if a busy
# host spoiled one.
scenarios() {
    local tool
    for tool in qemu-system-x86_64 cc dpkg; do
        if ! command -v "$tool" >/dev/null; then
            skip "no $tool: apt-get install qemu-system-x86 gcc"
            return
        fi
    done
    if ! static_program; then
        skip "no static program for the guests: rustup target add x86_64-unknown-linux-musl" network
        return
    fi
    cargo build --locked -p clocksmith-testbed || return
    local testbed=(${CARGO_TARGET_DIR:-target}/debug/testbed --cases testbed/cases)
    if ! timeout 300 "${testbed[@]}" fetch --subset "smp2@6.1"; then
        skip "the kernel could not be fetched" network
        return
    fi
    local again
    for again in "" "-- once more"; do
        if [ -n "$again" ]; then echo "$again"; fi
        if timeout 300 "${testbed[@]}" scenario switch,pause,migrate-file,fault --kernel 6.1 \
            --guest-clocksmith "$static" >"$log/scenarios.json"; then
            break
        fi
        if [ -n "$again" ]; then return 1; fi
    done
    # The same with a reader that has its clock from `clocksmith run`; the release program, because it tests the counter.
    release_program || return 0
    local program=${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-musl/release/clocksmith
    for again in "" "-- once more"; do
        if [ -n "$again" ]; then echo "$again"; fi
        if timeout 400 "${testbed[@]}" scenario pause,snapshot,migrate --kernel 6.1 --under-run hpet \
            --reader-error-ns 20000000 --guest-clocksmith "$program" >"$log/under-run.json"; then
            return 0
        fi
    done
    return 1
}

# Whether `bench --every-clocksource` in a guest puts the clocksource back, also when it is killed.
sweep() {
    if ! command -v qemu-system-x86_64 >/dev/null || ! command -v cc >/dev/null; then
        skip "no qemu-system-x86_64 or cc: apt-get install qemu-system-x86 gcc"
        return
    fi
    release_program || return 0
    local begun
    for begun in once again; do
        if timeout 300 cargo test --locked -p clocksmith-testbed --test live_sweep -- --ignored; then
            return 0
        fi
    done
    return 1
}

# Whether `who` finds the readers of a slow clock in a guest and counts their system calls, and `run` makes them fast.
who() {
    if ! command -v qemu-system-x86_64 >/dev/null || ! command -v cc >/dev/null; then
        skip "no qemu-system-x86_64 or cc: apt-get install qemu-system-x86 gcc"
        return
    fi
    release_program || return 0
    timeout 360 cargo test --locked -p clocksmith-testbed --test live_who -- --ignored --test-threads 1
}

# Files of virtual machines against the real libvirt: mended ones are valid, and QEMU is told what was
# predicted.
vm() {
    local tool
    for tool in virsh virt-xml-validate xmllint libvirtd qemu-system-x86_64; do
        if ! PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null; then
            skip "no $tool: apt-get install libvirt-clients libvirt-daemon libvirt-daemon-driver-qemu libxml2-utils qemu-system-x86"
            return
        fi
    done
    timeout 600 cargo test --locked -p clocksmith-vm --test libvirt -- --ignored --nocapture
}

# Everything that is given to users is built, and installed, run and removed in a new system. Root makes
# that system.
packages() {
    script packaging/test-packages.sh
}

# A program that runs in any guest; without the target for it the guests run none.
static_program() {
    static=${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-musl/debug/clocksmith
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_STRIP=true \
        cargo build --locked -p clocksmith-cli --target x86_64-unknown-linux-musl 2>/dev/null
}

# The release program that runs in any guest; a debug one is too slow for emulation. Built as it is for packages, so
# that it is built once. Where it cannot be built the step is skipped, and there is nothing more to do.
release_program() {
    if ! packaging/build.sh --out "$log/dist" program-x86_64; then
        skip "no static program for the guests: rustup target add x86_64-unknown-linux-musl" network
        return 1
    fi
}

# Monitoring with the real programs: Prometheus, node_exporter, Chromium; and the page of `why`.
watch() {
    cargo build --locked -p clocksmith-cli || return
    script packaging/test.py "${CARGO_TARGET_DIR:-target}/debug/clocksmith"
}

# The book: the pages that are made are what would be made, every command in it is run and what it prints compared,
# every link leads somewhere. All but the last needs no mdBook. Two minutes, most of them waiting for measurements.
book() {
    cargo build --locked -p clocksmith-cli || return
    local program="${CARGO_TARGET_DIR:-target}/debug/clocksmith" html=()
    if ! python3 -c 'import tomllib' 2>/dev/null; then
        skip "no Python 3.11"
        return
    fi
    book/make.py --check --clocksmith "$program" || return
    docs/terminal.py --check --clocksmith "$program" || return
    if command -v mdbook >/dev/null; then
        mdbook build book || return
        html=(--html target/book)
    fi
    timeout 600 book/test.py --clocksmith "$program" ${html[@]+"${html[@]}"} || return
    if [ "${#html[@]}" -eq 0 ]; then
        skip "its commands are right; it was not built: cargo install --locked mdbook --no-default-features"
    fi
}

# A real Prometheus fires when the clocksource of a guest is switched: the shipped unit in an installed Debian, the
# shipped rules. Once more if a busy host spoiled it.
alert() {
    local tool again
    for tool in qemu-system-x86_64 qemu-img mmdebstrap prometheus promtool; do
        if ! command -v "$tool" >/dev/null; then
            skip "no $tool: apt-get install qemu-system-x86 qemu-utils mmdebstrap prometheus"
            return
        fi
    done
    release_program || return 0
    cargo build --locked -p clocksmith-testbed || return
    if ! timeout 600 "${CARGO_TARGET_DIR:-target}/debug/testbed" disk build >"$log/alert" 2>&1; then
        cat "$log/alert"
        skip "no disk image, and only root can build one: testbed disk build" network
        return
    fi
    for again in "" "-- once more"; do
        if [ -n "$again" ]; then echo "$again"; fi
        if timeout 400 cargo test --locked -p clocksmith-testbed --test live_alert -- --ignored --nocapture; then
            return 0
        fi
    done
    return 1
}

# A watch for half an hour (or CLOCKSMITH_SOAK_MINUTES) in a busy guest whose clocksource is switched a hundred times.
# By name alone: too long for a whole run.
soak() {
    if ! command -v qemu-system-x86_64 >/dev/null || ! command -v cc >/dev/null; then
        skip "no qemu-system-x86_64 or cc: apt-get install qemu-system-x86 gcc"
        return
    fi
    release_program || return 0
    cargo test --locked -p clocksmith-testbed --test live_soak -- --include-ignored --nocapture
}

# Redis, PostgreSQL and nginx in guests with a slow clock, with and without `clocksmith run`. Figures to read, no
# verdict, so no step of a whole run.
servers() {
    release_program || return 0
    cargo build --locked -p clocksmith-testbed || return
    script testbed/servers.sh --source hpet || return
    script testbed/servers.sh --source acpi_pm
}

all=(fmt clippy doc test book clock c python packages formats fleet watch licences advisories vm boots scenarios sweep
    who disk fix alert fuzz speed)
for name in "${@:-${all[@]}}"; do
    case $name in
    fmt) step fmt cargo fmt --all --check ;;
    clippy) step clippy cargo clippy --workspace --all-targets --all-features --locked -- -D warnings ;;
    doc) step doc docs ;;
    test) step test tests ;;
    book) step book book ;;
    clock) step clock clock ;;
    c) step c script crates/clock-c/test.sh --bench ;;
    python) step python script python/test.sh --bench ;;
    packages) step packages packages ;;
    formats) step formats script crates/change/test.sh ;;
    fleet) step fleet script fleet/test.sh ;;
    watch) step watch watch ;;
    licences) step licences licences ;;
    advisories) step advisories advisories ;;
    vm) step vm vm ;;
    boots) step boots boots ;;
    disk) step disk disk ;;
    fix) step fix fix ;;
    alert) step alert alert ;;
    soak) step soak soak ;;
    scenarios) step scenarios scenarios ;;
    sweep) step sweep sweep ;;
    who) step who who ;;
    servers) step servers servers ;;
    fuzz) step fuzz fuzz ;;
    speed) step speed speed ;;
    *)
        echo "test.sh: no step $name; there are: ${all[*]}, servers, soak" >&2
        exit 2
        ;;
    esac
done

echo
for reason in ${skipped[@]+"${skipped[@]}"}; do
    echo "skipped: $reason"
done
for name in ${failed[@]+"${failed[@]}"}; do
    echo "failed: $name"
done
echo "steps: $passed ok, ${#failed[@]} failed, ${#skipped[@]} skipped, $SECONDS s"
if [ -s "$log/tests" ]; then
    grep -E "^test result:" "$log/tests" | awk '
        { for (i = 2; i <= NF; i++) {
            if ($i ~ /^passed/) passed += $(i - 1)
            if ($i ~ /^failed/) failed += $(i - 1)
            if ($i ~ /^ignored/) ignored += $(i - 1)
        } }
        END { printf "tests: %d passed, %d failed, %d skipped\n", passed, failed, ignored }'
fi
[ "${#failed[@]}" -eq 0 ]

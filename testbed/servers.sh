#!/usr/bin/env bash
# Servers in a guest whose clock is slow: their throughput as it is, under `clocksmith run`, on tsc, and on
# tsc with `run --as` the cost of a read that the slow clocksource has. By hand; no step of ./test.sh by default.
#
#   testbed/servers.sh [--source hpet|acpi_pm] [--rounds N] [--smp N] [--kernel 6.1] \
#       [timing] [redis] [postgres] [nginx]
#
# The servers are the distribution's packages, installed by mmdebstrap (which needs root) and kept with the
# testbed's cache as one archive for the guest's memory. What is measured: testbed/guest/servers/measure.
# Settings: CLOCKSMITH, a static program; TESTBED, the program `testbed`.
# Exits with 0 done, 1 a guest failed, 77 a tool is missing, 75 the network is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../packaging/offline.sh"
target=${CARGO_TARGET_DIR:-$here/../target}
clocksmith=${CLOCKSMITH:-$target/x86_64-unknown-linux-musl/dist/clocksmith}
testbed=${TESTBED:-$target/debug/testbed}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/clocksmith-testbed
packages=redis-server,redis-tools,postgresql,nginx-light,apache2-utils,busybox-static

source=hpet rounds=3 smp=1 kernel=6.1 servers=()
while [ $# -gt 0 ]; do
    case $1 in
    --source) source=$2 && shift ;;
    --rounds) rounds=$2 && shift ;;
    --smp) smp=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    timing | redis | postgres | nginx) servers+=("$1") ;;
    *)
        echo "servers.sh: no option or server $1" >&2
        exit 2
        ;;
    esac
    shift
done
if [ ${#servers[@]} -eq 0 ]; then servers=(timing redis postgres nginx); fi
case $source in
hpet) machine=pc ;;
acpi_pm) machine=pc,hpet=off ;;
*)
    echo "servers.sh: --source is hpet or acpi_pm" >&2
    exit 2
    ;;
esac

for tool in mmdebstrap cpio gzip qemu-system-x86_64; do
    if ! command -v $tool >/dev/null; then
        echo "no $tool: apt-get install mmdebstrap cpio gzip qemu-system-x86"
        exit 77
    fi
done
for program in "$clocksmith" "$testbed"; do
    if [ ! -x "$program" ]; then
        echo "no $program: cargo build --profile dist --features full -p clocksmith-cli --target x86_64-unknown-linux-musl; cargo build -p clocksmith-testbed"
        exit 77
    fi
done

work=$(mktemp -d)
qemu=
trap 'if [ -n "$qemu" ]; then kill "$qemu" 2>/dev/null || true; fi; rm -rf "$work"' EXIT

# The archive is made once for a list of packages.
base=$cache/servers-$(sha256sum <<<"$packages" | cut -c1-16).cpio
if [ ! -e "$base" ]; then
    mkdir -p "$cache"
    if ! TREE=$base.new mmdebstrap --variant=minbase --format=null --include=$packages \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --customize-hook='cd "$1" && find . -xdev \( -path "./dev/*" -o -path "./var/lib/apt/*" \
            -o -path "./var/cache/apt/*" -o -path "./proc/*" -o -path "./sys/*" \) -prune -o -print0 |
            cpio --quiet --null --create --format=newc >"$TREE"' \
        bookworm /dev/null >"$work/mmdebstrap" 2>&1; then
        tail -n 15 "$work/mmdebstrap"
        rm -f "$base.new"
        echo "the servers' packages could not be installed: mmdebstrap needs root, and the archive"
        if is_offline "$(cat "$work/mmdebstrap")"; then exit 75; fi
        if [ "$(id -u)" -ne 0 ]; then exit 77; fi
        exit 1
    fi
    mv "$base.new" "$base"
fi

# What changes from run to run goes behind it: a second archive is unpacked over the first.
mkdir -p "$work/own/servers" "$work/own/usr/bin"
cp "$here/guest/servers/init" "$work/own/init"
cp "$here/guest/servers/measure" "$work/own/servers/measure"
cp "$clocksmith" "$work/own/usr/bin/clocksmith"
chmod 755 "$work/own/init" "$work/own/servers/measure" "$work/own/usr/bin/clocksmith"
printf 'SLOW=%s\nROUNDS=%s\nSERVERS="%s"\n' "$source" "$rounds" "${servers[*]}" >"$work/own/servers/settings"
(cd "$work/own" && find . -mindepth 1 -print0 | cpio --quiet --null --create --format=newc --owner=0:0) >"$work/own.cpio"
cat "$base" "$work/own.cpio" >"$work/initramfs"

"$testbed" --cases "$here/cases" fetch --subset "smp2@$kernel" >"$work/fetch" 2>&1 || {
    cat "$work/fetch"
    echo "the kernel could not be fetched"
    if is_offline "$(cat "$work/fetch")"; then exit 75; fi
    exit 1
}
image=$(sed -n 's/^ *"image": "\(.*\)",*$/\1/p' "$cache/ready/$kernel.json")

echo "guest: $source, kernel $kernel, $smp processors, invariant TSC; rounds: $rounds; ${servers[*]}"
timeout 1800 qemu-system-x86_64 -accel tcg -M "$machine" -cpu max,x-force-features=on,+invtsc,+tsc-adjust \
    -smp "$smp" -m 2560 -kernel "$image" -initrd "$work/initramfs" \
    -append "console=ttyS0 panic=-1 loglevel=3 clocksource=$source" \
    -display none -nic none -no-reboot -monitor none -serial "file:$work/serial" &
qemu=$!
touch "$work/serial"
tail --pid=$qemu -n +1 -f "$work/serial" | sed -u 's/\r$//' | grep --line-buffered '^|\|^@@' | sed -u 's/^|//' |
    tee "$work/said" || true
wait "$qemu" || true
qemu=
if ! grep -q "^@@DONE" "$work/said" || grep -q "^failed:" "$work/said"; then
    tr -d '\r' <"$work/serial" | tail -n 30
    echo "the guest failed"
    exit 1
fi

# Medians, and their ratios to the slow clock's. What disturbs a measurement on a busy host only takes away from
# it, so the same ratios of the best rounds stand behind.
sed -n 's/^result //p' "$work/said" | sort -k1,1 -k2,2 -k3,3g | awk '
    { key = $1 " " $2; count[key]++; value[key, count[key]] = $3; unit[$1] = $4; name[$1] = 1 }
    function median(key, n) {
        n = count[key]
        if (n % 2) return value[key, (n + 1) / 2]
        return (value[key, n / 2] + value[key, n / 2 + 1]) / 2
    }
    function best(key) { return value[key, count[key]] }
    END {
        printf "\n%-22s %-10s %9s %9s %9s %9s   %-17s  %s\n", "", "", "", "", "", "", "of medians", "of the best"
        printf "%-22s %-10s %9s %9s %9s %9s   run   tsc   as     run   tsc   as\n", "workload", "unit", "slow", "run", "tsc", "as"
        fflush()
        for (n in name) {
            slow = median(n " slow"); run = median(n " run"); tsc = median(n " tsc"); as = median(n " as"); top = best(n " slow")
            if (slow && top) printf "%-22s %-10s %9d %9d %9d %9d   %-5.2f %-5.2f %-5.2f  %-5.2f %-5.2f %-5.2f\n", n, unit[n], \
                slow, run, tsc, as, run / slow, tsc / slow, as / slow, \
                best(n " run") / top, best(n " tsc") / top, best(n " as") / top | "sort"
        }
    }'

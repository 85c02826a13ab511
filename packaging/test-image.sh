#!/usr/bin/env bash
# The container image, unpacked and run as a container: its program in namespaces of its own, on a root with nothing else,
# with /proc and /sys of this machine mounted as `docker run -v /proc:/host/proc:ro -v /sys:/host/sys:ro` mounts them.
#
#   packaging/test-image.sh PROGRAM        the static program (x86-64)
#
# No container runtime is needed: unshare and setpriv do what one does. Exits with 1 when something is wrong, with 77 when
# a tool is missing or this is not root; the last line says which.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
export LC_ALL=C
[ $# -eq 1 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 2; }

missing() {
    echo "image: $1" >&2
    exit 77
}

fail() {
    echo "image: $1" >&2
    exit 1
}

for tool in umoci skopeo:skopeo unshare:util-linux setpriv:util-linux python3; do
    command -v "${tool%:*}" >/dev/null || missing "no ${tool%:*}: apt-get install ${tool#*:}"
done
[ "$(id -u)" -eq 0 ] || missing "only root can mount what a container mounts"

dir=$(mktemp -d)
trap 'rm -rf --one-file-system "$dir"' EXIT
mkdir -p "$dir/built/x86_64" "$dir/built/sbom" "$dir/out" "$dir/again"
cp "$1" "$dir/built/x86_64/clocksmith"
# Its content is that of the step `packages`.
echo '{"bomFormat": "CycloneDX", "specVersion": "1.5"}' >"$dir/built/sbom/clocksmith.cdx.json"
echo licences >"$dir/built/sbom/third-party-licences.txt"
version=$("$1" --version | cut -d ' ' -f 2)
export SOURCE_DATE_EPOCH=1700000000
make() {
    (umask "$1" && out=$2 built=$dir/built version=$version "$here/image.sh" x86_64)
}
make 022 "$dir/out" >"$dir/said" 2>&1 || { cat "$dir/said" >&2; exit 1; }
make 077 "$dir/again" >"$dir/said" 2>&1
name=clocksmith-$version-x86_64-image
cmp "$dir/out/$name.tar" "$dir/again/$name.tar" || fail "made twice, and not the same"

# As runtimes read it: the name, what is run, the labels.
skopeo copy --quiet --insecure-policy "docker-archive:$dir/out/$name.tar:localhost/clocksmith:$version" "oci:$dir/layout:image"
skopeo inspect --config "oci:$dir/layout:image" >"$dir/config.json"
python3 - "$dir/config.json" "$version" <<'PYTHON'
import json, sys
image, version = json.load(open(sys.argv[1])), sys.argv[2]
config = image["config"]
label = lambda name: config["Labels"]["org.opencontainers.image." + name]
assert image["architecture"] == "amd64" and image["os"] == "linux", image
assert config["Entrypoint"] == ["/usr/bin/clocksmith"] and config["Cmd"] == ["why"], config
assert label("version") == version and label("created") == "2023-11-14T22:13:20Z", config
assert label("licenses") == "MIT OR Apache-2.0" and label("title") == "clocksmith", config
PYTHON
umoci unpack --image "$dir/layout:image" "$dir/bundle" >"$dir/said" 2>&1 || fail "umoci unpack: $(cat "$dir/said")"
rootfs=$dir/bundle/rootfs
[ "$(cd "$rootfs" && find . -type f | sort | tr '\n' ' ')" = "./usr/bin/clocksmith ./usr/share/doc/clocksmith/LICENSE-APACHE \
./usr/share/doc/clocksmith/LICENSE-MIT ./usr/share/doc/clocksmith/clocksmith.cdx.json \
./usr/share/doc/clocksmith/third-party-licences.txt " ] || fail "files in it: $(cd "$rootfs" && find . -type f)"
[ -z "$(find "$rootfs" ! -uid 0)" ] || fail "not all of it is root's"

# contained MOUNTS CAPABILITIES ARGUMENT...: as a runtime starts it. MOUNTS: host, proc (that alone), none.
contained() {
    local mounts=$1 capabilities=$2
    shift 2
    unshare --mount --pid --net --ipc --uts --fork --kill-child -- bash -euc '
        root=$0 mounts=$1 capabilities=$2
        shift 2
        mount --make-rprivate /
        mount --bind "$root" "$root"
        # Before the process has a /proc of its own.
        if [ "$mounts" != none ]; then mount --bind /proc "$root/host/proc"; fi
        if [ "$mounts" = host ]; then mount --bind /sys "$root/host/sys"; fi
        for point in host/proc host/sys; do
            if mountpoint -q "$root/$point"; then mount -o remount,ro,bind "$root/$point"; fi
        done
        mount -t proc proc "$root/proc"
        mount --bind /sys "$root/sys"
        # Runtimes hide these.
        mount --bind /dev/null "$root/proc/timer_list"
        if [ -d "$root/sys/firmware" ]; then mount -t tmpfs -o ro tmpfs "$root/sys/firmware"; fi
        mount -o remount,ro,bind "$root/sys"
        mount -o remount,ro,bind "$root"
        # A program of this machine without its libraries there: the privileges are dropped first.
        exec setpriv --bounding-set "$capabilities" --inh-caps -all -- chroot "$root" /usr/bin/clocksmith "$@"' \
        "$rootfs" "$mounts" "$capabilities" "$@"
}
plain=-all,+sys_chroot
log=-all,+sys_chroot,+syslog
# says WHAT WORDS: the last output has them
says() {
    grep -qF -- "$2" "$dir/said" || fail "$1 does not say '$2': $(cat "$dir/said")"
}
lacks() {
    ! grep -qF -- "$2" "$dir/said" || fail "$1 says '$2': $(cat "$dir/said")"
}
current=$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)

echo "-- the host's /proc and /sys, and its log"
status=0
contained host "$log" why --root /host --json >"$dir/said" 2>"$dir/errors" || status=$?
[ "$status" -ne 2 ] || fail "why: $(cat "$dir/said" "$dir/errors")"
[ ! -s "$dir/errors" ] || fail "why has something to say: $(cat "$dir/errors")"
python3 - "$dir/said" "$current" <<'PYTHON'
import json, sys
report, current = json.load(open(sys.argv[1])), sys.argv[2]
assert report["clocksource"]["current"] == current, report["clocksource"]
monotonic = [read for read in report["reads"] if read["clock"] == "CLOCK_MONOTONIC"]
assert monotonic and monotonic[0]["ns"], ("not measured", report["reads"])
missing = [one["fact"] for one in report["missing"]]
assert "kernel log" not in missing, missing
PYTHON
contained host "$log" check --root /host >"$dir/said" 2>&1 || status=$?

lacks check UNKNOWN:
status=0
contained host "$log" check --root /host -w 1000000 -c 2000000 >"$dir/said" 2>&1 || status=$?
says "check -w" "clock_monotonic="
contained host "$log" watch --root /host --once >"$dir/said" 2>&1
says "watch --once" "clocksmith_clocksource_current_info{device=\"0\",clocksource=\"$current\"} 1"
says "watch --once" clocksmith_clock_read_seconds
says "watch --once" "clocksmith_kernel_log_readable 1"
contained host "$log" collect --root /host --output - >"$dir/bundle.tar.gz" 2>"$dir/said" || fail "collect: $(cat "$dir/said")"
"$1" why --bundle "$dir/bundle.tar.gz" >"$dir/said" || [ $? -eq 3 ] || fail "a bundle of it cannot be read"
says "why --bundle" "$current"

echo "-- without the right to read the log"
contained host "$plain" why --root /host -v >"$dir/said" 2>&1 || [ $? -eq 3 ]
says why "docker run --cap-add SYSLOG"
says why "$current"

echo "-- a mount is missing"
contained proc "$log" why --root /host -v >"$dir/said" 2>&1 || [ $? -eq 3 ]
says "why without /sys" "mount /sys of the host at /host/sys"
status=0
contained none "$log" why --root /host >"$dir/said" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "why --root without mounts ended with $status: $(cat "$dir/said")"
says "why without mounts" "docker run -v /proc:/host/proc:ro -v /sys:/host/sys:ro"
status=0
contained none "$log" check --root /host >"$dir/said" 2>&1 || status=$?
[ "$status" -eq 3 ] || fail "check --root without mounts ended with $status: $(cat "$dir/said")"

echo "-- no mount: the container's own /proc and /sys, as its kernel is the host's"
contained none "$plain" why -v >"$dir/said" 2>&1 || [ $? -eq 3 ]
says why "$current"
says why "Not seen"

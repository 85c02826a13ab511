#!/usr/bin/env bash
# The Ansible role: ansible-lint, and the role itself in a new Debian system without a network: as a check, applied, applied
# again (which changes nothing), with other settings, and removed.
#
#   packaging/ansible/test.sh PROGRAM      the static program (x86-64)
#
# Settings: PYTHON_TOOLS=DIR, a virtual environment with ansible-core and ansible-lint [default:
# ~/.cache/clocksmith-python-tools, which .ci/run makes]. packaging/debian-root.sh makes the system. Exits with 1 when
# something is wrong, with 77 when a tool or root is missing, with 75 when the system cannot be fetched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
packaging=$(dirname "$here")
export LC_ALL=C.UTF-8 ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false
tools=${PYTHON_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/clocksmith-python-tools}
[ $# -eq 1 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 2; }

missing() {
    echo "ansible: $1" >&2
    exit "${2:-77}"
}

fail() {
    echo "ansible: $1" >&2
    exit 1
}

[ -x "$tools/bin/ansible-lint" ] || missing "no ansible-lint: pip install ansible-core ansible-lint"
command -v dpkg-deb >/dev/null || missing "no dpkg-deb: apt-get install dpkg"
[ "$(id -u)" -eq 0 ] || missing "only root can make a Debian system to test in"
dir=$(mktemp -d)
trap 'rm -rf --one-file-system "$dir"' EXIT

cp -r "$here" "$dir/ansible"
(cd "$dir/ansible" && PATH="$tools/bin:$PATH" ansible-lint --offline --nocolor --profile production roles/clocksmith) \
    >"$dir/said" 2>&1 || fail "$(cat "$dir/said")"
echo "-- ansible-lint"

system=$("$packaging/debian-root.sh" bookworm python3-apt systemd) || exit
mkdir "$dir/system"
tar -C "$dir/system" --numeric-owner --exclude=./dev -xf "$system"
mkdir -p "$dir/system/dev" "$dir/system/test" "$dir/system/var/lib/textfile"

# A package with the program, the unit and the maintainer scripts, under two versions.
version=$("$1" --version | cut -d ' ' -f 2)
pack() {
    # pack VERSION PROGRAM
    local tree=$dir/deb-$1
    install -D -m 755 "$2" "$tree/usr/bin/clocksmith"
    install -D -m 644 "$packaging/systemd/clocksmith-watch.service" "$tree/usr/lib/systemd/system/clocksmith-watch.service"
    mkdir "$tree/DEBIAN"
    sed -e "s/@version@/$1/" -e s/@architecture@/amd64/ -e '/@/{/localhost/!d}' "$packaging/deb/clocksmith.control" \
        >"$tree/DEBIAN/control"
    for script in postinst prerm postrm; do
        install -m 755 "$packaging/deb/clocksmith.$script" "$tree/DEBIAN/$script"
    done
    dpkg-deb --root-owner-group -Znone --build "$tree" "$dir/system/test/clocksmith_$1_amd64.deb" >/dev/null
}
pack "$version" "$1"
printf '#!/bin/sh\necho clocksmith 9.9.9\n' >"$dir/newer"
pack 9.9.9 "$dir/newer"

cp -r "$here/roles" "$dir/system/test/"
cat >"$dir/system/test/play.yml" <<'PLAY'
---
- name: The role
  hosts: all
  roles:
    - role: clocksmith
PLAY
# play NAME CHANGED ARGUMENT...: runs it in the system; CHANGED is a number, or any.
play() {
    local name=$1 changed=$2
    shift 2
    # The tools are this machine's; the host's Python is that of the system.
    unshare --mount --net --pid --ipc --uts --fork --kill-child -- bash -euc '
        root=$0 tools=$1 base=$2
        shift 2
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/run"
        mount -t tmpfs tmpfs "$root/tmp"
        for place in "$tools" "$base"; do
            mkdir -p "$root$place"
            mount --bind "$place" "$root$place"
            mount -o remount,ro,bind "$root$place"
        done
        # Services are enabled, and not started: no systemd runs there.
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb SYSTEMD_OFFLINE=1 \
            ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false "$tools/bin/ansible-playbook" -i localhost, -c local \
            -e ansible_python_interpreter=/usr/bin/python3 /test/play.yml "$@"' \
        "$dir/system" "$tools" "$base" "$@" >"$dir/said" 2>&1 || fail "$name: $(cat "$dir/said")"
    local found
    found=$(sed -n 's/.* changed=\([0-9]*\) .*/\1/p' "$dir/said")
    if [ "$changed" = any ]; then
        [ "$found" -gt 0 ] || fail "$name changes nothing: $(cat "$dir/said")"
    else
        [ "$found" = "$changed" ] || fail "$name changes $found, not $changed: $(cat "$dir/said")"
    fi
    echo "-- $name: $found changed"
}
base=$("$tools/bin/python3" -c 'import sys; print(sys.base_prefix)')
file() {
    [ -e "$dir/system$1" ]
}
link=/etc/systemd/system/multi-user.target.wants/clocksmith-watch.service
enabled() {
    [ -L "$dir/system$link" ]
}
package=(-e "clocksmith_package=/test/clocksmith_${version}_amd64.deb")

play "a check of a host that has nothing" any --check --diff "${package[@]}"
! file /usr/bin/clocksmith && ! file /etc/default/clocksmith && ! file /var/cache/clocksmith || fail "a check installs something"
play "the role" any "${package[@]}"
file /usr/bin/clocksmith && enabled || fail "it is not installed, or not enabled"
! file /var/cache/clocksmith || fail "it leaves the package"
play "the role again" 0 "${package[@]}"
play "a check of a host that has it" 0 --check "${package[@]}"
textfile=(-e clocksmith_textfile_directory=/var/lib/textfile -e '{"clocksmith_watch_options": "--no-listen --look=5m"}')
play "other settings" any "${package[@]}" "${textfile[@]}"
grep -qx 'CLOCKSMITH_WATCH_OPTIONS="--no-listen --look=5m --textfile=/var/lib/textfile/clocksmith.prom"' \
    "$dir/system/etc/default/clocksmith" || fail "options: $(cat "$dir/system/etc/default/clocksmith")"
grep -qx ReadWritePaths=/var/lib/textfile "$dir/system/etc/systemd/system/clocksmith-watch.service.d/textfile.conf" ||
    fail "the service may not write"
said=$(chroot "$dir/system" systemd-analyze verify --man=no clocksmith-watch.service 2>&1 | grep -i clocksmith || true)
[ -z "$said" ] || fail "systemd-analyze has something to say of the unit: $said"
play "the same again" 0 "${package[@]}" "${textfile[@]}"
play "an update" any -e clocksmith_package=/test/clocksmith_9.9.9_amd64.deb "${textfile[@]}"
[ "$(chroot "$dir/system" clocksmith --version)" = "clocksmith 9.9.9" ] || fail "the update is not installed"
enabled || fail "the update disables the service"
play "without the watch" any -e clocksmith_package=/test/clocksmith_9.9.9_amd64.deb -e clocksmith_watch=false
! enabled && ! file /etc/systemd/system/clocksmith-watch.service.d/textfile.conf || fail "the watch is not disabled"
play "removal" any -e clocksmith_state=absent
for path in /usr/bin/clocksmith /etc/default/clocksmith /etc/systemd/system/clocksmith-watch.service.d; do
    ! file "$path" || fail "a removal leaves $path"
done
play "removal again" 0 -e clocksmith_state=absent
play "with a bundle" any "${package[@]}" -e clocksmith_bundles=/test/bundles
"$1" why --bundle "$dir/system/test/bundles/localhost.tar.gz" >"$dir/said" || [ $? -eq 3 ] || fail "the bundle cannot be read"
if (play "quotes in options" any "${package[@]}" -e "clocksmith_watch_options='\"'" >/dev/null 2>&1); then
    fail "options with quotes are taken"
fi

#!/bin/bash
# Runs inside of a new Debian system, which test-packages.sh makes and throws away: each package is installed,
# used and removed, and afterwards the system is compared with what it was.
#
#   test-in-root.sh VERSION        packages, programs and a kernel log are in /packages
set -euo pipefail
version=$1
soname=libclocksmith${version%%.*}
work=$(mktemp -d)
# Shells write into the home of whoever calls them.
export HOME=$work/home
mkdir "$HOME"

fail() {
    echo "packages, in the new system: $1" >&2
    exit 1
}

# grep that reads all: with -q the writer would die of a closed pipe.
has() {
    grep "$@" >/dev/null
}

# All files with their kind, mode, owner and, for files, size; but not what belongs to dpkg, rpm, and caches.
snapshot() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /packages -o -path "$work" \
        -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \) -prune -o \
        \( -type f ! -path /etc/ld.so.cache -printf '%p %y %m %U %G %s\n' \) -o \
        \( ! -type f -printf '%p %y %m %U %G %l\n' \) | sort
}

begin() {
    echo "-- $1"
    snapshot >"$work/before"
}

gone() {
    # gone WHAT [rpm]: everything is as it was
    snapshot >"$work/after"
    if [ "${2-}" = rpm ]; then
        # Directories that many packages share belong to packages that rpm knows nothing of here.
        sed -i -E '/^[^ ]*\/(licenses|vendor_completions.d|site-functions|lib64|pkgconfig|cmake) d /d' "$work/before" "$work/after"
    fi
    diff "$work/before" "$work/after" || fail "$1 leaves something behind, or takes something with it (above)"
}

# A program that is there works: the version, a log, this machine, its watch.
use() {
    local program=$1 status=0
    [ "$("$program" --version)" = "clocksmith $version" ] || fail "$program --version: $("$program" --version)"
    status=0
    # Exit code 3: the excerpt ends before the kernel chooses a clocksource.
    "$program" why --log /packages/log >"$work/why" || status=$?
    [ "$status" -eq 3 ] || fail "why --log: exit code $status"
    grep -q arm64 "$work/why" || fail "why --log: $(cat "$work/why")"
    "$program" why --no-measure >"$work/why" || status=$?
    [ "$status" -ne 2 ] || fail "why: $(cat "$work/why")"
    grep -qF "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" "$work/why" ||
        fail "why does not name the clocksource: $(cat "$work/why")"
    "$program" watch --once | has '^clocksmith_' || fail "watch --once prints no metrics"
}

# Pages have no warnings, by the two programs that read them.
pages() {
    local page said
    [ "$(find "$@" -name 'clocksmith*.1.gz' | wc -l)" -ge 15 ] || fail "pages are missing in $*"
    for page in $(find "$@" -name 'clocksmith*.1.gz'); do
        said=$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l "$page" 2>&1 >"$work/page")
        [ -z "$said" ] || fail "man has something to say of $page: $said"
        # No date is on purpose: the same source gives the same page. A superfluous line break is the
        # generator's.
        said=$(gunzip -c "$page" | mandoc -T lint -W warning | grep -vE "missing date|macro: br (before|after) sp" || true)
        [ -z "$said" ] || fail "mandoc has something to say of $page: $said"
        for heading in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" "SEE ALSO"; do
            grep -q "^$heading" "$work/page" || fail "$page has no section $heading"
        done
    done
}

# Shells take what they are given, and complete by it.
completions() {
    bash -n "$1" && zsh -n "$2" && fish -n "$3" || fail "a shell does not take its completions"
    bash -c '. "$1"; COMP_WORDS=(clocksmith wh); COMP_CWORD=1
        _clocksmith clocksmith wh clocksmith; echo "${COMPREPLY[*]}"' - "$1" | has "why who" ||
        fail "bash completes nothing"
}

begin "clocksmith.deb"
dpkg -i "/packages/clocksmith_${version}_amd64.deb" >"$work/said" 2>&1 || fail "dpkg -i: $(cat "$work/said")"
[ "$(command -v clocksmith)" = /usr/bin/clocksmith ] || fail "clocksmith is not in the path"
dpkg --verify clocksmith
use clocksmith
man -w clocksmith clocksmith-why clocksmith-vm-lint >/dev/null || fail "man does not find the pages"
pages /usr/share/man/man1
completions /usr/share/bash-completion/completions/clocksmith /usr/share/zsh/vendor-completions/_clocksmith \
    /usr/share/fish/vendor_completions.d/clocksmith.fish
# As the shells find them by themselves.
bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader clocksmith; complete -p clocksmith' |
    has _clocksmith || fail "bash-completion does not find it"
[ "$(zsh -fc 'autoload -U compinit; compinit -u -D; print $_comps[clocksmith]')" = _clocksmith ] ||
    fail "zsh does not find it"
fish -c 'complete -C "clocksmith wh"' | has '^why' || fail "fish does not find it"
said=$(systemd-analyze verify clocksmith-watch.service 2>&1 | grep -i clocksmith || true)
[ -z "$said" ] || fail "systemd-analyze has something to say of the unit: $said"
[ "$(systemctl is-enabled clocksmith-watch)" = disabled ] || fail "the service is enabled by the installation"
clocksmith run --via preload --source coarse -- cat /proc/self/maps | has /usr/lib/clocksmith/libclocksmith_preload.so ||
    fail "run does not find its library"
for file in copyright README.md CHANGELOG.md.gz third-party-licences.txt clocksmith.cdx.json; do
    [ -s "/usr/share/doc/clocksmith/$file" ] || fail "no $file in /usr/share/doc/clocksmith"
done
for file in prometheus/clocksmith.rules.yml grafana/clocksmith.json sos/clocksmith.py helm/clocksmith/Chart.yaml \
    ansible/roles/clocksmith/tasks/main.yml; do
    [ -s "/usr/share/clocksmith/$file" ] || fail "no $file in /usr/share/clocksmith"
done
# Again, as an update; then with a watch that is enabled, results that are kept, and nothing in force.
dpkg -i "/packages/clocksmith_${version}_amd64.deb" >"$work/said" 2>&1 || fail "dpkg -i again: $(cat "$work/said")"
systemctl --quiet enable clocksmith-watch 2>/dev/null
[ -L /etc/systemd/system/multi-user.target.wants/clocksmith-watch.service ] || fail "the service cannot be enabled"
mkdir -p /var/lib/clocksmith/journal /var/lib/private/clocksmith/watch
ln -s ../private/clocksmith/watch /var/lib/clocksmith/watch
touch /var/lib/clocksmith/verify.json /var/lib/clocksmith/journal/lock /var/lib/private/clocksmith/watch/history.jsonl
dpkg -r clocksmith >"$work/said" 2>&1 || fail "dpkg -r: $(cat "$work/said")"
! grep -q "^clocksmith:" "$work/said" || fail "a removal speaks of changes that are not there: $(cat "$work/said")"
[ ! -e /usr/bin/clocksmith ] || fail "the program is still there"
[ ! -L /etc/systemd/system/multi-user.target.wants/clocksmith-watch.service ] || fail "a removed service is enabled"
[ -e /var/lib/clocksmith/verify.json ] || fail "a removal takes what only a purge takes"
dpkg -P clocksmith >"$work/said" 2>&1 || fail "dpkg -P: $(cat "$work/said")"
gone "the package clocksmith"

# Enabled before an update, and so after it, with what the older version has kept.
updated() {
    [ "$(clocksmith --version)" = "clocksmith $version" ] || fail "the update installs $(clocksmith --version)"
    [ ! -e /usr/share/clocksmith/of-the-old-version ] || fail "a file of the older version is still there"
    [ -L /etc/systemd/system/multi-user.target.wants/clocksmith-watch.service ] || fail "the update disables the service"
    [ -e /var/lib/clocksmith/verify.json ] || fail "the update takes the result of verify"
}
older() {
    [ -e /usr/share/clocksmith/of-the-old-version ] || fail "the older version is not there"
    systemctl --quiet enable clocksmith-watch 2>/dev/null
    mkdir -p /var/lib/clocksmith
    touch /var/lib/clocksmith/verify.json
}
begin "clocksmith.deb, over an older version"
dpkg -i /packages/old/clocksmith_0.0.1_amd64.deb >"$work/said" 2>&1 || fail "dpkg -i: $(cat "$work/said")"
older
dpkg -i "/packages/clocksmith_${version}_amd64.deb" >"$work/said" 2>&1 || fail "dpkg -i, an update: $(cat "$work/said")"
updated
dpkg -P clocksmith >"$work/said" 2>&1 || fail "dpkg -P: $(cat "$work/said")"
gone "the package clocksmith"

begin "clocksmith.deb, with a change of fix in force"
unit=/etc/systemd/system/clocksmith-clocksource.service
dpkg -i "/packages/clocksmith_${version}_amd64.deb" >"$work/said" 2>&1 || fail "dpkg -i: $(cat "$work/said")"
mkdir -p /var/lib/clocksmith/journal
echo '{}' >/var/lib/clocksmith/journal/1.1.json
echo '# chooses a clocksource' >"$unit"
touch /var/lib/clocksmith/verify.json
dpkg -P clocksmith >"$work/said" 2>&1 || fail "dpkg -P: $(cat "$work/said")"
grep -q "clocksmith fix --undo --all" "$work/said" || fail "a removal does not say what is in force: $(cat "$work/said")"
grep -q "journal is kept" "$work/said" || fail "a purge does not say what it keeps: $(cat "$work/said")"
if ! [ -e /var/lib/clocksmith/journal/1.1.json ] || ! [ -e "$unit" ]; then fail "a purge takes what fix has made"; fi
[ ! -e /var/lib/clocksmith/verify.json ] || fail "a purge leaves the result of verify"
rm -r /var/lib/clocksmith "$unit"
gone "the package clocksmith"

if [ -e "/packages/clocksmith-fleet_${version}_amd64.deb" ]; then
    begin "clocksmith-fleet.deb"
    dpkg -i "/packages/clocksmith_${version}_amd64.deb" "/packages/clocksmith-fleet_${version}_amd64.deb" \
        >"$work/said" 2>&1 || fail "dpkg -i: $(cat "$work/said")"
    clocksmith collect --output "$work/this.tar.gz" -q >/dev/null
    clocksmith fleet "$work/this.tar.gz" --sql "SELECT count(*) AS hosts FROM hosts" --csv | grep -qx 1 ||
        fail "fleet does not count this machine"
    dpkg -P clocksmith-fleet clocksmith >/dev/null 2>&1
    gone "the package clocksmith-fleet"
fi

begin "the C library's .deb"
dpkg -i "/packages/${soname}_${version}_amd64.deb" "/packages/libclocksmith-dev_${version}_amd64.deb" >"$work/said" 2>&1 ||
    fail "dpkg -i: $(cat "$work/said")"
dpkg --verify "$soname" libclocksmith-dev
cd "$work"
[ "$(pkg-config --modversion clocksmith)" = "$version" ] || fail "pkg-config says $(pkg-config --modversion clocksmith)"
# shellcheck disable=SC2046 # words on purpose
cc -O2 -pthread /packages/clocks.c -o shared $(pkg-config --cflags --libs clocksmith)
# shellcheck disable=SC2046
cc -O2 -pthread -static /packages/clocks.c -o static $(pkg-config --static --cflags --libs clocksmith)
# shellcheck disable=SC2046
c++ -O2 -std=c++17 -pthread /packages/chrono.cpp -o chrono $(pkg-config --cflags --libs clocksmith)
./shared >/dev/null && ./static >/dev/null && ./chrono >/dev/null || fail "a program with the library fails"
ldd shared | has "libclocksmith.so.${version%%.*} => /lib" || fail "the shared library is not the one that is used"
dpkg -P libclocksmith-dev >/dev/null 2>&1
# A program goes on with the library alone.
./shared >/dev/null || fail "the library needs its development package"
dpkg -P "$soname" >/dev/null 2>&1
! ./shared >/dev/null 2>&1 || fail "the library is still there"
cd /
gone "the C library"

# rpm's own database; the packages that Debian has are not in it, so nothing can be required.
rpms=(rpm --define "_dbpath $work/rpmdb" --force-debian)
mkdir "$work/rpmdb"
begin "clocksmith.rpm"
"${rpms[@]}" -i --nodeps "/packages/clocksmith-$version-1.x86_64.rpm" || fail "rpm -i"
"${rpms[@]}" -V --nodeps clocksmith || fail "rpm -V"
use clocksmith
man -w clocksmith clocksmith-why >/dev/null || fail "man does not find the pages"
systemctl --quiet enable clocksmith-watch 2>/dev/null
mkdir -p /var/lib/clocksmith/journal
echo '{}' >/var/lib/clocksmith/journal/1.1.json
"${rpms[@]}" -e --nodeps clocksmith >"$work/said" 2>&1 || fail "rpm -e: $(cat "$work/said")"
grep -q "clocksmith fix --undo --all" "$work/said" || fail "a removal does not say what is in force: $(cat "$work/said")"
[ -e /var/lib/clocksmith/journal/1.1.json ] || fail "a removal takes the journal"
rm -r /var/lib/clocksmith
gone "the package clocksmith" rpm

begin "clocksmith.rpm, over an older version"
"${rpms[@]}" -i --nodeps /packages/old/clocksmith-0.0.1-1.x86_64.rpm || fail "rpm -i"
older
"${rpms[@]}" -U --nodeps "/packages/clocksmith-$version-1.x86_64.rpm" || fail "rpm -U"
updated
"${rpms[@]}" -e --nodeps clocksmith >"$work/said" 2>&1 || fail "rpm -e: $(cat "$work/said")"
rm -r /var/lib/clocksmith
gone "the package clocksmith" rpm

begin "the C library's .rpm"
"${rpms[@]}" -i --nodeps "/packages/libclocksmith-$version-1.x86_64.rpm" "/packages/libclocksmith-devel-$version-1.x86_64.rpm" ||
    fail "rpm -i"
export PKG_CONFIG_PATH=/usr/lib64/pkgconfig
# shellcheck disable=SC2046
cc -O2 -pthread /packages/clocks.c -o "$work/shared" $(pkg-config --cflags --libs clocksmith)
LD_LIBRARY_PATH=/usr/lib64 "$work/shared" >/dev/null || fail "a program with the library fails"
unset PKG_CONFIG_PATH
"${rpms[@]}" -e --nodeps libclocksmith-devel libclocksmith || fail "rpm -e"
gone "the C library" rpm

begin "the wheel"
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-index --disable-pip-version-check /packages/clocksmith-*manylinux*.whl
(cd "$work" && env/bin/python -c '
import clocksmith, time
a, b, c = time.monotonic_ns(), clocksmith.monotonic_ns(), time.monotonic_ns()
assert a <= b <= c, (a, b, c)')
"$work/env/bin/pip" uninstall --quiet --yes clocksmith
! "$work/env/bin/python" -c 'import clocksmith' 2>/dev/null || fail "the wheel's module is still there"
[ -z "$(find "$work/env" -iname '*clocksmith*')" ] || fail "the wheel leaves something"
rm -r "$work/env"
gone "the wheel"

begin "the archive"
tar -C "$work" -xf "/packages/clocksmith-$version-x86_64-linux.tar.gz"
tree=$work/clocksmith-$version-x86_64-linux
use "$tree/clocksmith"
pages "$tree/man"
completions "$tree/completions/clocksmith.bash" "$tree/completions/_clocksmith" "$tree/completions/clocksmith.fish"
"$tree/clocksmith" run --via preload --source coarse -- cat /proc/self/maps | has "$tree/libclocksmith_preload.so" ||
    fail "run does not find its library"
[ -s "$tree/LICENSE-MIT" ] || fail "no licence"
rm -r "$tree"
gone "the archive"
rm -rf "$work"

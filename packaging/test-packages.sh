#!/usr/bin/env bash
# Builds all packages, and installs, runs and removes each in a new Debian system without a network.
#
#   packaging/test-packages.sh
#
# The system is made once by packaging/debian-root.sh, and unpacked anew each time. That needs root: as another user it
# uses `sudo -n` when STRICT is set, as continuous integration does. Exits with 1 when something is wrong, with 77
# when a tool is missing, with 75 when the network is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cd "$root"
export LC_ALL=C
release=bookworm
# What users of the packages have, and what their files are checked with.
wanted=(bash-completion fish g++ libc6-dev man-db mandoc pkg-config python3-venv rpm systemd zsh)

strict() {
    # As ./test.sh reads it.
    case ${STRICT-} in '' | 0 | [Nn][Oo] | [Oo][Ff][Ff] | [Ff][Aa][Ll][Ss][Ee]) return 1 ;; esac
}

missing() {
    echo "packages: $1" >&2
    exit "${2:-77}"
}

fail() {
    echo "packages: $1" >&2
    exit 1
}

for tool in mmdebstrap:mmdebstrap rpmbuild:rpm rpm2cpio:rpm2cpio cpio:cpio dpkg-deb:dpkg strings:binutils \
    umoci:umoci skopeo:skopeo lintian:lintian rpmlint:rpmlint aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static unshare:util-linux; do
    command -v "${tool%:*}" >/dev/null || missing "no ${tool%:*}: apt-get install ${tool#*:}"
done
# Not every compiler is rustup's.
for target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl; do
    [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ] || missing "no $target: rustup target add $target"
done
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if strict && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
    else
        missing "only root can make a system to install packages in: sudo packaging/test-packages.sh"
    fi
fi

dir=$(mktemp -d)
trap '"${as_root[@]}" rm -rf --one-file-system "$dir"' EXIT
begun=$SECONDS
lap() {
    echo "-- $1: $((SECONDS - begun)) s"
    begun=$SECONDS
}

# The system to install in. Its last line says what is missing.
system=$("$here/debian-root.sh" "$release" "${wanted[@]}") || exit
lap "a Debian system is there"

# Everything that is given to users, and that once more from the same compiled files, elsewhere and by other
# settings: the bytes must be the same.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
packaging/build.sh --out "$dir/dist"
lap "built"
(
    umask 077
    TZ=Asia/Tokyo TMPDIR=$dir packaging/build.sh --out "$dir/again" sbom image packages >/dev/null
)
diff -r "$dir/dist" "$dir/again" || fail "packed twice, and not the same: what differs is named above"
lap "packed again, the same"

# What distributions ask of packages; what is on purpose is in packaging/deb/*.lintian-overrides and
# packaging/rpm/rpmlint.toml. The two machines' packages differ in the programs alone.
dist=$dir/dist
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
lintian --no-cfg --allow-root --fail-on error,warning "$dist"/*_amd64.deb >"$dir/said" 2>&1 ||
    fail "lintian: $(cat "$dir/said")"
rpmlint -c packaging/rpm/rpmlint.toml "$dist"/*.rpm >"$dir/said" 2>&1 || fail "rpmlint: $(cat "$dir/said")"
grep -q ' 0 errors, 0 warnings' "$dir/said" || fail "rpmlint: $(cat "$dir/said")"
lap "lintian and rpmlint have nothing to say"

# Nothing of this machine in them, and the static programs need nothing of another one.
mkdir "$dir/open"
for file in "$dist"/*.deb; do dpkg-deb -x "$file" "$dir/open/$(basename "$file")"; done
for file in "$dist"/*.rpm; do
    mkdir "$dir/open/$(basename "$file")"
    rpm2cpio "$file" | (cd "$dir/open/$(basename "$file")" && cpio --quiet -id)
done
for file in "$dist"/*.tar.gz; do tar -C "$dir/open" -xf "$file"; done
for file in "$dist"/*.whl; do python3 -m zipfile -e "$file" "$dir/open/$(basename "$file")"; done
for file in "$dist"/*-image.tar; do
    name=$(basename "$file" .tar)
    skopeo copy --quiet --insecure-policy "docker-archive:$file" "oci:$dir/layout:$name"
    umoci unpack --rootless --image "$dir/layout:$name" "$dir/open/$name" >"$dir/said" 2>&1 || fail "$file: $(cat "$dir/said")"
    # Made by umoci beside the files of the image, with the path where it has put them.
    rm -f "$dir/open/$name"/*.mtree "$dir/open/$name/umoci.json"
    [ -s "$dir/open/$name/rootfs/usr/share/doc/clocksmith/clocksmith.cdx.json" ] || fail "$file has no bill of materials"
done
target=${CARGO_TARGET_DIR:-$root/target}
for path in "$root/" "$target/" "${CARGO_HOME:-$HOME/.cargo}/" "$(rustc --print sysroot)/" "$dir" "$HOME/"; do
    # Of a root's home only what is more than a common word.
    case $path in / | /root/) continue ;; esac
    if grep -raqF "$path" "$dir/open"; then
        grep -ralF "$path" "$dir/open" >&2 || true
        fail "these hold a path of this machine, $path"
    fi
done
programs=0
while read -r program; do
    programs=$((programs + 1))
    if readelf -ldW "$program" | grep -E "INTERP|NEEDED"; then
        fail "$program is not static"
    fi
    case $program in
    *aarch64* | *arm64*) said=$(qemu-aarch64-static "$program" --version) ;;
    *) said=$("$program" --version) ;;
    esac
    [ "$said" = "clocksmith $version" ] || fail "$program calls itself $said"
done < <(find "$dir/open" -type f -name clocksmith -perm -u+x)
[ "$programs" -eq 8 ] || fail "$programs programs in archives, packages and images, not 8"
log=crates/kernel/tests/fixtures/boots/linux-6.1-arm64/root/dmesg
# Exit code 3: the excerpt ends before the kernel's choice.
said() {
    local status=0
    "$@" why --log "$log" || status=$?
    [ "$status" -eq 3 ] || fail "why --log in $* ended with $status"
}
said qemu-aarch64-static "$dir/open/clocksmith-$version-aarch64-linux/clocksmith" >"$dir/why"
said "$dir/open/clocksmith-$version-x86_64-linux/clocksmith" >"$dir/why-x86"
grep -q arm64 "$dir/why" || fail "why --log says something else on aarch64: $(cat "$dir/why")"
diff "$dir/why-x86" "$dir/why" || fail "why --log says something else on aarch64 than on x86-64"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
lap "looked into"

# The same packages as an older version, with a file that the present one does not have.
mkdir -p "$dist/old" "$dir/older"
dpkg-deb -R "$dist/clocksmith_${version}_amd64.deb" "$dir/older/deb"
sed -i 's/^Version: .*/Version: 0.0.1/' "$dir/older/deb/DEBIAN/control"
touch "$dir/older/deb/usr/share/clocksmith/of-the-old-version"
dpkg-deb --root-owner-group --build "$dir/older/deb" "$dist/old/clocksmith_0.0.1_amd64.deb" >/dev/null
cp -a "$dir/open/clocksmith-$version-1.x86_64.rpm" "$dir/older/rpm"
touch "$dir/older/rpm/usr/share/clocksmith/of-the-old-version"
rpmbuild --quiet -bb --target x86_64-linux --define "_topdir $dir/older/build" --define "_rpmdir $dist/old" \
    --define "version_ 0.0.1" --define "date_ Thu Jan 01 2026" --define "tree $dir/older/rpm" \
    --define "debug_package %{nil}" --define "__os_install_post %{nil}" --define "_build_id_links none" \
    --define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" packaging/rpm/clocksmith.spec \
    >"$dir/said" 2>&1 || fail "an older package: $(cat "$dir/said")"

# As by `cargo install`, with what is compiled already.
CARGO_TARGET_DIR=$target packaging/build.sh --out "$dir/unused" install "$dir/installed" >"$dir/said" 2>&1 ||
    fail "cargo install: $(tail -n 5 "$dir/said")"
[ "$("$dir/installed/bin/clocksmith" --version)" = "clocksmith $version" ] || fail "cargo install: no such program"
cargo uninstall --quiet --root "$dir/installed" clocksmith-cli
[ -z "$(find "$dir/installed" -type f ! -name '.crates*')" ] || fail "cargo uninstall leaves something"
lap "cargo install"

# In the new system, which has no network.
mkdir "$dir/system"
"${as_root[@]}" tar -C "$dir/system" --numeric-owner --exclude=./dev -xf "$system"
"${as_root[@]}" mkdir "$dir/system/packages" "$dir/system/dev"
"${as_root[@]}" cp -r "$dist/." "$here/test-in-root.sh" crates/clock-c/tests/programs/clocks.c \
    crates/clock-c/tests/programs/chrono.cpp "$dir/system/packages/"
"${as_root[@]}" cp "$log" "$dir/system/packages/log"
lap "unpacked a new system"
"${as_root[@]}" unshare --mount --net --pid --ipc --uts --fork --kill-child -- bash -euc '
    mount --make-rprivate /
    mount -t proc proc "$0/proc"
    mount --rbind /sys "$0/sys"
    mount --rbind /dev "$0/dev"
    mount -t tmpfs tmpfs "$0/run"
    exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
        bash /packages/test-in-root.sh "$1"' "$dir/system" "$version"
lap "installed, run and removed in it"

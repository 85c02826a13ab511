#!/usr/bin/env bash
# Archives and packages of what build.sh has compiled; build.sh calls this. Nothing is compiled here, and the
# same compiled files give the same packages, byte for byte.
#
#   out=DIR built=DIR version=VERSION SOURCE_DATE_EPOCH=TIME packaging/pack.sh
#
# dpkg-deb and rpmbuild themselves, both from Debian: no packager has to be compiled or fetched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
: "${out:?}" "${built:?}" "${version:?}" "${SOURCE_DATE_EPOCH:?}"
umask 022
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "pack.sh: $1" >&2
    exit "${2:-1}"
}

for tool in dpkg-deb:dpkg rpmbuild:rpm objdump:binutils tar:tar; do
    command -v "${tool%:*}" >/dev/null || fail "no ${tool%:*}: apt-get install ${tool#*:}" 77
done
for file in x86_64/clocksmith aarch64/clocksmith x86_64/libclocksmith_preload.so c/usr/include/clocksmith.h \
    sbom/clocksmith.cdx.json; do
    [ -e "$built/$file" ] || fail "$built/$file is not there: packaging/build.sh makes it"
done

# Every file gets the same time, and the mode that it was installed with.
settle() {
    find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

archive() {
    # archive DIRECTORY NAME
    settle "$1/$2"
    tar -C "$1" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -cf - "$2" | gzip -9n >"$out/$2.tar.gz"
}

# What the command line's definition gives; the program of this machine's own kind says it for all.
definition() {
    local own=$built/x86_64/clocksmith page
    mkdir -p "$work/man" "$work/complete"
    "$own" man --out "$work/man"
    for page in "$work"/man/*.1; do gzip -9n "$page"; done
    "$own" completions bash >"$work/complete/clocksmith.bash"
    "$own" completions zsh >"$work/complete/_clocksmith"
    "$own" completions fish >"$work/complete/clocksmith.fish"
}

documents() {
    # documents DIRECTORY: what every form of the program has
    install -d "$1"
    install -m 644 "$root/README.md" "$root/CHANGELOG.md" "$root"/docs/{fleet,library,monitoring,performance,run,who}.md "$1/"
    install -m 644 "$built/sbom/clocksmith.cdx.json" "$built/sbom/third-party-licences.txt" "$1/"
}

# What other programs take to deploy and to monitor, below DIRECTORY.
shared() {
    local part file
    install -D -m 644 "$here/prometheus/clocksmith.rules.yml" "$1/prometheus/clocksmith.rules.yml"
    install -D -m 644 "$here/grafana/clocksmith.json" "$1/grafana/clocksmith.json"
    install -D -m 644 "$here/sos/clocksmith.py" "$1/sos/clocksmith.py"
    for part in helm/clocksmith ansible/roles/clocksmith; do
        while read -r file; do
            install -D -m 644 "$here/$part/$file" "$1/$part/$file"
        done < <(cd "$here/$part" && find . -type f -printf '%P\n')
    done
}

# The tree of the program's package, below DIRECTORY.
program_tree() {
    # program_tree MACHINE DIRECTORY
    local d=$2
    install -D -m 755 "$built/$1/clocksmith" "$d/usr/bin/clocksmith"
    install -d "$d/usr/share/man/man1"
    install -m 644 "$work"/man/*.1.gz "$d/usr/share/man/man1/"
    install -D -m 644 "$work/complete/clocksmith.bash" "$d/usr/share/bash-completion/completions/clocksmith"
    install -D -m 644 "$work/complete/_clocksmith" "$d/usr/share/zsh/$3/_clocksmith"
    install -D -m 644 "$work/complete/clocksmith.fish" "$d/usr/share/fish/vendor_completions.d/clocksmith.fish"
    install -D -m 644 "$here/systemd/clocksmith-watch.service" "$d/usr/lib/systemd/system/clocksmith-watch.service"
    shared "$d/usr/share/clocksmith"
    install -D -t "$d/usr/share/clocksmith/fleet" -m 644 "$here"/fleet/*.yml "$here"/fleet/*.yaml
    install -m 755 "$here"/fleet/*.sh "$d/usr/share/clocksmith/fleet/"
    if [ -e "$built/$1/libclocksmith_preload.so" ]; then
        install -D -m 644 "$built/$1/libclocksmith_preload.so" "$d/usr/lib/clocksmith/libclocksmith_preload.so"
    fi
    documents "$d/usr/share/doc/clocksmith"
}

# The packages that a shared library needs: the oldest C library that has all its functions, and the
# compiler's.
needs() {
    echo "libc6 (>= $(objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -n 1)), libgcc-s1"
}

debian_changelog() {
    printf 'clocksmith (%s) unstable; urgency=medium\n\n  * The changes are in the file CHANGELOG.md of the project.\n\n' "$version"
    printf ' -- The clocksmith developers <clocksmith@localhost>  %s\n' "$(date -R -d "@$SOURCE_DATE_EPOCH")"
}

deb() {
    # deb PACKAGE ARCHITECTURE DEPENDS RECOMMENDS: packs $work/deb/PACKAGE_ARCHITECTURE
    local tree=$work/deb/$1_$2 script size
    install -D -m 644 "$here/deb/copyright" "$tree/usr/share/doc/$1/copyright"
    debian_changelog | gzip -9n >"$tree/usr/share/doc/$1/changelog.gz"
    if [ -e "$here/deb/$1.lintian-overrides" ]; then
        install -D -m 644 "$here/deb/$1.lintian-overrides" "$tree/usr/share/lintian/overrides/$1"
    fi
    mkdir -p "$tree/DEBIAN"
    size=$(find "$tree" -path "$tree/DEBIAN" -prune -o -type f -printf '%s\n' |
        awk '{ kib += int(($1 + 1023) / 1024) } END { print kib + 0 }')
    sed -e "s/@version@/$version/" -e "s/@architecture@/$2/" -e "s/@depends@/$3/" \
        -e "s/@recommends@/${4-}/" -e "s/@size@/$size/" "$here/deb/$1.control" | sed -E '/^[A-Z][a-z]+: *$/d' >"$tree/DEBIAN/control"
    for script in preinst postinst prerm postrm; do
        if [ -e "$here/deb/$1.$script" ]; then install -m 755 "$here/deb/$1.$script" "$tree/DEBIAN/$script"; fi
    done
    for script in shlibs triggers; do
        if [ -e "$here/deb/$1.$script" ]; then install -m 644 "$here/deb/$1.$script" "$tree/DEBIAN/$script"; fi
    done
    (cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) \
        >"$tree/DEBIAN/md5sums"
    settle "$tree"
    # One thread: how many there are shows in what xz writes.
    dpkg-deb --root-owner-group --uniform-compression -Zxz --threads-max=1 --build "$tree" \
        "$out/$1_${version}_$2.deb" >/dev/null
}

rpm_of() {
    # rpm_of SPEC MACHINE: packs $work/rpm/SPEC-MACHINE
    rpmbuild --quiet -bb --target "$2-linux" --noclean \
        --define "_topdir $work/rpmbuild" --define "_rpmdir $work/rpms" --define "version_ $version" \
        --define "date_ $(date -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')" --define "tree $work/rpm/$1-$2" --define "packaging $here" \
        --define "source_date_epoch_from_changelog 0" --define "use_source_date_epoch_as_buildtime 1" \
        --define "clamp_mtime_to_source_date_epoch 1" --define "_buildhost localhost" \
        --define "_build_id_links none" --define "debug_package %{nil}" --define "__os_install_post %{nil}" \
        --define "_binary_payload w9.gzdio" --define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" \
        "$here/rpm/$1.spec" >"$work/said" 2>&1 || {
        cat "$work/said" >&2
        fail "rpmbuild could not pack $1 for $2"
    }
}

definition
machine=
for machine in x86_64:amd64 aarch64:arm64; do
    arch=${machine#*:} machine=${machine%:*}

    name=clocksmith-$version-$machine-linux
    install -d "$work/tar/$name"/{man/man1,completions,systemd}
    install -m 755 "$built/$machine/clocksmith" "$work/tar/$name/"
    install -m 644 "$work"/man/*.1.gz "$work/tar/$name/man/man1/"
    install -m 644 "$work"/complete/* "$work/tar/$name/completions/"
    install -m 644 "$here"/systemd/*.service "$work/tar/$name/systemd/"
    shared "$work/tar/$name"
    install -m 644 "$root"/LICENSE-MIT "$root"/LICENSE-APACHE "$work/tar/$name/"
    documents "$work/tar/$name"
    # Where `run --via preload` looks for it: beside the program.
    if [ -e "$built/$machine/libclocksmith_preload.so" ]; then
        install -m 644 "$built/$machine/libclocksmith_preload.so" "$work/tar/$name/"
    fi
    archive "$work/tar" "$name"

    program_tree "$machine" "$work/deb/clocksmith_$arch" vendor-completions
    gzip -9n "$work/deb/clocksmith_$arch/usr/share/doc/clocksmith/CHANGELOG.md"
    # The program needs nothing; its library for other programs may be without what it needs.
    recommends=
    if [ -e "$built/$machine/libclocksmith_preload.so" ]; then
        recommends=$(needs "$built/$machine/libclocksmith_preload.so")
    fi
    deb clocksmith "$arch" "" "$recommends"

    program_tree "$machine" "$work/rpm/clocksmith-$machine" site-functions
    install -D -m 644 -t "$work/rpm/clocksmith-$machine/usr/share/licenses/clocksmith" \
        "$root/LICENSE-MIT" "$root/LICENSE-APACHE"
    settle "$work/rpm/clocksmith-$machine"
    rpm_of clocksmith "$machine"
done

# The engine of `fleet`, where it was compiled: for the machine that reads the reports of the others.
if [ -e "$built/x86_64/clocksmith-fleet" ]; then
    fleet_tree() {
        install -D -m 755 -t "$1/usr/bin" "$built/x86_64/clocksmith-fleet"
        install -D -m 644 -t "$1/usr/share/doc/clocksmith-fleet" "$root/docs/fleet.md"
    }
    fleet_tree "$work/deb/clocksmith-fleet_amd64"
    deb clocksmith-fleet amd64 "$(needs "$built/x86_64/clocksmith-fleet"), clocksmith (= $version)"
    fleet_tree "$work/rpm/clocksmith-fleet-x86_64"
    install -D -m 644 -t "$work/rpm/clocksmith-fleet-x86_64/usr/share/licenses/clocksmith-fleet" \
        "$root/LICENSE-MIT" "$root/LICENSE-APACHE"
    settle "$work/rpm/clocksmith-fleet-x86_64"
    rpm_of clocksmith-fleet x86_64
fi

# The C library: what programs need at run time, and what building them needs.
c_tree() {
    # c_tree LIBDIR RUNTIME-DIRECTORY DEVELOPMENT-DIRECTORY
    local from=$built/c/usr/lib/MULTIARCH
    mkdir -p "$2$1" "$3$1/pkgconfig" "$3/usr/include"
    cp -P "$from"/libclocksmith.so.* "$2$1/"
    chmod 644 "$2$1/libclocksmith.so.$version"
    cp -P "$from/libclocksmith.so" "$3$1/"
    install -m 644 "$from/libclocksmith.a" "$3$1/"
    sed "s|^libdir=.*|libdir=$1|" "$from/pkgconfig/clocksmith.pc" >"$3$1/pkgconfig/clocksmith.pc"
    install -D -m 644 -t "$3$1/cmake/clocksmith" "$from"/cmake/clocksmith/*
    # CMake finds the headers from the libraries' directory, which is another one here.
    sed -i "s|_lib}/[./]*/include|_lib}/$(realpath -m --relative-to="$1" /usr/include)|" "$3$1/cmake/clocksmith/clocksmith-config.cmake"
    install -m 644 "$built"/c/usr/include/* "$3/usr/include/"
}
soname=libclocksmith${version%%.*}
c_tree /usr/lib/x86_64-linux-gnu "$work/deb/${soname}_amd64" "$work/deb/libclocksmith-dev_amd64"
install -D -m 644 "$built/sbom/clocksmith-c.cdx.json" "$work/deb/${soname}_amd64/usr/share/doc/$soname/clocksmith-c.cdx.json"
deb "$soname" amd64 "$(needs "$built/c/usr/lib/MULTIARCH/libclocksmith.so.$version")"
deb libclocksmith-dev amd64 "$soname (= $version)"
c_tree /usr/lib64 "$work/rpm/libclocksmith-x86_64" "$work/rpm/libclocksmith-x86_64"
# As rpm's own scripts want it of a library.
chmod 755 "$work/rpm/libclocksmith-x86_64/usr/lib64/libclocksmith.so.$version"
install -D -m 644 -t "$work/rpm/libclocksmith-x86_64/usr/share/licenses/libclocksmith" \
    "$root/LICENSE-MIT" "$root/LICENSE-APACHE"
install -D -m 644 -t "$work/rpm/libclocksmith-x86_64/usr/share/doc/libclocksmith" "$built/sbom/clocksmith-c.cdx.json"
settle "$work/rpm/libclocksmith-x86_64"
rpm_of libclocksmith x86_64

find "$work/rpms" -name '*.rpm' -exec install -m 644 -t "$out" {} +
if [ -d "$built/wheel" ]; then install -m 644 "$built"/wheel/*.whl "$out/"; fi
for product in clocksmith clocksmith-c clocksmith-python; do
    install -m 644 "$built/sbom/$product.cdx.json" "$out/$product-$version.cdx.json"
done
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum >SHA256SUMS)
echo "packed into $out:"
(cd "$out" && du -b -- * | sort -k 2)

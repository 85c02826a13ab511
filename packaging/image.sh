#!/usr/bin/env bash
# Makes the container image of the program: build.sh calls this. The base is empty, as the program is static.
#
#   out=DIR built=DIR version=VERSION SOURCE_DATE_EPOCH=TIME packaging/image.sh MACHINE...
#
# MACHINE is x86_64 or aarch64. Writes DIR/clocksmith-VERSION-MACHINE-image.tar, which `docker load`, `podman load`,
# `ctr image import` and skopeo read; not compressed, because not all of them read that. umoci and skopeo make it, both from Debian; neither needs root, a daemon or a network.
# The same compiled file gives the same image, byte for byte.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
: "${out:?}" "${built:?}" "${version:?}" "${SOURCE_DATE_EPOCH:?}"
umask 022
export LC_ALL=C TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "image.sh: $1" >&2
    exit "${2:-1}"
}

for tool in umoci skopeo; do
    command -v "$tool" >/dev/null || fail "no $tool: apt-get install $tool" 77
done
[ $# -gt 0 ] || fail "wants x86_64, aarch64 or both" 2
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
# Without git there is no such label.
revision=$(git -C "$root" rev-parse HEAD 2>/dev/null || true)
repository=$(sed -n 's/^repository = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)

for machine in "$@"; do
    case $machine in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) fail "$machine is neither x86_64 nor aarch64" 2 ;;
    esac
    program=$built/$machine/clocksmith bill=$built/sbom/clocksmith.cdx.json
    for file in "$program" "$bill"; do
        [ -e "$file" ] || fail "$file is not there: packaging/build.sh makes it"
    done

    tree=$work/$machine
    install -D -m 755 "$program" "$tree/usr/bin/clocksmith"
    install -D -m 644 -t "$tree/usr/share/doc/clocksmith" "$bill" "$built/sbom/third-party-licences.txt" \
        "$root/LICENSE-MIT" "$root/LICENSE-APACHE"
    # Where the host's are mounted; a read-only container cannot make these.
    mkdir -p "$tree"/{host/proc,host/sys,proc,sys,textfile}
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

    layout=$work/layout-$machine
    umoci init --layout "$layout"
    umoci new --image "$layout:$version"
    # Owned by root in the image, whoever builds it.
    umoci insert --rootless --image "$layout:$version" --history.created "$created" \
        --history.created_by "packaging/image.sh" "$tree" /
    labels=(
        title=clocksmith
        "description=Which clocksource Linux uses, why, and what reading the time costs"
        "version=$version"
        "created=$created"
        "licenses=MIT OR Apache-2.0"
        documentation=/usr/share/doc/clocksmith
    )
    if [ -n "$revision" ]; then labels+=("revision=$revision"); fi
    if [ -n "$repository" ]; then labels+=("source=$repository"); fi
    words=()
    for label in "${labels[@]}"; do words+=(--config.label "org.opencontainers.image.$label"); done
    umoci config --image "$layout:$version" --no-history --created "$created" --os linux \
        --architecture "$architecture" --config.entrypoint /usr/bin/clocksmith --config.cmd why "${words[@]}"
    name=clocksmith-$version-$machine-image
    # The name says that it was not pulled: no registry is meant.
    skopeo copy --quiet --insecure-policy "oci:$layout:$version" \
        "docker-archive:$work/$name.tar:localhost/clocksmith:$version"
    mv "$work/$name.tar" "$out/"
done

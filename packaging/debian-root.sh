#!/usr/bin/env bash
# Makes a small Debian system for tests, once, and prints the path of its archive (tar).
#
#   packaging/debian-root.sh RELEASE PACKAGE...
#
# mmdebstrap makes it, from the mirror that this machine's apt uses (CLOCKSMITH_TESTBED_MIRROR chooses another), in the
# cache directory: CLOCKSMITH_PACKAGE_ROOTS, else $XDG_CACHE_HOME/clocksmith-packages. That needs root: as another user it
# uses `sudo -n` when STRICT is set, as continuous integration does. Exits with 77 when a tool or the right is missing,
# with 75 when the network is; the last line says which.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$0")/offline.sh"

strict() {
    # As ./test.sh reads it.
    case ${STRICT-} in '' | 0 | [Nn][Oo] | [Oo][Ff][Ff] | [Ff][Aa][Ll][Ss][Ee]) return 1 ;; esac
}

missing() {
    echo "debian-root: $1" >&2
    exit "${2:-77}"
}

[ $# -ge 2 ] || missing "wants a release and packages: packaging/debian-root.sh trixie rustc cargo" 2
release=$1
shift
command -v mmdebstrap >/dev/null || missing "no mmdebstrap: apt-get install mmdebstrap"
command -v unshare >/dev/null || missing "no unshare: apt-get install util-linux"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if strict && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
    else
        missing "only root can make a Debian system to test in"
    fi
fi

cache=${CLOCKSMITH_PACKAGE_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/clocksmith-packages}
mkdir -p "$cache"
system=$cache/$release-$(echo "$*" | sha256sum | head -c 12).tar
if ! [ -e "$system" ]; then
    dir=$(mktemp -d)
    trap '"${as_root[@]}" rm -rf --one-file-system "$dir"' EXIT
    mirror=${CLOCKSMITH_TESTBED_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' "Created-By: Packages" \
        2>/dev/null | sed -n 's/^Debian //p' | head -n 1)}
    apt-config dump | grep -E '^Acquire::(https?|Retries|ForceIPv4)' >"$dir/acquire" || true
    fetch "${as_root[@]}" mmdebstrap --mode=root --variant=minbase --aptopt='APT::Install-Recommends "false"' \
        --aptopt="$dir/acquire" --include="$(IFS=,; echo "$*")" \
        "$release" "$dir/system.tar" "${mirror:-http://deb.debian.org/debian}" ||
        missing "mmdebstrap cannot make a Debian system" $?
    mv "$dir/system.tar" "$system"
fi
echo "$system"

#!/usr/bin/env bash
# What deploys the program: the container image, the Helm chart, the Ansible role.
#
#   packaging/test-deploy.sh PROGRAM       the static program (x86-64)
#
# Each part is a script of its own. The image and the role need root: another user's are run by `sudo -n` when STRICT is set, as
# continuous integration does. Exits with 1 when something is wrong; with 77 when a tool is missing, with 75 when
# something cannot be fetched: the other parts are tested then, and the last line says what is missing.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -eq 1 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' test-deploy.sh; exit 2; }
strict() {
    # As ./test.sh reads it.
    case ${STRICT-} in '' | 0 | [Nn][Oo] | [Oo][Ff][Ff] | [Ff][Aa][Ll][Ss][Ee]) return 1 ;; esac
}

# The tools and the kept systems are this user's.
as_root=()
if [ "$(id -u)" -ne 0 ] && strict && sudo -n true 2>/dev/null; then
    cache=${XDG_CACHE_HOME:-${HOME-}/.cache}
    as_root=(sudo -n env "PATH=$PATH" STRICT=1 "PYTHON_TOOLS=${PYTHON_TOOLS:-$cache/clocksmith-python-tools}"
        "CLOCKSMITH_PACKAGE_ROOTS=${CLOCKSMITH_PACKAGE_ROOTS:-$cache/clocksmith-packages}"
        "CLOCKSMITH_TESTBED_MIRROR=${CLOCKSMITH_TESTBED_MIRROR-}" "TMPDIR=${TMPDIR:-/tmp}")
    mkdir -p "$cache/clocksmith-packages"
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
skipped=() code=0
part() {
    # part NAME COMMAND...
    local name=$1 status=0 begun=$SECONDS
    shift
    "$@" 2>&1 | tee "$said" || status=${PIPESTATUS[0]}
    case $status in
    0) echo "-- $name: $((SECONDS - begun)) s" ;;
    75 | 77)
        skipped+=("$(tail -n 1 "$said")")
        # Only the network is missing, or something else, too.
        if [ "$code" -eq 0 ] || [ "$status" -eq 77 ]; then code=$status; fi
        ;;
    *) exit 1 ;;
    esac
}
part image "${as_root[@]}" ./test-image.sh "$1"
part "Ansible role" "${as_root[@]}" ansible/test.sh "$1"
part "Helm chart" helm/test.py
if [ "${#skipped[@]}" -gt 0 ]; then
    printf -v list '%s; ' "${skipped[@]}"
    echo "${list%; }"
fi
exit "$code"

#!/usr/bin/env bash
# What deploys the program: the container image, the Helm chart, the Ansible role.
#
#   packaging/test-deploy.sh PROGRAM       the static program (x86-64)
#
# Each part is a script of its own. Exits with 1 when something is wrong; with 77 when a tool is missing, with 75 when
# something cannot be fetched: the other parts are tested then, and the last line says what is missing.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -eq 1 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' test-deploy.sh; exit 2; }
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
part image ./test-image.sh "$1"
part "Ansible role" ansible/test.sh "$1"
part "Helm chart" helm/test.py
if [ "${#skipped[@]}" -gt 0 ]; then
    printf -v list '%s; ' "${skipped[@]}"
    echo "${list%; }"
fi
exit "$code"

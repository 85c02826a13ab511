#!/usr/bin/env bash
# Checks what a host of the repository reads: workflows by actionlint; forms, dependabot's settings and action.yml by
# their published schemas (check-jsonschema); what no schema knows by packaging/actions.py.
#
#   packaging/actions.sh
#
# Needs no network. Exits with 1 when something is wrong, with 77 when a tool is missing; the last line says which.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() {
    echo "actions: $1" >&2
    exit 77
}

tool() {
    # tool NAME DIRECTORY...: where it is, if not among the commands
    local name=$1 dir
    shift
    command -v "$name" && return
    for dir in "$@"; do
        if [ -n "$dir" ] && [ -x "$dir/$name" ]; then
            echo "$dir/$name"
            return
        fi
    done
}

actionlint=$(tool actionlint "${GOBIN-}" "${GOPATH:-${HOME-}/go}/bin")
schemas=$(tool check-jsonschema "${PYTHON_TOOLS:+$PYTHON_TOOLS/bin}" \
    "${XDG_CACHE_HOME:-${HOME-}/.cache}/clocksmith-python-tools/bin" "${HOME-}/.local/bin")
# Files that an editor locks by a link to nowhere are none.
shopt -s nullglob
flows=() forms=()
for file in .github/workflows/*.y*ml; do if [ -f "$file" ]; then flows+=("$file"); fi; done
for file in .github/ISSUE_TEMPLATE/*.y*ml; do
    if [ -f "$file" ] && [ "${file##*/config.y}" = "$file" ]; then forms+=("$file"); fi
done
wrong=0
if [ -n "$actionlint" ]; then "$actionlint" "${flows[@]}" || wrong=1; fi
if [ -n "$schemas" ]; then
    schema() {
        local said
        if [ "$#" -eq 1 ]; then return; fi
        if ! said=$("$schemas" --builtin-schema "vendor.$1" "${@:2}" 2>&1); then
            echo "$said" >&2
            wrong=1
        fi
    }
    schema dependabot .github/dependabot.yml
    schema github-issue-forms "${forms[@]}"
    schema github-issue-config .github/ISSUE_TEMPLATE/config.y*ml
    schema github-actions action.yml
fi
absent=()
if ! command -v python3 >/dev/null; then
    absent+=("no Python: apt-get install python3 python3-yaml")
elif ! python3 -c 'import yaml' 2>/dev/null; then
    absent+=("no YAML for Python: apt-get install python3-yaml")
else
    packaging/actions.py || wrong=1
fi
[ "$wrong" -eq 0 ] || exit 1
[ -n "$actionlint" ] || absent+=("no actionlint: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12")
[ -n "$schemas" ] || absent+=("no check-jsonschema: pipx install check-jsonschema")
if [ "${#absent[@]}" -gt 0 ]; then
    all=$(printf '%s; ' "${absent[@]}")
    missing "${all}or .ci/run --tools actions"
fi
# Without it actionlint says nothing of the shell code in a workflow.
command -v shellcheck >/dev/null || echo "skipped: shellcheck is not here: the shell code in workflows is not checked"
echo "actions: workflows, forms and dependabot's settings are right"

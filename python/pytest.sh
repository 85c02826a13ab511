#!/usr/bin/env bash
# Runs the tests of the installed module, and prints for each test that skipped itself `skipped: REASON`.
#
#   python/pytest.sh PYTHON     exits with 1 when a test fails, and when the run ends before pytest has counted the tests
set -euo pipefail
cd "$(dirname "$0")"
# Options of the environment could leave out tests.
unset PYTEST_ADDOPTS PYTEST_PLUGINS PYTHONSTARTUP
code=0
said=$("$1" -m pytest -rs 2>&1) || code=$?
printf '%s\n' "$said"
printf '%s\n' "$said" | sed -nE 's/^SKIPPED \[([0-9]+)\] [^ ]+: (.*)$/\1 \2/p' | while read -r times reason; do
    for ((; times > 0; times--)); do echo "skipped: $reason"; done
done
# Any code of the interpreter is one of a failure: 77 and 75 are the scripts' own.
if [ "$code" -ne 0 ] || ! printf '%s\n' "$said" | grep -qE '^(=+ )?([0-9]+ [a-z]+, )*[0-9]+ passed.* in [0-9.]+s'; then
    echo "python: the tests failed (pytest's exit code is $code)" >&2
    exit 1
fi

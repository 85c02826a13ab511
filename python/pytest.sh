#!/usr/bin/env bash
# Runs the tests of the installed module, and prints for each test that skipped itself, or does not count for another reason,
# `skipped: REASON`.
#
#   python/pytest.sh PYTHON [OPTION...]     exits with 1 when a test fails, and when not all tests ran; options are pytest's
set -euo pipefail
cd "$(dirname "$0")"
# Options of the environment could leave out tests, and interpreters that tests start could ignore what they assert.
. ../packaging/environment.sh
code=0
# Settings are in pyproject.toml: pytest prefers a pytest.ini. Colours would hide words.
said=$("$1" -m pytest -c pyproject.toml -p counted --color=no "${@:2}" 2>&1) || code=$?
printf '%s\n' "$said"
fail() {
    echo "python: $1 (pytest's exit code is $code)" >&2
    # Any code of the interpreter is one of a failure: 77 and 75 are the scripts' own.
    exit 1
}
if [ "$code" -ne 0 ] || grep -q '^failed: ' <<<"$said"; then fail "the tests failed"; fi
counted=$(printf '%s\n' "$said" | grep -E '^counted: [0-9]+ of [0-9]+ tests ran, [0-9]+ passed$' | tail -n 1) ||
    fail "the run ended before the tests were counted"
read -r _ ran _ all _ _ passed _ <<<"$counted"
if [ "$ran" -ne "$all" ]; then fail "$ran of $all tests ran"; fi
if [ "$passed" -eq 0 ]; then fail "no test passed"; fi

# To be sourced by scripts in bash that fetch something: whether the network is missing (75), or something else is wrong (1).
# shellcheck shell=bash

# With CDPATH, cd prints.
offline_words=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/offline.txt

# is_offline TEXT: whether the last 40 lines of what a program printed name a missing network, and no other error. For the output of
# a command that fetches alone: what a test, a guest or a scanner prints may have the same words.
is_offline() {
    local last
    last=$(printf '%s\n' "$1" | grep -viF -e "$(sed -n 's/^-//p' "$offline_words")" | tail -n 40) || true
    # grep reads all of it, because a pipe that is closed early is an error here.
    ! printf '%s\n' "$last" | grep -iF -e "$(sed -n 's/^!//p' "$offline_words")" >/dev/null &&
        printf '%s\n' "$last" | grep -iF -e "$(sed '/^[#!-]/d' "$offline_words")" >/dev/null
}

# fetch COMMAND...: runs it, and shows what it printed if it failed. Returns 0; 75 if the network is missing; else 1.
fetch() {
    local said
    # Not in a file, for which a full disk has no place.
    if said=$("$@" 2>&1); then return 0; fi
    printf '%s\n' "$said" | tail -n 30 >&2
    if is_offline "$said"; then return 75; fi
    return 1
}

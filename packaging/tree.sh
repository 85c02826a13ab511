#!/usr/bin/env bash
# Refuses tracked files that no source tree needs: what profilers, crashes, V8 and merges leave behind, and large binaries.
#
#   packaging/tree.sh
#
# Exits with 1 when there is one, with 77 when this is no git repository.
set -euo pipefail
cd "$(dirname "$0")/.."
largest=1048576

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || {
    echo "tree: no git repository, so no list of tracked files" >&2
    exit 77
}
wrong=0
while IFS= read -r -d '' file; do
    reason=
    case ${file##*/} in
    isolate-*.log) reason="a log of V8" ;;
    *.profraw | *.profdata | perf.data | perf.data.old) reason="a profile" ;;
    core | core.[0-9]*) reason="a core dump" ;;
    *.orig | *.rej) reason="left by a merge" ;;
    *.o | *.so | *.so.* | *.a | *.rlib | *.rmeta | *.pyc) reason="a compiled file" ;;
    *)
        # A deleted file that is not committed is still listed.
        if [ -f "$file" ] && ! [ -L "$file" ]; then
            if [ "$(head -c 4 "$file" | od -An -tx1 | tr -d ' \n')" = 7f454c46 ] && [ "$(wc -c <"$file")" -gt 65536 ]; then
                reason="a program"
            elif [ "$(wc -c <"$file")" -gt "$largest" ] && ! grep -qI . "$file"; then
                reason="a binary file of more than $((largest / 1048576)) MiB"
            fi
        fi
        ;;
    esac
    if [ -n "$reason" ]; then
        echo "tree: $file is $reason: git rm --cached it, and see .gitignore" >&2
        wrong=$((wrong + 1))
    fi
done < <(git ls-files -z)
[ "$wrong" -eq 0 ] || exit 1
echo "tree: nothing is tracked that should not be"

#!/usr/bin/env bash
# Refuses tracked files that no source tree needs: what profilers, crashes, V8, editors, desktops and merges leave behind,
# conflicts, and large binaries; and published crates that do not describe themselves.
#
#   packaging/tree.sh
#
# Exits with 1 when there is one, with 77 when git has no list of tracked files.
set -euo pipefail
cd "$(dirname "$0")/.."
largest=1048576

command -v git >/dev/null || {
    echo "tree: no git: apt-get install git" >&2
    exit 77
}
# Settings that change what paths mean, or write between what git prints.
# Another repository than that of these sources.
unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY
unset GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS "${!GIT_TRACE@}"
top=$(git rev-parse --show-toplevel 2>/dev/null) || {
    why=$(git rev-parse --show-toplevel 2>&1 || true)
    echo "tree: no list of tracked files: ${why//$'\n'/ }" >&2
    exit 77
}
if [ "$(cd "$top" && pwd -P)" != "$(pwd -P)" ]; then
    echo "tree: no list of tracked files: these sources lie in the repository of $top" >&2
    exit 77
fi
mapfile -d '' -t files < <(git ls-files -z)
if [ "${#files[@]}" -eq 0 ]; then
    echo "tree: git lists no tracked file" >&2
    exit 1
fi
wrong=0
declare -A compiled=()
complain() {
    echo "tree: $1 is $2: git rm ${3:+$3 }--cached it, and see .gitignore" >&2
    wrong=$((wrong + 1))
}
for file in "${files[@]}"; do
    case $file in
    target/* | */target/*)
        directory=${file%%target/*}target
        if [ -z "${compiled[$directory]-}" ]; then complain "$directory" "what cargo compiled" -r; fi
        compiled[$directory]=yes
        continue
        ;;
    esac
    case $file in
    .vscode/* | */.vscode/* | .idea/* | */.idea/*) complain "$file" "an editor's settings" ;;
    esac
    case ${file##*/} in
    isolate-*.log) complain "$file" "a log of V8" ;;
    # Kernel logs are data of tests and of the book.
    *.log) case $file in */samples/* | */fixtures/* | fuzz/corpus-seeds/*) ;; *) complain "$file" "a log" ;; esac ;;
    *.profraw | *.profdata | perf.data | perf.data.old) complain "$file" "a profile" ;;
    core | core.[0-9]*) complain "$file" "a core dump" ;;
    *.orig | *.rej | *_LOCAL_[0-9]* | *_REMOTE_[0-9]* | *_BASE_[0-9]* | *_BACKUP_[0-9]*) complain "$file" "left by a merge" ;;
    *~ | .#* | '#'*'#' | *.sw[op] | *.bak | *.save | *.tmp | *.iml | *' (copy)'* | *' copy.'*) complain "$file" "left by an editor" ;;
    *~HEAD | *~HEAD_[0-9]*) complain "$file" "left by a merge" ;;
    # Git appends the name of the branch, if the file's own name is taken. Versions have this character, too.
    *~*) if [ -e "${file%~*}" ]; then complain "$file" "left by a merge"; fi ;;
    .DS_Store | ._* | Thumbs.db | ehthumbs.db | desktop.ini | .directory) complain "$file" "left by a desktop" ;;
    rustc-ice-*.txt | hs_err_pid*.log) complain "$file" "a crash" ;;
    gmon.out | dhat-heap*.json | heaptrack.*.[gz]* | vgcore.* | massif.out.* | callgrind.out.* | cachegrind.out.* | flamegraph.svg) complain "$file" "a profile" ;;
    nohup.out) complain "$file" "a command's output" ;;
    *.o | *.so | *.so.* | *.a | *.rlib | *.rmeta | *.pyc) complain "$file" "a compiled file" ;;
    esac
done
# Without a line of text: binary or empty. A deleted file that is not committed is still listed.
while IFS= read -r -d '' file; do
    case $file in target/* | */target/*) continue ;; esac
    if [ -L "$file" ] || ! [ -f "$file" ]; then continue; fi
    size=$(stat -c %s "$file")
    if [ "$size" -gt 65536 ] && [ "$(head -c 4 "$file" | od -An -tx1 | tr -d ' \n')" = 7f454c46 ]; then
        complain "$file" "a program"
    elif [ "$size" -gt "$largest" ]; then
        complain "$file" "a binary file of more than $((largest / 1048576)) MiB"
    fi
done < <(printf '%s\0' "${files[@]}" | xargs -0 grep -LIZs . || true)
while IFS= read -r -d '' file; do
    echo "tree: $file has lines that begin with <<<<<<<, |||||||, or >>>>>>>: finish the merge, or indent them" >&2
    wrong=$((wrong + 1))
done < <(
    marks='^(<<<<<<<|>>>>>>>|[|]{7}) .'
    {
        git grep --no-color --cached -lzIE "$marks" -- . || true
        # What is not in the index yet.
        git grep --no-color -lzIE "$marks" -- . || true
    } | sort -zu
)
# Line ends of others, but in samples of such input; and scripts that cannot be called.
while IFS= read -r file; do
    echo "tree: ${file#*$'\t'} has CRLF line ends: dos2unix it" >&2
    wrong=$((wrong + 1))
done < <(git ls-files --eol -- . ':!fuzz/corpus-seeds' ':!*/fixtures/*' ':!*/samples/*' | grep -E '^i/(crlf|mixed)' || true)
while IFS= read -r -d '' file; do
    echo "tree: $file begins with a byte order mark: take it out" >&2
    wrong=$((wrong + 1))
done < <(git grep --no-color -lzI $'^\xEF\xBB\xBF' -- '*.sh' '*.py' '*.rs' '*.toml' '*.yml' '*.md' ':!fuzz/corpus-seeds' || true)
while IFS= read -r -d '' entry; do
    file=${entry#*$'\t'}
    if [[ $entry == 100644* ]] && [ -f "$file" ] && [ "$(head -c 2 "$file" | tr -d '\0')" = '#!' ]; then
        echo "tree: $file is a script, and not executable: git update-index --chmod=+x it" >&2
        wrong=$((wrong + 1))
    fi
done < <(git ls-files -sz -- '*.sh' '*.py' .ci/run ':!fuzz' ':!book/samples' ':!testbed/guest')
# What a registry shows of a crate; cargo only warns.
for manifest in crates/*/Cargo.toml; do
    if grep -q '^publish = false' "$manifest"; then continue; fi
    for key in description license repository readme keywords categories; do
        grep -Eq "^$key(\.workspace)? = (\"[^\"]|\[\"|true)" "$manifest" || {
            echo "tree: $manifest has no $key, which a published crate needs" >&2
            wrong=$((wrong + 1))
        }
    done
done
[ "$wrong" -eq 0 ] || exit 1
echo "tree: nothing is tracked that should not be"

#!/usr/bin/env bash
# Refuses tracked files that no source tree needs: what profilers, crashes, V8, editors, desktops and merges leave behind,
# conflicts, large files, keys; names and links that not every system can check out; scripts that no shell and no Python
# would run; manifests without the settings of the workspace, and published crates that do not describe themselves.
#
#   packaging/tree.sh
#
# Exits with 1 when there is one, with 77 when git has no list of tracked files, or a tool is missing; the last line says which.
set -euo pipefail
cd "$(dirname "$0")/.."
largest=1048576

for tool in git:git xargs:findutils; do
    command -v "${tool%:*}" >/dev/null || {
        echo "tree: no ${tool%:*}: apt-get install ${tool#*:}" >&2
        exit 77
    }
done
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
refuse() {
    echo "tree: $1" >&2
    wrong=$((wrong + 1))
}
# Names that some system cannot have, of each directory and file once.
declare -A spelt=()
names() {
    local LC_ALL=C file path part shown
    for file in "${files[@]}"; do
        printf -v shown %q "$file"
        case $file in
        *[[:cntrl:]]*) refuse "$shown has a control character in its name: rename it" ;;
        *[!\ -~]*)
            if command -v iconv >/dev/null && ! printf %s "$file" | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1; then
                refuse "$shown has a name that is not UTF-8: rename it"
            fi
            ;;
        esac
        path=$file
        while [ -z "${spelt["x$path"]-}" ]; do
            spelt["x$path"]=yes
            part=${path##*/}
            case ${part,,} in
            *[\<\>:\"\|?*\\]* | *. | *' ' | con | prn | aux | nul | com[0-9] | lpt[0-9] | con.* | prn.* | aux.* | nul.* | com[0-9].* | lpt[0-9].*)
                printf -v shown %q "$path"
                refuse "$shown has a name that Windows cannot have: rename it"
                ;;
            esac
            if [ -n "${spelt["l${path,,}"]-}" ]; then
                refuse "$path and ${spelt["l${path,,}"]} differ by case only: rename one"
            fi
            spelt["l${path,,}"]=$path
            case $path in */*) path=${path%/*} ;; *) break ;; esac
        done
    done
}
names
# Links and other repositories, by the modes of the index.
while IFS= read -r -d '' entry; do
    file=${entry#*$'\t'}
    case $entry in
    160000*)
        if ! git config -f .gitmodules --get-regexp '^submodule\..*\.path$' 2>/dev/null | cut -d ' ' -f 2- | grep -qxF -- "$file"; then
            refuse "$file is another repository, which .gitmodules does not name: git rm --cached it"
        fi
        ;;
    120000*)
        read -r _ object _ <<<"$entry"
        target=$(git cat-file blob "$object")
        case $target in
        /*) refuse "$file is a link to $target: make it relative" ;;
        *)
            goal=$(realpath -m --relative-to . "$(dirname "./$file")/$target")
            case $goal in
            .. | ../*) refuse "$file is a link to $target, outside of these sources" ;;
            *) if [ -z "${spelt["x$goal"]-}" ] && [ "$goal" != . ]; then refuse "$file is a link to $target, which is not tracked"; fi ;;
            esac
            ;;
        esac
        ;;
    esac
done < <(git ls-files -sz)
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
    .venv/* | */.venv/* | *.egg-info/* | node_modules/* | */node_modules/*) complain "$file" "made by a tool for one machine" ;;
    proptest-regressions/* | */proptest-regressions/*) complain "$file" "a failure of a property test, which the seed repeats" ;;
    .vscode/* | */.vscode/* | .idea/* | */.idea/*) complain "$file" "an editor's settings" ;;
    esac
    case ${file##*/} in
    id_rsa | id_dsa | id_ecdsa | id_ed25519 | id_*_sk | .netrc | .pypirc | *.p12 | *.pfx) complain "$file" "a key" ;;
    .env | .env.*) complain "$file" "an environment of one machine" ;;
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
    *.proptest-regressions) complain "$file" "a failure of a property test, which the seed repeats" ;;
    rustc-ice-*.txt | hs_err_pid*.log) complain "$file" "a crash" ;;
    gmon.out | dhat-heap*.json | heaptrack.*.[gz]* | vgcore.* | massif.out.* | callgrind.out.* | cachegrind.out.* | flamegraph.svg) complain "$file" "a profile" ;;
    nohup.out) complain "$file" "a command's output" ;;
    *.o | *.so | *.so.* | *.a | *.rlib | *.rmeta | *.pyc | *.exe | *.dll | *.class | *.jar | *.whl) complain "$file" "a compiled file" ;;
    esac
done
# Without a line of text: binary or empty. A deleted file that is not committed is still listed.
while IFS= read -r -d '' file; do
    case $file in target/* | */target/*) continue ;; esac
    if [ -L "$file" ] || ! [ -f "$file" ]; then continue; fi
    if [ "$(stat -c %s "$file")" -gt 65536 ] && [ "$(head -c 4 "$file" | od -An -tx1 | tr -d ' \n')" = 7f454c46 ]; then
        complain "$file" "a program"
    fi
done < <(printf '%s\0' "${files[@]}" | xargs -0 grep -LIZs . || true)
while IFS= read -r -d '' entry; do
    if [ "${entry%% *}" -gt "$largest" ]; then
        complain "${entry#* ./}" "a file of more than $((largest / 1048576)) MiB"
    fi
done < <(printf './%s\0' "${files[@]}" | xargs -0 stat --printf '%s %n\0' 2>/dev/null || true)
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
# Keys by their first line, whatever their name. Tests have keys of servers that exist only there.
while IFS= read -r -d '' file; do
    complain "$file" "a private key"
done < <(git grep --no-color -lzIE '^-----BEGIN ([A-Z]+ )*PRIVATE KEY( BLOCK)?-----' -- . ':!*/fixtures/*' || true)
# Line ends of others, but in samples of such input; and scripts that cannot be called.
while IFS= read -r file; do
    echo "tree: ${file#*$'\t'} has CRLF line ends: dos2unix it" >&2
    wrong=$((wrong + 1))
done < <(git ls-files --eol -- . ':!fuzz/corpus-seeds' ':!*/fixtures/*' ':!*/samples/*' | grep -E '^i/(crlf|mixed)|^i/[a-z-]* +w/(crlf|mixed)' || true)
# No check of lines looks into these: they are binary by a mistake, or .gitattributes says that they are.
while IFS= read -r file; do
    refuse "${file#*$'\t'} is binary, or has a zero byte: take it out, or say so in .gitattributes (NAME -text)"
done < <(
    git ls-files --eol -- . ':!fuzz/corpus-seeds' ':!*/fixtures/*' ':!*/samples/*' ':!*.png' ':!*.ico' |
        grep -E '^i/-text|^i/[a-z-]* +w/-text' | grep -Ev 'attr/-text' || true
)
while IFS= read -r -d '' file; do
    echo "tree: $file begins with a byte order mark: take it out" >&2
    wrong=$((wrong + 1))
done < <(git grep --no-color -lzI $'^\xEF\xBB\xBF' -- '*.sh' '*.py' '*.rs' '*.toml' '*.yml' '*.md' ':!fuzz/corpus-seeds' || true)
while IFS= read -r -d '' entry; do
    file=${entry#*$'\t'}
    # In the index, and on the disk: what is not staged is committed next.
    if { [[ $entry == 100644* ]] || ! [ -x "$file" ]; } && [ -f "$file" ] && [ "$(head -c 2 "$file" | tr -d '\0')" = '#!' ]; then
        echo "tree: $file is a script, and not executable: chmod +x it, or git update-index --chmod=+x" >&2
        wrong=$((wrong + 1))
    fi
done < <(git ls-files -sz -- '*.sh' '*.py' .ci/run ':!fuzz' ':!book/samples' ':!testbed/guest')
# What is executable, and no program.
while IFS= read -r -d '' entry; do
    file=${entry#*$'\t'}
    if { [[ $entry == 100755* ]] || [[ $entry == 100644* && -x $file ]]; } && [ -f "$file" ] && [ "$(head -c 2 "$file" | tr -d '\0')" != '#!' ]; then
        refuse "$file is executable, and no script: chmod -x it, or git update-index --chmod=-x"
    fi
done < <(git ls-files -sz -- '*.rs' '*.md' '*.toml' '*.yml' '*.json' '*.txt' '*.c' '*.h')
# Scripts that no shell and no Python would run. Samples are data.
scripts=()
absent=
for file in "${files[@]}"; do
    case $file in */fixtures/* | */samples/* | fuzz/corpus-seeds/* | */target/*) continue ;; esac
    if [ -L "$file" ] || ! [ -f "$file" ]; then continue; fi
    first=
    case ${file##*/} in
    *.sh | *.bash | *.py) IFS= read -r first <"$file" || true ;;
    # Names without a suffix, and those of packages' scripts.
    *.postinst | *.postrm | *.preinst | *.prerm) IFS= read -r first <"$file" || true ;;
    *.*) continue ;;
    *) IFS= read -r first <"$file" 2>/dev/null || true ;;
    esac 2>/dev/null
    case $file:$first in
    *.py:* | *:'#!'*python*) scripts+=("$file") ;;
    *:'#!'*bash* | *.bash:*) said=$(bash -n -- "$file" 2>&1) || refuse "$said" ;;
    *:'#!'*/sh* | *.sh:*) said=$(sh -n -- "$file" 2>&1) || refuse "$said" ;;
    esac
done
if [ "${#scripts[@]}" -gt 0 ]; then
    if ! command -v python3 >/dev/null; then
        absent="no python3, so no Python was looked at: apt-get install python3"
    elif ! said=$(printf '%s\0' "${scripts[@]}" | python3 -c '
import sys, warnings
warnings.simplefilter("ignore")
wrong = []
for name in filter(None, sys.stdin.buffer.read().split(b"\0")):
    try:
        compile(open(name, "rb").read(), name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        wrong.append("%s: %s" % (name.decode(errors="backslashreplace"), error))
print(*wrong, sep="; ")
sys.exit(bool(wrong))' 2>&1); then
        refuse "$said"
    fi
fi
# The value of a key that a manifest states itself.
stated() { sed -n "s/^$1 *= *\"\(.*\)\"/\1/p" "$2" 2>/dev/null || true; }
# The compilers of the library and of the program.
least=$(stated rust-version crates/raw/Cargo.toml)
usual=$(stated rust-version Cargo.toml)
# What each crate has from the workspace, so that a new one does not go without; those beside it have their own.
for manifest in "${files[@]}"; do
    case $manifest in
    */fixtures/* | */samples/* | fuzz/corpus-seeds/* | */target/*) continue ;;
    Cargo.toml | */Cargo.toml) ;;
    *) continue ;;
    esac
    if ! grep -q '^\[package\]' "$manifest" 2>/dev/null; then continue; fi
    case $manifest in crates/* | testbed/* | xtask/*) own= ;; *) own=yes ;; esac
    if ! awk '/^\[/ { lints = $0 == "[lints]"; if (/^\[lints\./) found = 1 }
        lints && /^workspace = true/ { found = 1 } END { exit !found }' "$manifest"; then
        refuse "$manifest has no lints: [lints] workspace = true"
    fi
    for key in edition license rust-version; do
        # Some state a compiler of their own.
        if [ "$own$key" = "$key" ] && [ "$key" != rust-version ]; then
            form=' *\.workspace *= *true'
        else
            form='( *\.workspace *= *true| *= *"[^"]+")'
        fi
        grep -Eq "^$key$form" "$manifest" || refuse "$manifest does not state $key"
    done
    # Of the library's compiler and the program's, as the step msrv tests them.
    version=$(stated rust-version "$manifest")
    case $version in '' | "$least" | "$usual") ;; *) refuse "$manifest states rust-version $version, and not $least or $usual" ;; esac
    licence=$(stated license "$manifest")
    case $licence in '' | 'MIT OR Apache-2.0') ;; *) refuse "$manifest states the licence $licence, and not MIT OR Apache-2.0" ;; esac
done
# Without an entry, no one compiles them.
if [ -f fuzz/Cargo.toml ]; then
    for file in "${files[@]}"; do
        case $file in
        fuzz/fuzz_targets/*.rs)
            grep -qF "path = \"${file#fuzz/}\"" fuzz/Cargo.toml || refuse "$file has no [[bin]] in fuzz/Cargo.toml"
            ;;
        esac
    done
fi
# What a registry shows of a crate; cargo only warns.
for manifest in crates/*/Cargo.toml; do
    if ! [ -f "$manifest" ]; then continue; fi
    if grep -q '^publish = false' "$manifest"; then continue; fi
    for text in LICENSE-MIT LICENSE-APACHE; do
        cmp -s "${manifest%Cargo.toml}$text" "$text" || refuse "${manifest%Cargo.toml}$text is not the text of $text: link it"
    done
    for key in description license repository readme keywords categories; do
        grep -Eq "^$key(\.workspace)? = (\"[^\"]|\[\"|true)" "$manifest" || {
            echo "tree: $manifest has no $key, which a published crate needs" >&2
            wrong=$((wrong + 1))
        }
    done
done
# What a commit would not have: a new file, or one that a pattern of .gitignore takes for something else.
untracked=$(
    {
        git ls-files -o --exclude-standard -- '*.rs' '*.py' '*.sh' '*.toml' '*.md'
        git ls-files -o -i --exclude-standard -- '*.rs' | grep -Ev '(^|/)(target|fuzz|node_modules|site-packages)/' || true
    } | head -n 9 | paste -sd ' '
)
if [ -n "$untracked" ]; then echo "skipped: what git does not track: $untracked"; fi
[ "$wrong" -eq 0 ] || exit 1
if [ -n "$absent" ]; then
    echo "tree: $absent" >&2
    exit 77
fi
echo "tree: nothing is tracked that should not be"

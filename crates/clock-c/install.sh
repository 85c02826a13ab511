#!/usr/bin/env bash
# Builds the C library and installs it: headers, the shared and the static library, and the files for
# pkg-config and for CMake's find_package.
#
#   crates/clock-c/install.sh --prefix DIR [--libdir DIR] [--target TRIPLE]
#
#   --prefix DIR     where it will be used, for example /usr/local
#   --libdir DIR     where the libraries go; PREFIX/lib if it is not given
#   --target TRIPLE  another target than this machine, as cargo names it
#
# With DESTDIR set in the environment everything is put below it, for packagers. Needs cargo and a
# linker (cc). Where NM, LD, OBJDUMP, OBJCOPY and AR (nm, ld, objdump, objcopy and ar if they are not set) can work on the
# target's files, the static library has only what the functions need.
set -euo pipefail

usage() {
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
}

fail() {
    echo "install.sh: $1" >&2
    exit "${2:-1}"
}

prefix="" libdir="" target=()
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --prefix | --libdir | --target)
        [ $# -ge 2 ] || fail "$1 wants a value; see --help" 2
        case $1 in
        --prefix) prefix=$2 ;;
        --libdir) libdir=$2 ;;
        --target) target=(--target "$2") ;;
        esac
        shift 2
        ;;
    *) fail "unknown argument $1; see --help" 2 ;;
    esac
done
[ -n "$prefix" ] || fail "no prefix; give --prefix DIR, for example --prefix /usr/local" 2
libdir=${libdir:-$prefix/lib}
for dir in "$prefix" "$libdir"; do
    case $dir in
    /*) ;;
    *) fail "$dir is not an absolute path, which the file for pkg-config needs; give one" 2 ;;
    esac
done

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
messages=$work/messages
notes=$work/notes
trap 'rm -rf "$work"' EXIT

# The compiler says what the static library needs, and cargo where it has put the files.
if ! cargo rustc --manifest-path "$here/Cargo.toml" --profile dist --locked --lib "${target[@]}" \
    --message-format=json-render-diagnostics -- --print native-static-libs >"$messages" 2>"$notes"; then
    cat "$notes" >&2
    fail "cargo could not build clocksmith-c; its message is above"
fi
file() {
    # The last message that names such a file is the library's own.
    { grep -oE "\"[^\"]*/libclocksmith_c\\.$1\"" "$messages" || true; } | tail -n 1 | tr -d '"'
}
shared=$(file so)
static=$(file a)
[ -n "$static" ] || fail "cargo has built no libclocksmith_c.a; see $here/Cargo.toml"
# Without libgcc_s, of which there is no static form: compilers add what they have of libgcc.
private=$(sed -n 's/.*native-static-libs: //p' "$notes" | tail -n 1 | sed 's/-lgcc_s *//')
# Rust has a library for unwinding of its own for static musl, which compilers for musl do not find: it goes into ours.
unwind=
case " $private " in *" -lunwind "*)
    unwind=$("${RUSTC:-rustc}" --print target-libdir "${target[@]}")/self-contained/libunwind.a
    [ -e "$unwind" ] || unwind=
    ;;
esac
version=$(grep '"name":"clocksmith_c"' "$messages" |
    sed -n 's/.*"package_id":"[^"]*[#@]\([0-9][^"]*\)".*/\1/p' | tail -n 1)
[ -n "$version" ] || fail "cargo's messages name no version of clocksmith-c; is cargo too old?"

# short_names OBJECT: options that give its sections the names that linkers expect, without those of the functions, which
# are a seventh of the file. They stay sections of their own, so a program's linker still drops those that it does not need.
short_names() {
    "${OBJDUMP:-objdump}" -h -w "$1" |
        sed -nE 's/^ *[0-9]+ ((\.text(\.unlikely|\.hot)?|\.rodata|\.data\.rel\.ro|\.data|\.bss|\.tbss|\.tdata|\.gcc_except_table)\.(_|\.L|anon\.)[^ ]*) .*/--rename-section=\1=\2/p' |
        sort -u
}

# reduce FROM TO: one object with the functions of the header and what they need, about a tenth of the size. All other names
# become local, so that a program may have several static libraries that were written in Rust. Fails where a tool does.
reduce() {
    local functions=() roots=() function
    mapfile -t functions < <("${NM:-nm}" -g --defined-only "$1" 2>/dev/null | awk '$3 ~ /^clocksmith_/ { print $3 }')
    [ "${#functions[@]}" -gt 0 ] || return 1
    for function in "${functions[@]}"; do roots+=(-u "$function"); done
    printf '%s\n' "${functions[@]}" >"$work/functions"
    # Sections that several libraries have as one would be taken from one of them only, and their names are local here.
    "${LD:-ld}" -r --gc-sections --force-group-allocation "${roots[@]}" -o "$work/all.o" "$1" ${unwind:+"$unwind"} &&
        short_names "$work/all.o" >"$work/renamed" &&
        "${OBJCOPY:-objcopy}" --keep-global-symbols="$work/functions" --strip-unneeded --remove-section='.llvm*' \
            "@$work/renamed" "$work/all.o" "$work/clocksmith.o" &&
        "${AR:-ar}" rcsD "$2" "$work/clocksmith.o"
}

lib=${DESTDIR-}$libdir
include=${DESTDIR-}$prefix/include
mkdir -p "$lib/pkgconfig" "$lib/cmake/clocksmith" "$include" || fail "cannot make $lib and $include; may you write there?"
install -m 644 "$here/include/clocksmith.h" "$here/include/clocksmith.hpp" "$include/"
if reduce "$static" "$work/libclocksmith.a" 2>"$work/reduce"; then
    install -m 644 "$work/libclocksmith.a" "$lib/"
    if [ -n "$unwind" ]; then private=${private//-lunwind/}; fi
else
    echo "install.sh: the static library has all of Rust's library, because its tools failed: $(head -n 1 "$work/reduce")" >&2
    install -m 644 "$static" "$lib/libclocksmith.a"
fi
# A target without shared libraries (static musl) has none.
if [ -n "$shared" ]; then
    install -m 755 "$shared" "$lib/libclocksmith.so.$version"
    ln -sf "libclocksmith.so.$version" "$lib/libclocksmith.so.${version%%.*}"
    ln -sf "libclocksmith.so.${version%%.*}" "$lib/libclocksmith.so"
fi
escape() {
    printf '%s' "$1" | sed 's/[&|\\]/\\&/g'
}
# Relative, where it can be: the tree may be moved.
# shellcheck disable=SC2016 # pkg-config's variable
case $libdir/ in
"${prefix%/}"/*) from_prefix='${prefix}/'${libdir#"${prefix%/}"/} ;;
*) from_prefix=$libdir ;;
esac
sed -e "s|@prefix@|$(escape "$prefix")|" -e "s|@libdir@|$(escape "$from_prefix")|" \
    -e "s|@version@|$version|" -e "s|@private@|$(escape "$private")|" \
    "$here/clocksmith.pc.in" >"$lib/pkgconfig/clocksmith.pc"
read -ra words <<<"$private"
list=${words[*]}
for kind in config config-version; do
    sed -e "s|@include@|$(escape "$(realpath -m --relative-to="$libdir" "$prefix/include")")|" -e "s|@version@|$version|" -e "s|@major@|${version%%.*}|" \
        -e "s|@private_list@|$(escape "${list// /;}")|" \
        "$here/clocksmith-$kind.cmake.in" >"$lib/cmake/clocksmith/clocksmith-$kind.cmake"
done
echo "installed clocksmith $version: $include/clocksmith.h, $include/clocksmith.hpp, $lib/libclocksmith.*"

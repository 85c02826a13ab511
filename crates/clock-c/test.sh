#!/usr/bin/env bash
# Installs the C library in a temporary prefix and tests what is there: symbols, what runs at load, the
# header, and programs in C99 to C++20 against the shared and the static library, found by pkg-config.
#
#   crates/clock-c/test.sh [--bench]     --bench: measures too, and checks nothing by it
#
# Needs cargo, pkg-config, nm, readelf, and cc or clang; c++ or clang++ for C++. Exits with 1 when
# something is wrong, with 77 when a tool is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for tool in cargo pkg-config nm readelf cc; do
    if ! command -v "$tool" >/dev/null; then
        echo "clock-c: no $tool: apt-get install gcc g++ binutils pkg-config" >&2
        exit 77
    fi
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

wrong() {
    echo "clock-c: $1" >&2
    failed=$((failed + 1))
}

"$here/install.sh" --prefix "$dir"
export PKG_CONFIG_PATH=$dir/lib/pkgconfig
so=$dir/lib/libclocksmith.so
version=$(pkg-config --modversion clocksmith)

# The header declares what the libraries export, no more and no less.
cc -E -P "$dir/include/clocksmith.h" | grep -oE '\bclocksmith_[a-z_]+ ?\(' | tr -d ' (' | sort >"$dir/declared"
nm -D --defined-only "$so" | awk '{ print $3 }' | sort >"$dir/exported"
nm -g --defined-only "$dir/lib/libclocksmith.a" 2>/dev/null | awk '$3 ~ /^clocksmith_/ { print $3 }' |
    sort >"$dir/static"
[ -s "$dir/declared" ] || wrong "no function found in clocksmith.h"
for kind in exported static; do
    diff "$dir/declared" "$dir/$kind" ||
        wrong "what clocksmith.h declares (<) and what is $kind (>) differ; make them the same"
done

# The static library is small, and has no other names that a program could have, too.
size=$(stat -c %s "$dir/lib/libclocksmith.a")
# Rust's own library is a fifth larger in older compilers.
limit=1000000
case $("${RUSTC:-rustc}" --version) in "rustc 1.8"[0-9].*) limit=1200000 ;; esac
[ "$size" -lt "$limit" ] || wrong "the static library has $size bytes; see reduce in install.sh"
nm -g --defined-only "$dir/lib/libclocksmith.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^clocksmith_/ { print $3 }' >"$dir/others"
[ ! -s "$dir/others" ] || wrong "the static library also exports $(head -n 3 "$dir/others" | tr '\n' ' ')"

# The names under which programs and linkers look for it.
readelf -d "$so" | grep -qF "[libclocksmith.so.${version%%.*}]" || wrong "the soname is not libclocksmith.so.${version%%.*}"
[ -e "$dir/lib/libclocksmith.so.$version" ] || wrong "no file libclocksmith.so.$version"

# Nothing of ours runs at load. Two functions do: the C compiler's `frame_dummy` (nothing in it on
# Linux), and Rust's standard library's, which keeps argc and argv for std::env::args.
read -r start size < <(readelf -SW "$so" | sed -n 's/^.* \.init_array *INIT_ARRAY *//p' | awk '{ print $1, $3 }')
nm "$so" | awk '{ print $1, $3 }' >"$dir/names"
entries=0
while read -r offset _ kind addend; do
    if [ $((16#$offset)) -lt $((16#$start)) ] || [ $((16#$offset)) -ge $((16#$start + 16#$size)) ]; then continue; fi
    entries=$((entries + 1))
    name=$(awk -v at="$(printf %016x $((16#$addend)))" '$1 == at { print $2; exit }' "$dir/names")
    case $name in
    frame_dummy | *3std3sys*4args*ARGV_INIT_ARRAY*) echo "at load: $name" ;;
    *) wrong "at load runs ${name:-a function without a name} at $addend (relocation $kind)" ;;
    esac
done < <(readelf -rW "$so" | grep _RELATIVE)
[ "$entries" -eq $((16#$size / 8)) ] || wrong "of $((16#$size / 8)) functions that run at load only $entries are known"

# Programs. Warnings in the headers are errors, of those that users turn on, too.
shared=$(pkg-config --cflags --libs clocksmith)
cflags=$(pkg-config --cflags clocksmith)
static=$(pkg-config --static --libs clocksmith)
strict=(-O2 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

try() {
    # try NAME LIBRARY_PATH COMMAND...: compiles by the command, and runs the result.
    local name=$1 path=$2
    shift 2
    if ! "$@" -o "$dir/program"; then
        wrong "$name: does not compile"
    elif ! said=$(LD_LIBRARY_PATH=$path timeout 60 "$dir/program"); then
        wrong "$name: failed"
    else
        echo "$name: ok ($said)"
    fi
}

# try_all COMPILER SOURCE STANDARDS...
try_all() {
    local compiler=$1 source=$here/tests/programs/$2 standard
    shift 2
    for standard in "$@"; do
        # shellcheck disable=SC2086 # words on purpose
        try "$compiler $standard shared" "$dir/lib" "$compiler" "-std=$standard" "${strict[@]}" -pthread "$source" $shared
    done
    # shellcheck disable=SC2086
    try "$compiler $standard, static library" /nonexistent "$compiler" "-std=$standard" "${strict[@]}" -pthread \
        "$source" $cflags "-L$dir/lib" -Wl,-Bstatic -lclocksmith -Wl,-Bdynamic ${static#*-lclocksmith}
    # shellcheck disable=SC2086
    try "$compiler $standard, all static" /nonexistent "$compiler" -static "-std=$standard" "${strict[@]}" -pthread \
        "$source" $cflags $static
}

for compiler in cc clang; do
    if command -v "$compiler" >/dev/null; then
        try_all "$compiler" clocks.c c99 c11
    else
        echo "skipped: $compiler is not here"
    fi
done
lacking=()
for compiler in c++ clang++; do
    if command -v "$compiler" >/dev/null; then
        try_all "$compiler" chrono.cpp c++11 c++17 c++20
        # The C header alone, as the oldest C++ sees it.
        echo '#include <clocksmith.h>' | "$compiler" -x c++ -std=c++98 -Wall -Wextra -Werror -Wno-long-long \
            -fsyntax-only $cflags - || wrong "$compiler: C++98 does not take clocksmith.h"
        # Programs without exceptions, and with a warning that not every compiler has.
        printf '#include <clocksmith.hpp>\nstd::time_t now(clocksmith::cached_clock& clock, std::error_code& error) {
            const clocksmith::cached_clock::updater updater(clock, std::chrono::milliseconds(1), error);
            return clocksmith::system_clock::to_time_t(clock.system());\n}\n' |
            "$compiler" -x c++ -std=c++11 "${strict[@]}" -Wno-unknown-warning-option -Wuseless-cast -fno-exceptions -fno-rtti \
                -fsyntax-only $cflags - || wrong "$compiler: a program without exceptions does not take clocksmith.hpp"
    else
        echo "skipped: $compiler is not here"
        # Either compiler is enough for the others; this one is a need of the step.
        if [ "$compiler" = c++ ]; then lacking+=("no C++ compiler: apt-get install g++"); fi
    fi
done

# A program with another static library of Rust, before ours and after it.
if command -v rustc >/dev/null; then
    echo '#[unsafe(no_mangle)] pub extern "C" fn other() -> usize { format!("{:?}", std::time::Instant::now()).len() }' >"$dir/other.rs"
    rustc --edition 2024 --crate-type staticlib -O "$dir/other.rs" -o "$dir/libother.a"
    printf '#include <clocksmith.h>\nsize_t other(void);\nint main(void) { return other() == 0 || clocksmith_monotonic_ns() == 0; }\n' \
        >"$dir/other.c"
    for libraries in "lib/libclocksmith.a libother.a" "libother.a lib/libclocksmith.a"; do
        # shellcheck disable=SC2086
        (cd "$dir" && cc other.c $cflags $libraries -lpthread -lm -ldl -o other && ./other) ||
            wrong "a program with $libraries, both written in Rust, does not build or run"
    done
fi

# The static library for musl, with musl's compiler.
musl=x86_64-unknown-linux-musl
if command -v musl-gcc >/dev/null && [ -d "$(rustc --print target-libdir --target "$musl" 2>/dev/null)" ]; then
    "$here/install.sh" --prefix "$dir/musl" --target "$musl" >/dev/null
    for kind in -static -static-pie; do
        # shellcheck disable=SC2046
        try "musl-gcc $kind" /nonexistent musl-gcc "$kind" -fPIE -std=c11 "${strict[@]}" -pthread "$here/tests/programs/clocks.c" \
            $(PKG_CONFIG_PATH=$dir/musl/lib/pkgconfig pkg-config --static --cflags --libs clocksmith)
    done
else
    echo "skipped: musl-gcc or Rust's $musl is not here"
fi

# CMake's find_package, in a project of its own.
if command -v cmake >/dev/null; then
    mkdir "$dir/cmake"
    cat >"$dir/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(clocksmith 0.1 REQUIRED)
find_package(Threads REQUIRED)
foreach(kind clocksmith static)
    add_executable(with-${kind} ${SOURCE})
    target_link_libraries(with-${kind} PRIVATE clocksmith::${kind} Threads::Threads)
endforeach()
END
    if cmake -S "$dir/cmake" -B "$dir/cmake/build" "-DCMAKE_PREFIX_PATH=$dir" "-DSOURCE=$here/tests/programs/clocks.c" \
        >"$dir/cmake/said" 2>&1 && cmake --build "$dir/cmake/build" >>"$dir/cmake/said" 2>&1; then
        for kind in clocksmith static; do
            said=$(timeout 60 "$dir/cmake/build/with-$kind") || wrong "cmake, $kind: failed"
            echo "cmake, clocksmith::$kind: ok ($said)"
        done
        # The tree may be moved: nothing points back.
        mkdir "$dir/moved"
        cp -a "$dir/lib" "$dir/include" "$dir/moved"
        # shellcheck disable=SC2016 # CMake's variable
        printf 'get_target_property(where clocksmith::static INTERFACE_INCLUDE_DIRECTORIES)\nmessage(STATUS "headers: ${where}")\n' \
            >>"$dir/cmake/CMakeLists.txt"
        cmake -S "$dir/cmake" -B "$dir/cmake/moved" "-DCMAKE_PREFIX_PATH=$dir/moved" \
            "-DSOURCE=$here/tests/programs/clocks.c" >"$dir/cmake/said" 2>&1 || wrong "cmake: a moved tree is not found"
        grep -qF "headers: $(realpath "$dir/moved/include")" "$dir/cmake/said" || wrong "cmake: a moved tree has its headers elsewhere"
        sed -i 's/clocksmith 0.1/clocksmith 0.2/' "$dir/cmake/CMakeLists.txt"
        if cmake -S "$dir/cmake" -B "$dir/cmake/newer" "-DCMAKE_PREFIX_PATH=$dir" "-DSOURCE=$here/tests/programs/clocks.c" \
            >/dev/null 2>&1; then
            wrong "cmake: version 0.2 is asked for, and version $version taken"
        fi
    else
        cat "$dir/cmake/said" >&2
        wrong "cmake: a project with find_package(clocksmith) does not build"
    fi
else
    echo "skipped: cmake is not here"
    lacking+=("no cmake: apt-get install cmake")
fi

if [ "${1-}" = --bench ]; then
    # shellcheck disable=SC2086
    cc -std=c11 "${strict[@]}" "$here/bench/bench.c" -o "$dir/bench" $shared
    LD_LIBRARY_PATH=$dir/lib "$dir/bench" --rounds 500
fi
if [ "$failed" -ne 0 ]; then
    echo "clock-c: $failed wrong" >&2
    exit 1
fi
# What is missing is named above; with STRICT it is a step that lacks its tools.
if [ "${#lacking[@]}" -gt 0 ] && [ -n "${STRICT-}" ] && [ "${STRICT-}" != 0 ]; then
    all=$(printf '%s; ' "${lacking[@]}")
    echo "clock-c: ${all%; }" >&2
    exit 77
fi

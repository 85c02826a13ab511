#!/usr/bin/env bash
# To be sourced by bash at the top of a program of the checks: takes out of the environment what changes the answers of the tools
# that steps and tests call, and names it. Test programs inherit it, so that a test of a program in Python would pass with
# PYTHONOPTIMIZE, which takes the asserts out of it.
#
# Left to the user on purpose, because these say where something is or how it is compiled on this machine:
#   PATH, HOME, TMPDIR, XDG_*, LANG, LC_*, TZ, NO_COLOR, proxies and certificates, SSH_*, settings of git other than its repository;
#   CARGO_*, RUSTUP_*, RUSTC, RUSTC_WRAPPER, CC, CXX, CFLAGS, LDFLAGS, CPATH, PKG_CONFIG_*, CMAKE_* (also the generator), PYO3_*,
#   MATURIN_*, VIRTUAL_ENV (xtask takes out the flags of Rust's compilers where a step judges warnings: xtask/src/flags.rs;
#   not CARGO_ALIAS_*, which stand for commands, nor a runner, which can leave out all tests);
#   LD_PRELOAD and LD_LIBRARY_PATH, without which some containers and compilers do not work;
#   JAVA_TOOL_OPTIONS, MAVEN_OPTS, GOFLAGS and GOPROXY, which have the proxy, the certificates or the memory of a container;
#   of Python, its interpreter, its users' packages, its cache and its seed; of pip, from where it fetches.

# Options of a shell that exports them, and its functions, which would stand for commands of the same name.
export -n SHELLOPTS BASHOPTS
while read -r _ _ name; do unset -f "$name"; done < <(declare -Fx)

without=()
runners=$(compgen -e | grep -E '^CARGO_TARGET_[A-Z0-9_]+_RUNNER$' || true)
# shellcheck disable=SC2086
for name in $runners "${!CARGO_ALIAS_@}" "${!UPDATE_@}" PROPTEST_CASES CASES FUZZ_SECONDS DESTDIR \
    "${!PYTHON@}" "${!PIP_@}" "${!PYTEST_@}" "${!PERL5@}" "${!LUA_INIT@}" BASH_ENV POSIXLY_CORRECT GREP_OPTIONS \
    MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES NODE_OPTIONS NODE_PATH RUBYOPT RUBYLIB PHPRC PHP_INI_SCAN_DIR \
    RUSTFMT FORCE_COLOR CLICOLOR_FORCE PY_COLORS; do
    case $name in
    PYTHON | PYTHON_TOOLS | PYTHONUTF8 | PYTHONIOENCODING) continue ;;
    PYTHONUSERBASE | PYTHONNOUSERSITE | PYTHONDONTWRITEBYTECODE | PYTHONPYCACHEPREFIX | PYTHONHASHSEED | PYTHONUNBUFFERED) continue ;;
    # Of images of containers, for those who make the next one.
    PYTHON_*VERSION | PYTHON_*SHA256 | PYTHON_*URL) continue ;;
    PIP_INDEX_URL | PIP_EXTRA_INDEX_URL | PIP_FIND_LINKS | PIP_NO_INDEX | PIP_TRUSTED_HOST | PIP_CONFIG_FILE) continue ;;
    PIP_PROXY | PIP_CERT | PIP_CLIENT_CERT | PIP_KEYRING_PROVIDER | PIP_USE_FEATURE | PIP_USE_DEPRECATED) continue ;;
    PIP_TIMEOUT | PIP_DEFAULT_TIMEOUT | PIP_RETRIES | PIP_CACHE_DIR | PIP_NO_CACHE_DIR | PIP_CONSTRAINT) continue ;;
    PIP_DISABLE_PIP_VERSION_CHECK | PIP_NO_INPUT | PIP_PROGRESS_BAR | PIP_ROOT_USER_ACTION | PIP_BREAK_SYSTEM_PACKAGES) continue ;;
    # With 0, or nothing, no case is tried.
    PROPTEST_CASES | CASES | FUZZ_SECONDS) if [[ ! ${!name-1} =~ ^0*$ ]]; then continue; fi ;;
    esac
    # An empty one counts, too: for some it is enough that they are there.
    if [ -n "${!name+set}" ] && [[ ${!name@a} == *x* ]]; then without+=("$name"); fi
    unset "$name"
done
# A program that this calls has nothing more to name.
if [ "${#without[@]}" -gt 0 ]; then echo "$(basename "$0"): without ${without[*]} of the environment" >&2; fi
unset name without runners
# Files are UTF-8 in every locale.
export PYTHONUTF8=1 PYTHONIOENCODING=utf-8

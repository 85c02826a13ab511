#!/usr/bin/env bash
# The engine for queries, and the ways to bring reports together: its own tests; synthetic fleets of one day and of three, whose
# answers are compared with those of DuckDB, of Spark, and of DataFusion on an object store; the queries in Trino's own parser;
# bundles from the real program by each transport that is in packaging/fleet, into a report.
#
#   fleet/test.sh [HOSTS]     how many synthetic hosts [default: 20000]
#
# Settings: CLOCKSMITH=FILE, the program if it is compiled already; PYTHON=python3; PYTHON_TOOLS=DIR, a virtual
# environment with ansible-core and kubernetes-validate [default: ~/.cache/clocksmith-python-tools, which .ci/run makes];
# ENGINES=DIR, one with duckdb, pyspark, datafusion, moto and boto3 [default: ~/.cache/clocksmith-engines, which .ci/run makes, or
# a temporary one with duckdb]; SPARK_MASTER [default: local-cluster[2,1,1024], a master and two workers on this machine].
# Exits with 1 when something is wrong, with 77 when a tool is missing, with 75 when packages cannot be
# fetched; the rest has been tested then, and the last line says what is missing.
set -euo pipefail
cd "$(dirname "$0")"
. ../packaging/environment.sh
. ../packaging/offline.sh
hosts=${1:-20000}
python=${PYTHON:-python3}
PATH="${PYTHON_TOOLS:-${XDG_CACHE_HOME:-${HOME-}/.cache}/clocksmith-python-tools}/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missing=()
network=

fail() {
    echo "fleet: $*" >&2
    exit 1
}

if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check -- --config-path ../rustfmt.toml; else missing+=("rustfmt (rustup component add rustfmt)"); fi
# Lints come with the build: `cargo clippy` would check the engine's many dependencies on top of compiling them.
linted=()
if clippy-driver --version >/dev/null 2>&1; then
    linted=(env RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__)
else
    missing+=("clippy (rustup component add clippy)")
fi
"${linted[@]}" cargo test --quiet --locked
# The two programs beside each other, as they are installed.
"${linted[@]}" cargo build --quiet --locked
target=$(cargo metadata --format-version 1 --locked --no-deps | "$python" -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
if [ -z "${CLOCKSMITH-}" ]; then
    (cd .. && cargo build --quiet --locked -p clocksmith-cli --features full)
    CLOCKSMITH=$(cd .. && cargo metadata --format-version 1 --locked --no-deps |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')/debug/clocksmith
fi
mkdir "$work/bin"
cp "$target/debug/clocksmith-fleet" "$CLOCKSMITH" "$work/bin"
clocksmith=$work/bin/clocksmith
engine=$work/bin/clocksmith-fleet

echo "-- $hosts synthetic hosts"
"$engine" --generate "$hosts" >"$work/fleet.jsonl"
# Little memory: what does not fit goes to disk, and nothing changes.
"$clocksmith" fleet "$work/fleet.jsonl" --out "$work/tables" --memory 64M --json >"$work/small.json"
"$clocksmith" fleet "$work/tables" --json >"$work/large.json"
"$python" - "$work/small.json" "$work/large.json" "$hosts" <<'PYTHON' || fail "another answer with little memory"
import json, sys
small, large = (json.load(open(name)) for name in sys.argv[1:3])
for report in (small, large):
    del report["tables"], report["input"]
sys.exit(small != large or small["hosts"] != int(sys.argv[3]))
PYTHON

echo "-- three days of $hosts hosts, in a history, with a file of an older day that comes late and once more"
for day in 0 1 2; do
    "$engine" --generate "$hosts" --day "$day" >"$work/day$day.jsonl"
done
for day in 1 2 0 1; do
    "$clocksmith" fleet "$work/day$day.jsonl" --history "$work/history" -q >"$work/said"
done
"$clocksmith" fleet "$work/history" --changes --since 2026-01-06 --json >"$work/changes.json"
"$python" - "$work/changes.json" "$hosts" <<'PYTHON' || fail "other changes than were planted"
import json, sys
report = json.load(open(sys.argv[1]))
kinds = {change["what"] for change in report["transitions"]}
shared = [part["value"] for group in report["common"] for part in group["shared"]]
sys.exit(report["compared"] != int(sys.argv[2]) or not {"kernel", "clocksource"} <= kinds or not any("Gold 6338" in v for v in shared))
PYTHON

# Other engines: the queries of the report on the same files, row by row.
env=${ENGINES:-${XDG_CACHE_HOME:-${HOME-}/.cache}/clocksmith-engines}
compare() {
    # compare NAME OPTION [DIRECTORY...]: a comparison; one whose engine is not there is named, and the rest goes on
    local name=$1 option=$2 directory status
    shift 2
    echo "-- $name"
    for directory in "$@"; do
        status=0
        "$env/bin/python" compare.py ${option:+"$option"} "$engine" "$directory" 2>"$work/said" || status=$?
        if [ "$status" -eq 77 ]; then
            missing+=("$name: $(sed -n 's/^compare: not there: //p' "$work/said")")
            return
        fi
        [ "$status" -eq 0 ] || fail "$name: $(tail -n 20 "$work/said")"
    done
}
if ! "$env/bin/python" -c 'import duckdb' 2>/dev/null; then
    env=$work/env
    if ! "$python" -m venv "$env" >"$work/said" 2>&1; then
        missing+=("a virtual environment (apt-get install python3-venv)")
        env=
    else
        fetched=0
        fetch "$env/bin/python" -m pip --disable-pip-version-check --quiet install 'duckdb>=1.1,<3' || fetched=$?
        if [ "$fetched" -eq 75 ]; then
            missing+=("duckdb (pip cannot fetch it)")
            network=yes
            env=
        elif [ "$fetched" -ne 0 ]; then
            fail "pip cannot install duckdb"
        fi
    fi
fi
if [ -n "$env" ]; then
    compare DuckDB "" "$work/tables" "$work/history"
    compare "an object store" --s3 "$work/tables" "$work/history"
    if command -v java >/dev/null; then
        compare Spark --spark "$work/tables" "$work/history"
    else
        missing+=("Spark: java (apt-get install default-jdk-headless)")
    fi
fi
echo "-- the SQL of Trino"
status=0
"$python" compare.py --trino 2>"$work/said" || status=$?
case $status in
0) ;;
77) missing+=("$(sed -n 's/^compare: not there: //p' "$work/said")") ;;
*) fail "$(cat "$work/said")" ;;
esac

# What a transport brought: bundles of the hosts A and B, and nothing else.
brought() {
    # brought NAME DIRECTORY: by the names of the files, as one machine stands for both hosts
    local found
    found=$(cd "$2" && echo *)
    [ "$found" = "a.tar.gz b.tar.gz" ] || fail "$1 brought: $found"
    "$clocksmith" fleet "$2" --json >"$work/report.json" || fail "$1: no report"
    "$python" -c 'import json, sys
report = json.load(open(sys.argv[1]))
assert report["input"]["documents"] == 2 and report["input"]["rejected"] == 0, report["input"]
assert report["hosts"] + report["input"]["duplicates"] == 2, report' "$work/report.json" || fail "$1"
}

echo "-- packaging/fleet/collect.sh"
packaging=../packaging/fleet
cat >"$work/ssh" <<'SSH'
#!/bin/sh
# In place of ssh: does here what is to be done there. One host does not answer.
host=$1
shift
[ "$host" != down ] || exit 255
exec sh -c "$*"
SSH
chmod +x "$work/ssh"
printf 'a\n# a comment\n\nb # another\n' >"$work/hosts"
SSH=$work/ssh "$packaging/collect.sh" "$work/hosts" "$work/by-ssh" "$clocksmith"
brought collect.sh "$work/by-ssh"
printf 'a\ndown\n-oProxyCommand=x\nb\n' >"$work/hosts"
mkdir "$work/path"
ln -s "$clocksmith" "$work/path/clocksmith"
if PATH="$work/path:$PATH" SSH=$work/ssh "$packaging/collect.sh" "$work/hosts" "$work/by-path" 2>"$work/said"; then
    fail "collect.sh: a host that is down is no failure"
fi
grep -q "no bundle of down" "$work/said" && grep -q "no name of a host" "$work/said" || fail "$(cat "$work/said")"
brought collect.sh "$work/by-path"

echo "-- packaging/fleet/daemonset.yaml"
if command -v kubernetes-validate >/dev/null; then
    kubernetes-validate --strict "$packaging/daemonset.yaml" >"$work/said" 2>&1 || fail "$(cat "$work/said")"
else
    missing+=("kubernetes-validate (pip install kubernetes-validate)")
fi
# Its command, as a container would run it, up to the wait.
for node in a b; do
    sed -n '/^            - |$/,/^          env:/p' "$packaging/daemonset.yaml" | sed -e 1d -e '$d' -e '/trap/,$d' \
        -e "s|/usr/bin/clocksmith|$clocksmith|" >"$work/command.sh"
    NODE=$node sh "$work/command.sh" >>"$work/nodes.jsonl"
done
[ "$(wc -l <"$work/nodes.jsonl")" -eq 2 ] || fail "a node's report is not one line"
found=$("$clocksmith" fleet "$work/nodes.jsonl" --sql 'SELECT host FROM hosts ORDER BY host' --csv | paste -sd ' ')
[ "$found" = "host a b" ] || fail "the nodes are: $found"

echo "-- packaging/fleet/collect.yml"
if command -v ansible-playbook >/dev/null; then
    export ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false
    cp "$packaging/collect.yml" "$work/collect.yml"
    printf 'all:\n  vars: {ansible_connection: local, ansible_python_interpreter: %s}\n  hosts: {a: {}, b: {}}\n' \
        "$("$python" -c 'import sys; print(sys.executable)')" >"$work/inventory.yml"
    ansible-playbook --syntax-check -i "$work/inventory.yml" "$work/collect.yml" >"$work/said" 2>&1 ||
        fail "$(cat "$work/said")"
    ansible-playbook -i "$work/inventory.yml" -e clocksmith="$clocksmith" -e clocksmith_become=false \
        -e clocksmith_bundles="$work/by-ansible" "$work/collect.yml" >"$work/said" 2>&1 || fail "$(cat "$work/said")"
    brought collect.yml "$work/by-ansible"
else
    missing+=("ansible-playbook (pip install ansible-core)")
fi
if command -v ansible-lint >/dev/null; then
    (cd "$work" && ansible-lint --offline --nocolor --profile production collect.yml >said 2>&1) || fail "$(cat "$work/said")"
fi

echo "-- bad bundles"
head -c 300 "$work/by-ssh/a.tar.gz" >"$work/by-ssh/c.tar.gz"
"$clocksmith" fleet "$work/by-ssh" >"$work/said"
grep -q "1 of 3 documents could not be used" "$work/said" && grep -q "c.tar.gz: " "$work/said" || fail "$(cat "$work/said")"

if [ "${#missing[@]}" -gt 0 ]; then
    printf -v list "%s, " "${missing[@]}"
    echo "fleet: not there: ${list%, }"
    exit "$([ -n "$network" ] && [ "${#missing[@]}" -eq 1 ] && echo 75 || echo 77)"
fi
echo "fleet: as it should be"

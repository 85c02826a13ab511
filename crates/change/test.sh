#!/usr/bin/env bash
# Whether the tools that shall read our formats take them: Ansible (also run, on made-up files),
# cloud-init, tuned, Ignition, Nix, Kubernetes, systemd. Exits with 77 when tools are missing, and says
# which in the last line; the others have been asked all the same.
#
#   PYTHON_TOOLS=DIR  a virtual environment with ansible-core, ansible-lint and kubernetes-validate
#                     [default: ~/.cache/clocksmith-python-tools, which .ci/run makes]
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH="${PYTHON_TOOLS:-${XDG_CACHE_HOME:-${HOME-}/.cache}/clocksmith-python-tools}/bin:$PATH"
export PATH="$PATH:${GOBIN:-${GOPATH:-$HOME/go}/bin}"
missing=()

have() {
    # have COMMAND HOW-TO-GET-IT
    if command -v "$1" >/dev/null; then
        echo "-- $1"
        return 0
    fi
    missing+=("$1 ($2)")
    return 1
}

fail() {
    echo "formats: $*" >&2
    exit 1
}

mkdir "$work/formats"
cargo run --quiet --locked --example formats -- "$work/formats"
cd "$work"

if have systemd-analyze "apt-get install systemd"; then
    mkdir units
    cp formats/systemd units/clocksmith-clocksource.service
    # What it does not like it says, and some of that with success.
    systemd-analyze verify units/clocksmith-clocksource.service >said 2>&1 || fail "$(cat said)"
    ! grep clocksmith said || fail "systemd-analyze has something to say of the unit"
    ! { sed 's/^Type=oneshot/Type=nonsense/' units/clocksmith-clocksource.service >units/b.service &&
        systemd-analyze verify units/b.service >said 2>&1 && ! grep -q nonsense said; } ||
        fail "systemd-analyze takes anything"
fi

if have systemd-tmpfiles "apt-get install systemd"; then
    # On made-up files, by a root of their own.
    sys=root/sys/devices/system/clocksource/clocksource0
    mkdir -p "$sys"
    echo hpet >"$sys/current_clocksource"
    systemd-tmpfiles --root="$work/root" --boot --create "$work/formats/tmpfiles"
    [ "$(head -c 3 "$sys/current_clocksource")" = tsc ] || fail "tmpfiles wrote nothing"
fi

if have cloud-init "apt-get install cloud-init"; then
    cloud-init schema --config-file formats/cloud-init >said 2>&1 || fail "$(cat said)"
    grep -q "Valid" said || fail "$(cat said)"
fi

if have nix-instantiate "apt-get install nix-bin"; then
    for file in nixos add-nixos; do
        NIX_STATE_DIR=$work/nix NIX_STORE_DIR=$work/nix/store nix-instantiate --parse "formats/$file" \
            >said 2>&1 || fail "$file: $(cat said)"
    done
    # The module as a value: the script in it is what the others run.
    NIX_STATE_DIR=$work/nix NIX_STORE_DIR=$work/nix/store nix-instantiate --eval --strict --json -E \
        "(import $work/formats/nixos {}).systemd.services.clocksmith-clocksource.script" >script.json 2>said ||
        fail "$(cat said)"
    python3 -c 'import json; print(json.load(open("script.json")))' >script.sh
    sh -n script.sh && grep -q 'echo tsc >"$d/current_clocksource"' script.sh || fail "Nix changed the script"
fi

tuned=/usr/lib/python3/dist-packages/tuned
if [ -d "$tuned" ]; then
    echo "-- tuned"
    mkdir -p profiles/clocksmith profiles/both fake
    echo "tsc-early tsc hpet " >fake/available_clocksource
    echo hpet >fake/current_clocksource
    for name in clocksmith both; do
        from=tuned
        if [ "$name" = both ]; then from=add-tuned; fi
        sed "s|/sys/devices/system/clocksource/clocksource0|$work/fake|g" "formats/$from" >"profiles/$name/tuned.conf"
    done
    # tuned's own loader, with a clocksource that is there and one that is not.
    cat >tuned.py <<'PYTHON'
import sys
sys.path.insert(0, "/usr/lib/python3/dist-packages")
from tuned.profiles.factory import Factory
from tuned.profiles.loader import Loader
from tuned.profiles.locator import Locator
from tuned.profiles.merger import Merger
from tuned.profiles.variables import Variables
from tuned.utils.config_parser import ConfigParser
from tuned.utils.global_config import GlobalConfig

directory, name = sys.argv[1:]
variables = Variables()
loader = Loader(Locator([directory + "/profiles"]), Factory(), Merger(), GlobalConfig(), variables)
profile = loader.load([name])
for unit in profile.units.values():
    for option, value in unit.options.items():
        print(unit.name, option, variables.expand(value), sep="|")
PYTHON
    for system in /usr/bin/python3 python3; do
        if "$system" -c 'import sys; sys.path.insert(0, "/usr/lib/python3/dist-packages"); import tuned.profiles.loader' \
            2>/dev/null; then break; fi
    done
    "$system" tuned.py "$work" clocksmith >said 2>&1 || fail "$(cat said)"
    grep -qx "sysfs|$work/fake/current_clocksource|tsc" said || fail "tuned: $(cat said)"
    echo "tsc-early hpet " >fake/available_clocksource
    "$system" tuned.py "$work" both >said 2>&1 || fail "$(cat said)"
    grep -qx "sysfs|$work/fake/current_clocksource|hpet" said || fail "tuned: $(cat said)"
    grep -qx "bootloader|cmdline_clocksmith|+tsc=nowatchdog nohpet" said || fail "tuned: $(cat said)"
else
    missing+=("tuned (apt-get install tuned)")
fi

if have ansible-playbook "pip install ansible-core"; then
    mkdir -p ansible/fake
    cp formats/ansible ansible/clocksource.yml
    cp formats/all-ansible ansible/both.yml
    for name in clocksource both; do
        printf -- '---\n- name: Try\n  hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n    - name: Tasks\n      ansible.builtin.import_tasks: %s.yml\n' \
            "$name" >"ansible/play-$name.yml"
        ansible-playbook --syntax-check -i localhost, "ansible/play-$name.yml" >said 2>&1 || fail "$(cat said)"
    done
    play() {
        ANSIBLE_NOCOLOR=1 ansible-playbook -i localhost, --skip-tags systemd -e "clocksmith_sysfs=$work/ansible/fake" \
            -e ansible_become=false -e "ansible_python_interpreter=$(python3 -c 'import sys; print(sys.executable)')" \
            ansible/play-clocksource.yml >said 2>&1 || fail "$(cat said)"
    }
    # Not available, available, once more.
    fake=ansible/fake
    echo hpet >"$fake/current_clocksource"
    for expected in "tsc-early hpet :hpet:changed=0" "tsc hpet :tsc:changed=1" "tsc hpet :tsc:changed=0"; do
        IFS=: read -r available current changed <<<"$expected"
        echo "$available" >"$fake/available_clocksource"
        play
        [ "$(cat "$fake/current_clocksource")" = "$current" ] && grep -q "$changed" said ||
            fail "ansible, $expected: $(cat said)"
    done
fi

if have ansible-lint "pip install ansible-lint"; then
    (cd ansible && ansible-lint --offline --nocolor --profile production clocksource.yml both.yml >../said 2>&1) ||
        fail "$(cat said)"
fi

if have kubernetes-validate "pip install kubernetes-validate"; then
    kubernetes-validate --strict formats/daemonset >said 2>&1 || fail "$(cat said)"
fi

if have ignition-validate "go install github.com/coreos/ignition/v2/validate@v2.15.0, named ignition-validate"; then
    for file in ignition add-ignition all-ignition; do
        ignition-validate "formats/$file" >said 2>&1 || fail "$file: $(cat said)"
        # Keys that it does not know are a warning only.
        [ ! -s said ] || fail "$file: $(cat said)"
    done
fi

# Few have it, so it is not missed.
if command -v butane >/dev/null; then
    echo "-- butane"
    for kind in "" all-; do
        butane --strict "formats/${kind}butane" >made 2>said || fail "butane: $(cat said)"
        python3 -c 'import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:])
sys.exit(a != b)' made "formats/${kind}ignition" || fail "butane makes another configuration: $(cat made)"
    done
fi

if [ "${#missing[@]}" -gt 0 ]; then
    printf -v list "%s, " "${missing[@]}"
    echo "formats: not there: ${list%, }"
    exit 77
fi
echo "formats: taken by all tools"

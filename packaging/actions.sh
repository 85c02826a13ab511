#!/usr/bin/env bash
# Checks what a host of the repository reads: workflows by actionlint, forms and dependabot's settings as YAML.
#
#   packaging/actions.sh
#
# Needs no network. Exits with 1 when something is wrong, with 77 when a tool is missing; the last line says which.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v1.7.12

missing() {
    echo "actions: $1" >&2
    exit 77
}

actionlint=$(command -v actionlint || true)
for dir in "${GOBIN-}" "${GOPATH:-$HOME/go}/bin"; do
    if [ -z "$actionlint" ] && [ -n "$dir" ] && [ -x "$dir/actionlint" ]; then actionlint=$dir/actionlint; fi
done
if [ -n "$actionlint" ]; then "$actionlint" .github/workflows/*.yml; fi

python3 -c 'import yaml' 2>/dev/null || missing "no YAML for Python: apt-get install python3-yaml"
python3 - <<'PYTHON'
import os, pathlib, re, sys, yaml

github = pathlib.Path(".github")
wrong = []

def want(holds, path, words):
    if not holds:
        wrong.append(f"{path}: {words}")

settings = github / "dependabot.yml"
updates = (yaml.safe_load(settings.read_text()) or {}).get("updates") or []
want(updates, settings, "no updates")
for update in updates:
    want("package-ecosystem" in update, settings, f"an update without package-ecosystem: {update}")
named = {place for update in updates for place in update.get("directories", [update.get("directory")])
         if update.get("package-ecosystem") == "cargo"}
# Every lock file is a workspace that has to be kept up to date. Deeper ones are in directories that cargo makes.
for lock in [pathlib.Path("Cargo.lock"), *pathlib.Path(".").glob("*/Cargo.lock")]:
    place = "/" if lock.parent == pathlib.Path(".") else f"/{lock.parent}"
    want(place in named, settings, f"no updates for {lock}")
for place in named:
    want(pathlib.Path(f".{place}/Cargo.toml").exists(), settings, f"{place} has no Cargo.toml")

kinds = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
for form in sorted((github / "ISSUE_TEMPLATE").glob("*.yml")):
    data = yaml.safe_load(form.read_text())
    if form.name == "config.yml":
        want(isinstance(data.get("blank_issues_enabled"), bool), form, "blank_issues_enabled is not true or false")
        continue
    for key in ("name", "description", "body"):
        want(data.get(key), form, f"no {key}")
    ids = [item["id"] for item in data.get("body") or [] if "id" in item]
    want(len(ids) == len(set(ids)), form, "an id twice")
    for item in data.get("body") or []:
        want(item.get("type") in kinds, form, f"unknown type {item.get('type')}")
        attributes = item.get("attributes", {})
        want(attributes.get("value" if item.get("type") == "markdown" else "label"), form, f"{item.get('id', 'text')} without words")
    want("clocksmith collect" in form.read_text(), form, "does not ask for `clocksmith collect`")

# Every script that a workflow runs is here.
for flow in sorted((github / "workflows").glob("*.yml")):
    for script in re.findall(r"(?:\./|packaging/)[a-z-]+\.sh", flow.read_text()):
        want(os.access(script, os.X_OK), flow, f"{script} is not there, or not executable")
    want("permissions" in yaml.safe_load(flow.read_text()), flow, "no permissions")

for line in wrong:
    print(f"actions: {line}", file=sys.stderr)
sys.exit(bool(wrong))
PYTHON
[ -n "$actionlint" ] || missing "no actionlint: go install github.com/rhysd/actionlint/cmd/actionlint@$version"
echo "actions: workflows, forms and dependabot's settings are right"

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
for dir in "${GOBIN-}" "${GOPATH:-${HOME-}/go}/bin"; do
    if [ -z "$actionlint" ] && [ -n "$dir" ] && [ -x "$dir/actionlint" ]; then actionlint=$dir/actionlint; fi
done
if [ -n "$actionlint" ]; then "$actionlint" .github/workflows/*.y*ml; fi

python3 -c 'import yaml' 2>/dev/null || missing "no YAML for Python: apt-get install python3-yaml"
python3 - <<'PYTHON'
import os, pathlib, re, subprocess, sys, yaml

github = pathlib.Path(".github")
wrong = []

def want(holds, path, words):
    if not holds:
        wrong.append(f"{path}: {words}")

class Once(yaml.SafeLoader):
    """Each key of a mapping once."""

def once(loader, node, deep=False):
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.YAMLError(f"{key} twice, line {node.start_mark.line + 1}")
    return yaml.SafeLoader.construct_mapping(loader, node, deep)

Once.add_constructor("tag:yaml.org,2002:map", once)

def read(path):
    """A mapping from a file; an empty one, with what is wrong, where there is none."""
    try:
        data = yaml.load(path.read_text(), Once)
    except (OSError, yaml.YAMLError) as error:
        data = wrong.append(f"{path}: {' '.join(str(error).split())}")
    else:
        want(isinstance(data, dict), path, "no mapping")
    return data if isinstance(data, dict) else {}

def known(data, keys, path, where):
    for key in set(data) - set(keys.split()):
        wrong.append(f"{path}: {where}: unknown key {key}")

# https://docs.github.com/en/code-security/dependabot: what these settings use, and the closest that they may need.
settings = github / "dependabot.yml"
data = read(settings)
want(data.get("version") == 2, settings, "version is not 2")
updates = data.get("updates") or []
want(updates, settings, "no updates")
seen = set()
for update in updates:
    ecosystem = update.get("package-ecosystem")
    homes = {"cargo": "Cargo.toml", "github-actions": ".github/workflows", "pip": "python/pyproject.toml",
             "pre-commit": ".pre-commit-hooks.yaml"}
    want(ecosystem in homes, settings, f"an update of {ecosystem}: nothing of that is here")
    for place in update.get("directories") or [update.get("directory")]:
        want((ecosystem, place) not in seen, settings, f"two updates of {ecosystem} in {place}")
        seen.add((ecosystem, place))
    for name, group in (update.get("groups") or {}).items():
        for kind in group.get("update-types") or []:
            want(kind in ("major", "minor", "patch"), settings, f"group {name}: {kind} is no kind of update")
    known(update, "package-ecosystem directory directories schedule groups ignore allow labels open-pull-requests-limit "
          "cooldown commit-message versioning-strategy reviewers assignees milestone rebase-strategy registries vendor "
          "target-branch pull-request-branch-name exclude-paths insecure-external-code-execution", settings, update.get("package-ecosystem"))
    interval = (update.get("schedule") or {}).get("interval")
    times = ("daily", "weekly", "monthly", "quarterly", "semiannually", "yearly", "cron")
    want(interval in times, settings, f"interval {interval}")
    for place in update.get("directories") or [update.get("directory")]:
        found = place == "/" or place and list(pathlib.Path(".").glob(place.strip("/")))
        want(found, settings, f"{place} is no directory here")
named = {place for update in updates for place in update.get("directories", [update.get("directory")])
         if update.get("package-ecosystem") == "cargo"}
# Every lock file is a workspace that has to be kept up to date.
locks = subprocess.run(["git", "ls-files", "*Cargo.lock"], capture_output=True, text=True).stdout.split()
for lock in map(pathlib.Path, locks):
    place = "/" if lock.parent == pathlib.Path(".") else f"/{lock.parent}"
    want(place in named, settings, f"no updates for {lock}")
for place in named:
    want(pathlib.Path(f".{place}/Cargo.toml").exists(), settings, f"{place} has no Cargo.toml")

names = set()
fields = {
    "markdown": "value",
    "textarea": "label description placeholder value render",
    "input": "label description placeholder value",
    "dropdown": "label description multiple options default",
    "checkboxes": "label description options",
}
# https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests
for form in sorted((github / "ISSUE_TEMPLATE").glob("*.y*ml")):
    data = read(form)
    if form.name == "config.yml":
        want(isinstance(data.get("blank_issues_enabled"), bool), form, "blank_issues_enabled is not true or false")
        for link in data.get("contact_links") or []:
            want({"name", "url", "about"} <= set(link), form, f"a link without name, url or about: {link}")
        continue
    known(data, "name description title labels assignees projects type body", form, "the form")
    for key in ("name", "description", "body"):
        want(data.get(key), form, f"no {key}")
    want(data.get("name") not in names, form, "another form has its name")
    names.add(data.get("name"))
    ids = [item["id"] for item in data.get("body") or [] if "id" in item]
    want(len(ids) == len(set(ids)), form, "an id twice")
    for item in data.get("body") or []:
        place = item.get("id", item.get("type"))
        want(item.get("type") in fields, form, f"unknown type {item.get('type')}")
        known(item, "type id attributes validations", form, place)
        attributes = item.get("attributes") or {}
        known(attributes, fields.get(item.get("type"), ""), form, place)
        want(re.fullmatch(r"[\w-]*", str(item.get("id", ""))), form, f"{place}: an id has letters, figures, - and _")
        if item.get("type") in ("dropdown", "checkboxes"):
            options = attributes.get("options") or []
            words = [one.get("label") if isinstance(one, dict) else one for one in options]
            want(words and all(isinstance(word, str) and word for word in words) and len(set(words)) == len(words),
                 form, f"{place}: options are different words, at least one")
        checks = item.get("validations") or {}
        known(checks, "required", form, place)
        want(isinstance(checks.get("required", True), bool), form, f"{place}: required is not true or false")
        want(attributes.get("value" if item.get("type") == "markdown" else "label"), form, f"{item.get('id', 'text')} without words")
    want("clocksmith collect" in form.read_text(), form, "does not ask for `clocksmith collect`")

# Every script that a workflow runs is here.
for flow in sorted((github / "workflows").glob("*.y*ml")):
    for script in re.findall(r"(?:\./|packaging/)[a-z-]+\.sh", flow.read_text()):
        want(os.access(script, os.X_OK), flow, f"{script} is not there, or not executable")
    want("permissions" in read(flow), flow, "no permissions")
    for steps in re.findall(r"\./test\.sh((?: [a-z-]+)+)", flow.read_text()):
        if steps.startswith(" --needs"):
            steps = steps.removeprefix(" --needs steps")
        asked = subprocess.run(["./test.sh", "--needs", "steps", *steps.split()], capture_output=True, text=True)
        want(asked.returncode == 0, flow, asked.stderr.strip())

# What others' runs read: https://docs.github.com/actions, https://pre-commit.com/#new-hooks
action = read(pathlib.Path("action.yml"))
for key in ("name", "description", "runs"):
    want(action.get(key), "action.yml", f"no {key}")
for step in (action.get("runs") or {}).get("steps") or []:
    want("uses" in step or ("run" in step and "shell" in step), "action.yml", f"a step without shell: {step}")
try:
    hooks = yaml.load(pathlib.Path(".pre-commit-hooks.yaml").read_text(), Once)
    for hook in hooks:
        for key in ("id", "name", "entry", "language"):
            want(hook.get(key), ".pre-commit-hooks.yaml", f"no {key}")
except (OSError, yaml.YAMLError, TypeError, AttributeError) as error:
    wrong.append(f".pre-commit-hooks.yaml: {' '.join(str(error).split())}")

for line in wrong:
    print(f"actions: {line}", file=sys.stderr)
sys.exit(bool(wrong))
PYTHON
[ -n "$actionlint" ] || missing "no actionlint: go install github.com/rhysd/actionlint/cmd/actionlint@$version"
echo "actions: workflows, forms and dependabot's settings are right"

#!/usr/bin/env python3
"""Checks what no schema knows of the files that a host of the repository reads: keys that occur twice, forms of one
name or without `clocksmith collect`, lock files that dependabot is not told of, scripts and steps that workflows name.

    packaging/actions.py

Exits with 1 when something is wrong.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import yaml

os.chdir(pathlib.Path(__file__).resolve().parent.parent)
GITHUB = pathlib.Path(".github")
# The files that an update of a kind is about; those of other kinds are not looked for.
MANIFESTS = {
    "bundler": ["Gemfile"],
    "cargo": ["Cargo.toml"],
    "devcontainers": [".devcontainer.json", ".devcontainer/devcontainer.json", "devcontainer.json"],
    "docker": ["*Dockerfile*", "*Containerfile*", "*.dockerfile", "*.y*ml"],
    "docker-compose": ["*compose*.y*ml"],
    "github-actions": [".github/workflows/*.y*ml", "*.y*ml"],
    "gitsubmodule": [".gitmodules"],
    "gomod": ["go.mod"],
    "helm": ["Chart.yaml"],
    "npm": ["package.json"],
    "pip": ["pyproject.toml", "requirements*", "setup.py", "Pipfile"],
    "pre-commit": [".pre-commit-config.y*ml"],
    "terraform": ["*.tf"],
    "uv": ["pyproject.toml"],
}
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


def read(path, kind=dict):
    """What a file has, if it is of this kind; else nothing, with what is wrong."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Once)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        wrong.append(f"{path}: {' '.join(str(error).split())}")
        return kind()
    want(isinstance(data, kind), path, "no mapping" if kind is dict else "no list")
    return data if isinstance(data, kind) else kind()


def files(directory):
    """Its YAML files; links to nowhere are an editor's locks."""
    return sorted(path for path in (GITHUB / directory).glob("*.y*ml") if path.is_file() and path.name[0] != ".")


def maps(data, key):
    """The mappings of a list under a key."""
    found = data.get(key) if isinstance(data, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def locks():
    """The lock files of cargo that git tracks; if it tracks none, those of the directory."""
    try:
        done = subprocess.run(["git", "ls-files", "-z", "*Cargo.lock"], capture_output=True, text=True)
    except OSError:
        done = None
    # The repository can be another one, which has these sources in a directory and does not track them.
    if done and done.returncode == 0 and done.stdout:
        return [pathlib.Path(name) for name in done.stdout.split("\0") if name]
    return [path for path in pathlib.Path(".").rglob("Cargo.lock") if not {"target", ".git"} & set(path.parts)]


def dependabot():
    """https://docs.github.com/en/code-security/dependabot"""
    settings = GITHUB / "dependabot.yml"
    data = read(settings)
    seen, cargo = set(), set()
    for update in maps(data, "updates"):
        ecosystem = update.get("package-ecosystem")
        for place in map(str, update.get("directories") or [update.get("directory")]):
            want((ecosystem, place) not in seen, settings, f"two updates of {ecosystem} in {place}")
            seen.add((ecosystem, place))
            # Directories may be patterns.
            inside = place.strip("/")
            found = [path for path in (pathlib.Path(".").glob(inside) if inside else [pathlib.Path(".")]) if path.is_dir()]
            want(found, settings, f"{place} is no directory here")
            if wanted := MANIFESTS.get(ecosystem):
                with_manifest = [path for path in found if any(next(path.glob(one), None) for one in wanted)]
                want(with_manifest or not found, settings, f"an update of {ecosystem}: {place} has none of {' '.join(wanted)}")
                if ecosystem == "cargo":
                    cargo.update(with_manifest)
        # The schema lets these pass.
        schedule = update.get("schedule")
        for key in set(schedule if isinstance(schedule, dict) else ()) - {"interval", "day", "time", "timezone", "cronjob"}:
            wrong.append(f"{settings}: schedule: unknown key {key}")
    # Every lock file is a workspace that has to be kept up to date.
    for lock in locks():
        want(lock.parent in cargo, settings, f"no updates for {lock}")


def forms():
    """https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests"""
    names = set()
    # The older kind, and a single template, which the host offers beside the forms.
    places = [*(GITHUB / "ISSUE_TEMPLATE").glob("*.md"), *GITHUB.glob("[Ii][Ss][Ss][Uu][Ee]_*.md")]
    for template in sorted(path for path in places if path.is_file()):
        text = re.sub(r"(?s)<!--.*?-->", "", template.read_text(encoding="utf-8", errors="replace"))
        want("clocksmith collect" in re.sub(r"\s+", " ", text), template, "does not ask for `clocksmith collect`")
    asking = [form for form in files("ISSUE_TEMPLATE") if form.stem != "config"]
    want(asking, GITHUB / "ISSUE_TEMPLATE", "no form for issues is here")
    for form in files("ISSUE_TEMPLATE"):
        data = read(form)
        if form.stem == "config" or not data:
            continue
        want(data.get("name") not in names, form, "another form has its name")
        names.add(data.get("name"))
        body = maps(data, "body")
        for key in ("id", "label"):
            every = [str(item[key]) for item in body + [item.get("attributes") or {} for item in body] if key in item]
            want(len(every) == len(set(every)), form, f"one {key} twice")
        for item in body:
            options = (item.get("attributes") or {}).get("options") or []
            if item.get("type") == "dropdown":
                want(all(isinstance(one, str) for one in options), form, f"an option is no text: {options}")
                chosen = item["attributes"].get("default")
                fits = chosen is None or isinstance(chosen, int) and 0 <= chosen < len(options)
                want(fits, form, f"default {chosen} is no option")
        want(any(item.get("type") != "markdown" for item in body), form, "nothing to fill in")
        # Not in a comment; over the end of a line, too.
        want("clocksmith collect" in re.sub(r"(\\n|\s)+", " ", str(body)), form, "does not ask for `clocksmith collect`")


def runs(job):
    """The commands of a job's steps."""
    return [step["run"] for step in maps(job, "steps") if isinstance(step.get("run"), str)]


def calls(commands, program):
    """Each call of a program in commands of a shell: its arguments as far as they are words."""
    # Lines that are continued are one.
    for line in commands.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.replace("$(", "( ").replace("`", " ; "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            # Quotes that end on another line.
            continue
        for at, word in enumerate(words):
            if word != program:
                continue
            arguments = []
            for argument in words[at + 1 :]:
                if not re.fullmatch(r"[a-z0-9-]+", argument):
                    break
                arguments.append(argument)
            yield arguments


def workflows():
    """Every script and every step that a workflow runs is here."""
    for flow in files("workflows"):
        data = read(flow)
        if not data:
            continue
        jobs = data.get("jobs")
        each = list(jobs.values()) if isinstance(jobs, dict) else []
        stated = "permissions" in data or each and all(isinstance(job, dict) and "permissions" in job for job in each)
        want(stated, flow, "no permissions")
        for holder in [data, *(job for job in each if isinstance(job, dict))]:
            want(holder.get("permissions") != "write-all", flow, "permissions: write-all; name those that a job needs")
        for commands in (command for job in each for command in runs(job)):
            code = re.sub(r"(?m)(^|(?<=\s))#.*$", "", commands)
            for script in re.findall(r"(?<![\w./-])(?:\./|packaging/)[a-z-]+\.sh\b", code):
                want(os.access(script, os.X_OK), flow, f"{script} is not there, or not executable")
            for arguments in calls(code, ".ci/run"):
                if arguments and arguments[0].startswith("-"):
                    want(arguments[0] in ("--tools", "--help"), flow, f".ci/run has no option {arguments[0]}")
                steps = [one for one in arguments[1:] if one != "all"] if arguments[:1] == ["--tools"] else []
                asked = steps and subprocess.run(["./test.sh", "--needs", "steps", *steps], capture_output=True, text=True)
                if asked and asked.returncode:
                    wrong.append(f"{flow}: .ci/run --tools: {(asked.stderr.strip() or 'no answer').splitlines()[0]}")
            for arguments in calls(code, "./test.sh"):
                if "--help" in arguments:
                    continue
                if arguments[:1] == ["--needs"]:
                    arguments = arguments[2:]
                asked = subprocess.run(["./test.sh", "--needs", "steps", *arguments], capture_output=True, text=True)
                want(asked.returncode == 0, flow, (asked.stderr.strip() or "no answer").splitlines()[0])


def hooks():
    """https://pre-commit.com/#new-hooks; composite actions: https://docs.github.com/actions"""
    action = read(pathlib.Path("action.yml"))
    for used in sorted(set(re.findall(r"\binputs\.([\w-]+)", str(action.get("runs"))))):
        want(used in (action.get("inputs") or {}), "action.yml", f"inputs.{used} is used and not declared")
    for step in maps(action.get("runs"), "steps"):
        want("uses" in step or ("run" in step and "shell" in step), "action.yml", f"a step without shell: {step}")
    path = pathlib.Path(".pre-commit-hooks.yaml")
    for hook in read(path, list):
        for key in ("id", "name", "entry", "language"):
            want(isinstance(hook, dict) and hook.get(key), path, f"no {key}")


for check in (dependabot, forms, workflows, hooks):
    check()
for line in wrong:
    print(f"actions: {line}", file=sys.stderr)
sys.exit(bool(wrong))

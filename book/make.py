#!/usr/bin/env python3
"""Writes the pages of the book that are made from the program and its sources.

    book/make.py              writes them (after a change of a cause, a rule, a version)
    book/make.py --check      fails if one is missing or is not what would be written

    --clocksmith FILE         the program (target/debug/clocksmith below CARGO_TARGET_DIR)

What is made: the pages of the causes, from the ids in the schema of `why`, from their pages in
`crates/diagnose/knowledge/causes` (whose kernel lines are proven here: each must lead to its cause); the versions of the
kernel's rules, from `crates/kernel/src/feature.rs`; those rules, from the answers of `clocksmith predict`; the rules of `vm lint`, from their pages in
`crates/vm` and `clocksmith explain`, and the kinds of its files; the design of the clock, from `crates/clock/src/guide.rs`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BOOK = Path(__file__).resolve().parent
TOP = BOOK.parent
KNOWLEDGE = TOP / "crates/diagnose/knowledge/causes"
NOTE = "<!-- Made by book/make.py; do not edit. -->\n\n"


class Wrong(Exception):
    """An error to correct before pages can be made."""


def program(given):
    """The program to ask."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))
    found = Path(given) if given else TOP / target / "debug" / "clocksmith"
    if not found.is_file():
        raise Wrong(f"no program at {found}: cargo build -p clocksmith-cli --features full, or --clocksmith FILE")
    return str(found.resolve())


def run(command, cwd=None):
    """Standard output of a command that may say that the answer is bad, but must not fail."""
    env = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=60)
    if done.returncode not in (0, 1, 3):
        raise Wrong(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def explain(clocksmith, word):
    """The first explanation of a word, which must have its name."""
    document = json.loads(run([clocksmith, "explain", "--json", word]))
    for entry in document["explanations"]:
        if entry["title"] == word:
            return entry
    raise Wrong(f"`clocksmith explain {word}` explains something else, or nothing")


def code(text):
    """Text with the words of the field set as code: paths, functions, parameters, options."""
    parts = re.split(r"(`[^`]*`|https?://\S+)", text)
    word = re.compile(
        r"(?<![\w/`])("
        r"clocksmith (?:why|predict|explain|verify|check|watch|collect|fleet|bench|fix|vm|run|who)\b"
        r"(?: (?:lint|migrate|--?[a-z][\w-]*|FILE|PID|WORD)\b)*"
        r"|[\w./-]+/[\w./-]+\.(?:cpp|c|h|S|rst|rs|json)\b"
        r"|\w+\(\)"
        r"|--[a-z][\w-]*|/(?:sys|proc|etc|var|dev)/[\w/.-]*\w"
        r"|(?:tsc|clocksource|notsc|vdso|hpet|pmtmr|nohz|highres|idle|lapic|nosmp|acpi)=[\w.,=<>-]*\w"
        r"|\w+\.max_cstate=\d|\w+(?:_\w+)+(?:\.[chS]\b|=[\w.]*\w|=\"[^\"]*\"|=|\(\"[^\"]*\"\))?"
        r")"
    )
    # HTML only outside of code, which Markdown escapes itself.
    plain = lambda part: word.sub(r"`\1`", part.replace("<", "&lt;").replace(">", "&gt;"))
    return "".join(part if part.startswith(("`", "http")) else plain(part) for part in parts)


def cause_ids():
    """The ids of the causes, in the order of the program, from the published schema."""
    schema = json.loads((TOP / "schemas/clocksmith.why.v1.json").read_text())
    ids = []
    for one in schema["$defs"]["CauseId"]["oneOf"]:
        ids += one.get("enum", [one["const"]] if "const" in one else [])
    if len(ids) < 20:
        raise Wrong("the schema of `why` lists too few causes")
    return ids


def answer(clocksmith, file, log):
    """What `why` says of a log in a file, up to its advice; the rest is left out with `...`."""
    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch) / file, log)
        text = run([clocksmith, "why", "--log", file], cwd=scratch)
    kept = []
    for line in text.rstrip("\n").split("\n"):
        if line.startswith(("What to do", "What not to do", "How Linux decided", "Not seen")):
            break
        kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join(kept)


def seen(page):
    """Where a cause's page says that it is seen: its kernel lines by version, or another place."""
    table = {}
    for section in page.split("\n## ")[1:]:
        head, _, body = section.partition("\n")
        if head == "Where it is seen":
            table["elsewhere"] = " ".join(body.split())
        elif head == "Kernel lines":
            found = re.findall(r"### Linux ([^\n]+)\n\n```text\n(.*?)```", body, re.S)
            table["era"] = [{"kernels": kernels, "log": log} for kernels, log in found]
    if not table:
        raise Wrong("a cause's page has neither `## Kernel lines` nor `## Where it is seen`")
    return table


def lines_of_eras(clocksmith, cause, eras, files):
    """The logs of a cause, each in a file that leads to that cause, and the section about them."""
    text = "## Kernel messages\n\n"
    names = []
    for index, era in enumerate(eras):
        name = f"causes/{cause}.log" if len(eras) == 1 else f"causes/{cause}-{index + 1}.log"
        files[BOOK / "samples" / name] = era["log"]
        names.append(name)
        kernels = re.sub(r"^all\b", "of all versions", era["kernels"])
        text += f"Linux {kernels} (`{name}`):\n\n```text\n{era['log'].rstrip()}\n```\n\n"
        done = subprocess.run(
            [clocksmith, "why", "--json", "--log", "-"],
            input=era["log"], capture_output=True, text=True, timeout=60,
        )
        try:
            found = [c["id"] for c in json.loads(done.stdout)["causes"]]
        except (ValueError, KeyError):
            raise Wrong(f"{cause}, {era['kernels']}: no diagnosis: {done.stderr.strip()}") from None
        if cause not in found:
            raise Wrong(f"{cause}: the lines for {era['kernels']} lead to {found}")
    return text, names


def cause_page(clocksmith, cause, eras, ids, files):
    """One page."""
    entry = explain(clocksmith, cause)
    page = NOTE + f"# {cause}\n\n{code(entry['what'])}\n\n"
    page += f"**What it means.** {code(entry['so_what'])}\n\n"
    page += f"**What to do.** {code(entry['do_what'])}\n\n"
    page += f"**In which kernels.** {code(entry['versions'])}\n\n"
    names = []
    if "elsewhere" in eras:
        page += f"## Where it is seen\n\n{eras['elsewhere']}\n\n"
    if "era" in eras:
        text, names = lines_of_eras(clocksmith, cause, eras["era"], files)
        page += text
    page += "## Output\n\n"
    if names:
        said = answer(clocksmith, names[-1], eras["era"][-1]["log"])
        page += f"```console\n$ clocksmith why --log {names[-1]}\n{said}\n...\n```\n\n"
    else:
        head = run([clocksmith, "explain", cause]).rstrip()
        page += f"```console\n$ clocksmith explain {cause}\n{head}\n```\n\n"
    links = [
        f"[{word}]({word}.md)" if word in ids else f"`clocksmith explain \"{word}\"`"
        for word in entry["see_also"]
    ]
    page += f"See also: {', '.join(links)}.\n\n"
    page += "".join(f"Source: {code(source)}.\n" for source in entry["sources"])
    return page


def causes(clocksmith, files):
    """The pages of all causes, and their list."""
    table = {path.stem: seen(path.read_text()) for path in sorted(KNOWLEDGE.glob("*.md"))}
    ids = cause_ids()
    for missing in [i for i in ids if i not in table]:
        raise Wrong(f"{KNOWLEDGE / missing}.md does not exist")
    for unknown in [i for i in table if i not in ids]:
        raise Wrong(f"{KNOWLEDGE / unknown}.md: the program has no such cause")
    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(lambda c: cause_page(clocksmith, c, table[c], ids, files), ids))
    index = NOTE + (
        "# The causes\n\nEvery report of `clocksmith why` names its causes by these ids, which are also in the JSON document\n"
        "and never change their meaning. Each page has the kernel lines of several versions, and the report about\n"
        "one of them. `clocksmith explain ID` shows the text on a terminal.\n\n"
        "| cause | what happened |\n|---|---|\n"
    )
    for cause, page in zip(ids, pages):
        files[BOOK / f"src/causes/{cause}.md"] = page
        what = re.split(r"(?<=[\w)])\. ", explain(clocksmith, cause)["what"])[0].rstrip(".")
        index += f"| [{cause}](causes/{cause}.md) | {code(what)} |\n"
    logs = sum(len(table[i].get("era", [])) for i in ids)
    index += f"\n{len(ids)} causes; {logs} logs, each of which leads to its cause: `book/make.py --check`.\n"
    files[BOOK / "src/causes.md"] = index


def features(files):
    """The table of versions, from the source that has it."""
    source = (TOP / "crates/kernel/src/feature.rs").read_text()
    body = source[source.index("\nfeatures! {"):]
    body = body[: body.index("\n}")]
    version = r"(?:v\((\d+), (\d+)\)|Version::new\((\d+), (\d+), (\d+)\)|(OLDEST))"
    words, rows = {}, {}
    for doc, name, chunk in re.findall(r"((?:    ///[^\n]*\n)+)    (\w+) => ([^;]*);", body):
        words[name] = " ".join(doc.replace("///", " ").split())
        found = []
        for a, b, x, y, z, oldest in re.findall(version, chunk):
            if oldest:
                found.append("2.6.32")
            elif a:
                found.append(f"{a}.{b}")
            else:
                found.append(f"{x}.{y}.{z}" if z != "0" else f"{x}.{y}")
        lost = chunk.startswith("lost_early")
        until = "until" in chunk or chunk.startswith("span") or lost
        stable = found[2:] if until else found[1:]
        text = f"{found[0]} up to before {found[1]}" if until else f"{found[0]} and later"
        if found[0] == "2.6.32" and until:
            text = f"before {found[1]}"
        if lost:
            text += f", and not {stable[0]} and later of that line"
        elif chunk.startswith("backported_between"):
            text += f"; also {stable[1]} and later of that line, and perhaps {stable[0]} to before that"
        elif stable:
            text += "; also " + ", ".join(f"{s} and later of that line" for s in stable)
        rows[name] = text
    if len(rows) < 40:
        raise Wrong(f"feature.rs is not understood: {len(rows)} rows")
    page = NOTE + (
        "# Versions of the rules\n\nWhat changed in the kernel's clock code, and in which version: the program's own table\n"
        "(`crates/kernel/src/feature.rs`), by which `why` and `predict` decide. The versions are upstream's;\n"
        "distributions backport more than that, so if a machine shows something else, the machine is right.\n\n"
        "| what | in Linux |\n|---|---|\n"
    )
    for name, what in words.items():
        page += f"| {code(what.rstrip('.'))} | {rows[name]} |\n"
    page += f"\n{len(rows)} changes. Kernels of Red Hat keep an old version and receive newer code; `feature.rs` knows some of it.\n"
    files[BOOK / "src/kernel/versions.md"] = page


KERNELS = ["2.6.32", "3.2", "4.14", "5.4", "6.1", "6.12", "7.1"]
HYPERVISORS = ["none", "kvm", "xen", "xen-pv", "vmware", "hyperv", "virtualbox", "tcg", "bhyve"]
PARAMETERS = [
    "notsc", "tsc=unstable", "tsc=reliable", "clocksource=hpet", "clocksource=tcs", "hpet=disable", "pmtmr=0",
    "acpi=off", "clearcpuid=4",
]
UNTRUSTED = ["--set", "vendor=AMD", "--set", "invtsc=no", "--cpus", "2"]


def questions():
    """What-if questions to `predict`, in which (nearly) every rule answers."""
    for kernel in KERNELS[::-1]:
        for hypervisor in HYPERVISORS:
            yield ["--kernel", kernel, "--hypervisor", hypervisor]
        yield ["--kernel", kernel, *UNTRUSTED]
        for word in PARAMETERS:
            yield ["--kernel", kernel, "--cmdline", word]
        for word in ["nopv", "no-kvmclock", "clocksource=tsc"]:
            yield ["--kernel", kernel, "--hypervisor", "kvm", *UNTRUSTED, "--cmdline", word]
        yield ["--kernel", kernel, "--hypervisor", "hyperv", "--set", "invtsc=yes"]
        for arch in ["arm64", "riscv", "s390x", "ppc64le"]:
            yield ["--kernel", kernel, "--set", f"arch={arch}"]


def rules(clocksmith, files):
    """The rules of the model, from its own answers; their names, from its source."""
    source = "".join(p.read_text() for p in sorted((TOP / "crates/kernel/src").rglob("*.rs")))
    names = set(re.findall(r'\breason\(\s*"([^"]+)"', source))
    asked = list(questions())
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda a: run([clocksmith, "predict", "--blank", "--json", *a]), asked)
        found = {}
        for words, answer_text in zip(asked, answers):
            for reason in json.loads(answer_text)["reasons"]:
                key = (reason["rule"], reason["source"])
                found.setdefault(key, (reason["because"], words))
    page = NOTE + (
        "# Every rule of the model\n\nThe rules by which `clocksmith why` and `clocksmith predict` decide. Each entry has an example of the\n"
        "rule's text, the kernel's function with its versions, and a command that shows the rule.\n"
    )
    last = None
    for (rule, where), (because, words) in sorted(found.items()):
        if rule != last:
            page += f"\n## {rule}\n\n"
            last = rule
        because = re.sub(r" \[[^\]]*\]", "", because)
        question = " ".join(f'"{w}"' if " " in w else w for w in words)
        page += f"- {code(because)}. Kernel: {code(where)}. `clocksmith predict -v --blank {question}`\n"
    silent = sorted(names - {rule for rule, _ in found})
    if len(names) < 20 or len(silent) > 4:
        raise Wrong(f"no question makes these rules of the kernel's model answer: {silent}")
    page += f"\n{len({r for r, _ in found})} rules"
    if silent:
        page += f"; others appear in special cases only: {', '.join(silent)}"
    page += ". What changed when: [versions](versions.md).\n"
    files[BOOK / "src/kernel/list.md"] = page


FORMATS = TOP / "crates/vm/src/formats"
# Where a list of the kinds stands, behind this line.
LISTS = [TOP / "README.md", BOOK / "src/verbs/vm-lint.md"]
LIST = "[//]: # (kinds of files: book/make.py writes the list)\n\n"


def vm_pages():
    """The pages of rules, in the order of the registry."""
    registry = (FORMATS / "mod.rs").read_text()
    return [(FORMATS / name / "rules.md").read_text() for name in re.findall(r"= (\w+)::FORMAT,", registry)]


def vm_rules(clocksmith, files):
    """The rules of `vm lint`, by the kind that has them."""
    page = NOTE + (
        "# Every rule of vm lint\n\nThe findings that `clocksmith vm lint` reports, each with its reason, risk and source. "
        "`clocksmith explain ID`\nshows one on a terminal.\n"
    )
    total = 0
    for rules in vm_pages():
        page += f"\n## {rules.splitlines()[0].removeprefix('# ')}\n"
        for rule in sorted(re.findall(r"^## (\S+)$", rules, re.MULTILINE)):
            row = explain(clocksmith, rule)
            total += 1
            risk = row["do_what"].split("Risk: ", 1)[-1]
            page += f"\n### {row['title']}\n\n{code(row['what'])} {code(row['so_what'])}\n\n"
            page += f"Risk of the fix: {code(risk.rstrip('.'))}.\n\nSource: {code('; '.join(row['sources']))}.\n"
    page += f"\n{total} rules.\n"
    files[BOOK / "src/vm/rules.md"] = page


def vm_lists(files):
    """The lists of kinds: the first line of each page, or what its second line says instead."""
    kinds = []
    for page in vm_pages():
        instead = re.search(r"^In lists: (.*)$", page, re.MULTILINE)
        kinds.append(instead[1] if instead else page.splitlines()[0].removeprefix("# "))
    for path in LISTS:
        before, mark, after = path.read_text().partition(LIST)
        paragraph, *rest = after.split("\n\n", 1)
        begin, middle, end = kinds[0] + ", ", ", ".join(kinds[1:-1]), ", " + kinds[-1]
        pattern = re.escape(begin) + ".*" + re.escape(end)
        words, times = re.subn(pattern, lambda _: begin + middle + end, " ".join(paragraph.split()), count=1)
        if not mark or not times:
            raise Wrong(f"{path.relative_to(TOP)} has no list from {kinds[0]} to {kinds[-1]} behind {LIST.strip()}")
        paragraph = textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False)
        files[path] = before + mark + "\n\n".join([paragraph, *rest])


def clock(files):
    """The guide of the library, without what only rustdoc reads."""
    text = (TOP / "crates/clock/src/guide.rs").read_text()
    page = NOTE + "# The design of the clock\n\nThe guide of the library `clocksmith` (`cargo doc -p clocksmith --open`).\n"
    section = []
    for line in text.splitlines():
        if line.startswith("///"):
            section.append(line[4:] if line.startswith("/// ") else "")
        elif line.startswith("pub mod") and section:
            title, *rest = section
            page += f"\n## {title.rstrip('.')}\n" + "\n".join(
                re.sub(r"^# ", "### ", row) for row in rest
            ) + "\n"
            section = []
    # Links into rustdoc become plain words.
    page = re.sub(r"\[(`[^`\]]+`)\]\([^)]*\)", r"\1", page)
    page = re.sub(r"\[`([^`\]]+)`\](?!\()", r"`\1`", page)
    if "The kernel's own numbers" not in page:
        raise Wrong("crates/clock/src/guide.rs is not understood")
    files[BOOK / "src/clock/design.md"] = page


def write(path, text):
    """Writes a file if that changes anything."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description="Writes the pages of the book that are made.")
    parser.add_argument("--check", action="store_true", help="fail if a page is not what would be written")
    parser.add_argument("--clocksmith", metavar="FILE", help="the program")
    args = parser.parse_args()
    files = {}
    try:
        clocksmith = program(args.clocksmith)
        causes(clocksmith, files)
        features(files)
        rules(clocksmith, files)
        vm_rules(clocksmith, files)
        vm_lists(files)
        clock(files)
    except Wrong as wrong:
        sys.exit(f"book/make.py: {wrong}")
    made = [BOOK / "src/causes", BOOK / "samples/causes"]
    left = [p for folder in made if folder.is_dir() for p in folder.iterdir() if p not in files]
    old = [p for p, text in files.items() if not p.exists() or p.read_text() != text]
    if args.check:
        for path in sorted(old + left):
            print(f"not up to date: {path.relative_to(TOP)}", file=sys.stderr)
        if old or left:
            sys.exit("book/make.py: run book/make.py, and look at what changed")
    else:
        for path in left:
            path.unlink()
        for path, text in files.items():
            write(path, text)
    print(f"made pages: {sum(p.suffix == '.md' for p in files)}, logs of causes: {sum(p.suffix == '.log' for p in files)}")


if __name__ == "__main__":
    main()

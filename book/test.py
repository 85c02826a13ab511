#!/usr/bin/env python3
"""Tests the book: every command in it is run, and what is printed is compared with what stands there.

    book/test.py                     all pages
    book/test.py tour.md verbs/      these pages
    book/test.py --update            writes what the commands print now into the pages (not the live ones)
    book/test.py --update --live     the live ones, too
    book/test.py --html DIR          also looks at the links of the built book

    --clocksmith FILE                the program (target/debug/clocksmith below CARGO_TARGET_DIR)

A block that begins with ```console is run, in a copy of `book/samples` that all blocks of a page share. Lines that
begin with `$ ` are commands (a backslash at the end continues one), the others what they print, both streams.
A line `...` stands for any number of lines. A command that ends with another code than 0, 1 (a bad answer) or 3 (not
known) fails, unless the next one is `echo $?`. In the line before a block:

    <!-- live: ONE | TWO -->    it depends on the machine: only these words are wanted in what it prints. What fails is run
                                once more, alone; a second failure counts
    <!-- not-run: REASON -->    it cannot be run here; its options are looked up all the same. These are counted

`sudo COMMAND` runs the command (a live one is run by root only); `journalctl` and `dmesg` print the samples `server.log`: a test changes nothing
of the machine. Every `clocksmith ...` outside of such blocks (in code, in the pages that are included) is looked
up: there must be such a verb with such options; so it is in the Markdown outside the book, in `action.yml` and in
`.pre-commit-hooks.yaml`. And every page is in the summary,
every link leads somewhere, also in the Markdown outside the book, and every file, every step of `./test.sh` and every
test (`file.rs::function`) that a text names is there, and so is every path in `ARCHITECTURE.md`.
"""

import argparse
import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import links
from options import Options, commands, looked_up

BOOK = Path(__file__).resolve().parent
TOP = BOOK.parent
SRC = BOOK / "src"
MARK = "\x1e"
SECONDS = 120

SHIMS = {
    "sudo": 'while [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"',
    "journalctl": "exec cat \"$SAMPLES/server.log\"",
    "dmesg": "exec cat \"$SAMPLES/server.log\"",
}


class Machine:
    """Who runs commands: several pages at a time, or one alone."""

    def __init__(self):
        self.changed, self.running, self.is_wanted = threading.Condition(), 0, False

    @contextlib.contextmanager
    def beside(self):
        """Beside the commands of other pages, once none runs alone."""
        with self.changed:
            self.changed.wait_for(lambda: not self.is_wanted)
            self.running += 1
        try:
            yield
        finally:
            with self.changed:
                self.running -= 1
                self.changed.notify_all()

    @contextlib.contextmanager
    def alone(self):
        """Once all others have ended; no other begins meanwhile."""
        with self.changed:
            self.changed.wait_for(lambda: not self.is_wanted)
            self.is_wanted = True
            self.changed.wait_for(lambda: self.running == 0)
        try:
            yield
        finally:
            with self.changed:
                self.is_wanted = False
                self.changed.notify_all()


class Block:
    """One ```console block of a page."""

    def __init__(self, page, line, begin, end, lines, note):
        self.page, self.line, self.begin, self.end = page, line, begin, end
        self.live = self.not_run = None
        if note and (found := re.match(r"<!--\s*live:\s*(.*?)\s*-->$", note)):
            self.live = [word for word in map(str.strip, found[1].split("|")) if word]
            if not self.live:
                raise SystemExit(f"{page}:{line}: a live block wants words that the commands print: <!-- live: ONE | TWO -->")
        if note and (found := re.match(r"<!--\s*not-run:\s*(.*?)\s*-->$", note)):
            self.not_run = found[1]
            if not self.not_run:
                raise SystemExit(f"{page}:{line}: why is this block not run? <!-- not-run: REASON -->")
        self.steps = []
        index = 0
        while index < len(lines):
            if not lines[index].startswith("$ "):
                raise SystemExit(f"{page}:{line}: a console block begins with a command: $ ...")
            command = [lines[index]]
            while command[-1].endswith("\\") and index + 1 < len(lines):
                index += 1
                command.append(lines[index])
            index += 1
            output = []
            while index < len(lines) and not lines[index].startswith("$ "):
                output.append(lines[index])
                index += 1
            self.steps.append((command, output))
        if not self.steps:
            raise SystemExit(f"{page}:{line}: a console block without a command")

    def commands(self):
        """The commands as a shell takes them."""
        return ["\n".join(c)[2:] for c, _ in self.steps]


def blocks(path):
    """The console blocks of a page, and its lines."""
    name = str(path.relative_to(SRC))
    lines = path.read_text().split("\n")
    found, index, is_html = [], 0, False
    while index < len(lines):
        fence = re.match(r"^(```+)\s*(\S*)", lines[index])
        # In HTML, too.
        is_html = "</pre" not in lines[index].lower() and (is_html or bool(re.search(r"(?i)<pre\b", lines[index])))
        if not fence:
            # Others are read by the same rules as links are, and must not have commands that nobody runs.
            other = links.FENCE.match(lines[index])
            below = "".join(lines[index + 1 : index + 2]).lstrip(" >\t")
            # In code by its indentation, too.
            if lines[index].startswith(("    $ ", "\t$ ")) or re.match(r"(?i)\s*<pre\b[^\n]*>\s*\$ ", lines[index]) or (
                is_html and lines[index].lstrip().startswith("$ ")
            ):
                raise SystemExit(f"{name}:{index + 1}: a command outside of a console block")
            if other and (other[2].strip().startswith("console") or below.startswith("$ ")):
                raise SystemExit(f"{name}:{index + 1}: a console block begins with ``` at the beginning of its line")
            index += 1
            continue
        end = index + 1
        while end < len(lines) and lines[end].rstrip() != fence[1]:
            end += 1
        if end == len(lines):
            raise SystemExit(f"{name}:{index + 1}: this block does not end")
        if fence[2] == "console":
            note = next((l for l in reversed(lines[:index]) if l.strip()), "")
            body = lines[index + 1 : end]
            found.append(Block(name, index + 1, index + 1, end, body, note.strip()))
        elif any(l.startswith("$ ") for l in lines[index + 1 : end]):
            raise SystemExit(f"{name}:{index + 1}: a command outside of a console block")
        index = end + 1
    return found, lines


def run(block, scratch, env):
    """Runs the commands of a block in one shell; for each, what it printed and how it ended."""
    script = ["set +e", "__code=0"]
    for command in block.commands():
        script += ["(exit $__code)", command, "__code=$?", f"printf '\\n{MARK}%d\\n' $__code"]
    try:
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)], cwd=scratch, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, text=True, errors="replace",
        )
    except subprocess.TimeoutExpired:
        return [(["... did not end"], None)] * len(block.steps)
    results, rest = [], done.stdout
    for _ in block.steps:
        found = re.search(rf"\n{MARK}(\d+)\n", rest)
        if not found:
            results.append((rest.rstrip("\n").split("\n"), done.returncode or 1))
            rest = ""
            continue
        text = rest[: found.start()].rstrip("\n")
        results.append((text.split("\n") if text else [], int(found[1])))
        rest = rest[found.end() :]
    return results


def trimmed(lines):
    """Without blanks at the ends of lines, and without empty lines at the end."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def matches(wanted, seen):
    """Whether what was printed is what is wanted; `...` alone in a line is any number of lines."""
    parts, part = [], []
    for line in trimmed(wanted):
        if line.strip() == "...":
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    seen = trimmed(seen)
    if len(parts) == 1:
        return parts[0] == seen
    if seen[: len(parts[0])] != parts[0]:
        return False
    at = len(parts[0])
    for middle in parts[1:-1]:
        place = next((i for i in range(at, len(seen) - len(middle) + 1) if seen[i : i + len(middle)] == middle), None)
        if place is None:
            return False
        at = place + len(middle)
    last = parts[-1]
    return len(seen) - at >= len(last) and seen[len(seen) - len(last) :] == last


def refreshed(wanted, seen):
    """What is printed now, with as much left out as before: so many lines at the beginning and at the end."""
    seen, wanted = trimmed(seen), trimmed(wanted)
    if not any(line.strip() == "..." for line in wanted):
        return seen
    first = next(i for i, line in enumerate(wanted) if line.strip() == "...")
    last = next(i for i, line in enumerate(reversed(wanted)) if line.strip() == "...")
    if first + last >= len(seen):
        return seen
    return seen[:first] + ["..."] + (seen[len(seen) - last :] if last else [])


def judge(block, results):
    """What is wrong with the block, in words; empty if nothing is."""
    wrong, is_refused = [], False
    for index, ((command, wanted), (seen, code)) in enumerate(zip(block.steps, results)):
        where = f"{block.page}:{block.line}: {command[0]}"
        asked = index + 1 < len(block.steps) and block.steps[index + 1][0][0] == "$ echo $?"
        if code is None:
            wrong.append(f"{where}\n  did not end in {SECONDS} s")
        elif block.live is not None:
            # `run` refuses where the counter of this machine is not proven.
            refused = code == 125 and "clocksmith run" in command[0]
            is_refused |= refused
            if code not in (0, 1, 3) and not asked and not refused:
                wrong.append(f"{where}\n  ended with {code}: {' '.join(seen)[:300]}")
        else:
            if code not in (0, 1, 3) and not asked:
                wrong.append(f"{where}\n  ended with {code}")
            if not matches(wanted, seen):
                wrong.append(f"{where}\n" + difference(wanted, seen))
    if block.live is not None and not is_refused:
        text = " ".join(" ".join(line for seen, _ in results for line in seen).split())
        wrong += [f"{block.page}:{block.line}: `{word}` is not in: {text[:600]}" for word in block.live if word not in text]
    return wrong


def difference(wanted, seen):
    """Two texts, told apart."""
    import difflib

    rows = difflib.unified_diff(trimmed(wanted), trimmed(seen), "in the page", "printed", lineterm="", n=1)
    return "\n".join("  " + row for row in list(rows)[:60])


def steps():
    """The steps of `./test.sh`; none without the program that lists them."""
    listed = subprocess.run([TOP / "test.sh", "--help"], capture_output=True, text=True, timeout=600)
    return set(re.findall(r"(?m)^  ([a-z][a-z-]+) +\d", listed.stdout))


def named(text, known):
    """What is wrong with the steps and the files of the repository that a text names."""
    wrong = [f"`./test.sh` has no step {word}"
             for words in re.findall(r"(?m)(?:`|^    (?:\$ )?)\./test\.sh((?: (?:--[a-z]+|[a-z][a-z-]+))+)(?=[`\n]| {2,}| #)", text)
             for word in words.split() if known and not word.startswith("--") and word not in known | {"all", "ci", "help"}]
    homes = "book|crates|docs|fleet|fuzz|packaging|python|schemas|testbed|xtask|\\.github|\\.ci"
    for path in re.findall(rf"`((?:{homes})/[\w./-]+\w)`", text):
        # QEMU's documentation has such names.
        if not path.endswith(".rst") and not re.search("/[A-Z]+/", path) and not (TOP / path).exists():
            wrong.append(f"{path} is not there")
    return wrong


def included(path):
    """The text of a page with the files that it includes."""
    text = path.read_text()
    def put(found):
        try:
            return (path.parent / found[1].strip()).read_text()
        except OSError as error:
            raise SystemExit(f"{path.relative_to(TOP)}: {found[0]}: {error.strerror}") from None
    return re.sub(r"\{\{#include ([^}:]+)[^}]*\}\}", put, text)


def anchors(text):
    """The ids that headings get."""
    ids = set(re.findall(r"<[a-zA-Z][^<>]*?\b(?:id|name)=\"([^\"]+)\"", text))
    for title in re.findall(r"(?m)^#+ (.*)$", re.sub(r"```.*?\n```", "", text, flags=re.S)):
        plain = re.sub(r"[`*\[\]]|\(.*?\.md.*?\)", "", title).strip().lower()
        name = "".join(c for c in plain.replace(" ", "-") if c.isalnum() or c in "-_")
        # Equal headings are numbered.
        ids.add(next(one for one in itertools.chain([name], (f"{name}-{n}" for n in itertools.count(1))) if one not in ids))
    return ids


# Directories of other programs, whose texts are not ours.
FOREIGN = {".git", "target", "node_modules", "corpus", "vendor", "site-packages"}


def foreign(path):
    """Whether a file is in a directory of another program: an environment of Python, or a cache."""
    above = [TOP / part for part in path.relative_to(TOP).parents]
    return any(
        part.name in FOREIGN or (part / "pyvenv.cfg").exists() or (part / "CACHEDIR.TAG").exists() for part in above
    )


def texts():
    """The Markdown of the repository outside the book: what git tracks or would track, so neither vendored crates nor an
    environment of Python. Without git, what is on the disk but for what is compiled and checked out."""
    # Not those of another repository.
    own = {key: value for key, value in os.environ.items() if key not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")}
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z", "--", "*.md"]
    try:
        done = subprocess.run(command, cwd=TOP, env=own, capture_output=True)
    except OSError:
        done = None
    if done and done.returncode == 0 and done.stdout:
        names = {TOP / os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
        return sorted(p for p in names if p.is_file() and not p.is_relative_to(BOOK) and not foreign(p))
    found = []
    for directory, below, files in os.walk(TOP):
        here = Path(directory)
        if here.is_relative_to(BOOK) or foreign(here / "a file"):
            below[:] = []
            continue
        found += [here / name for name in files if name.endswith(".md")]
    return sorted(found)


def linked(pages):
    """What is wrong with the summary, and with the links of the pages and of the repository's other texts."""
    wrong = []
    summary = set(re.findall(r"\]\(([^)]+\.md)\)", (SRC / "SUMMARY.md").read_text()))
    there = {str(p.relative_to(SRC)) for p in pages} - {"SUMMARY.md"}
    wrong += [f"SUMMARY.md does not have {page}" for page in sorted(there - summary)]
    wrong += [f"SUMMARY.md has {page}, which is not there" for page in sorted(summary - there)]
    for path in pages:
        # A text that pages include has its links from there in the built book.
        if (whole := included(path)) != path.read_text():
            for target in links.own(links.links(whole)[0]):
                goal = (path.parent / target.partition("#")[0]).resolve()
                if not goal.exists() or not goal.is_relative_to(SRC):
                    wrong.append(f"{path.relative_to(SRC)}: {target}, in an included text, is not in the book")
    for path in [*pages, *texts()]:
        found, unclear = links.links(path.read_text())
        wrong += [f"{path.relative_to(TOP)}: {one}" for one in unclear]
        for target in links.own(found):
            file, _, anchor = target.partition("#")
            # Hosts of a repository begin such a path at its top; the built book has no such place.
            above = TOP if file.startswith("/") and not path.is_relative_to(SRC) else path.parent
            goal = (above / (file.lstrip("/") if above is TOP else file)).resolve() if file else path
            name = path.relative_to(SRC if path.is_relative_to(SRC) else TOP)
            if not goal.exists():
                wrong.append(f"{name}: {target} is not there")
            elif anchor and not goal.is_file():
                wrong.append(f"{name}: {target} is no file, and has no headings")
            elif anchor and anchor not in anchors(included(goal)):
                wrong.append(f"{name}: {target}: no such heading")
    return wrong


def proofs(pages):
    """Tests that texts name (`file.rs::function`) and that are not there."""
    wrong, files = [], [p for top in ("crates", "xtask", "testbed", "fleet", "shims") for p in (TOP / top).rglob("*.rs")]
    for path in pages:
        for file, function in re.findall(r"`([\w./-]+\.rs)::(\w+)`", path.read_text()):
            # As a whole path, or as the end of one.
            sources = [TOP / file] if "/" in file else [p for p in files if p.name == file]
            if not any(p.is_file() and re.search(rf"\bfn {function}\b", p.read_text()) for p in sources):
                wrong.append(f"{path.relative_to(TOP)}: there is no test {file}::{function}")
    return wrong


def places():
    """Paths that ARCHITECTURE.md names and that are not there, as a whole or as the end of one."""
    wrong, files = [], [str(p) for top in ("crates", "xtask") for p in (TOP / top).rglob("*")]
    for name in re.findall(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.rs)`", (TOP / "ARCHITECTURE.md").read_text()):
        path = name.rstrip("/")
        if not (TOP / path).exists() and not any(f.endswith(f"/{path}") for f in files):
            wrong.append(f"ARCHITECTURE.md: {name} is not there")
    return wrong


def built(directory):
    """What is wrong with the built book: links that lead nowhere, resources from elsewhere."""
    wrong, count = [], 0
    for page in sorted(directory.rglob("*.html")):
        if page.name in ("print.html", "toc.html", "404.html"):
            continue
        text = page.read_text(errors="replace")
        body = text[text.find("<main") : text.find("</main>")]
        for tag, target in re.findall(r"<(script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"([^\"]*)\"", text):
            if re.match(r"(https?:)?//", target) and "canonical" not in target:
                wrong.append(f"{page.name}: <{tag}> from elsewhere: {target}")
        ids = set(re.findall(r"\bid=\"([^\"]+)\"", text))
        for target in re.findall(r"<a\b[^>]*?\bhref=\"([^\"]*)\"", body):
            if re.match(r"[a-z]+:|//", target) or not target:
                continue
            count += 1
            file, _, anchor = target.partition("#")
            goal = (page.parent / file).resolve() if file else page
            if not goal.exists():
                wrong.append(f"{page.relative_to(directory)}: {target} is not there")
            elif anchor and goal == page and anchor not in ids:
                wrong.append(f"{page.relative_to(directory)}: {target}: no such place")
    return wrong, count


def page(path, args, clocksmith, options, machine):
    """Runs the blocks of a page: counts, what is wrong, what is not run."""
    counts = {"run": 0, "live": 0, "not run": 0, "looked up": 0}
    wrong, reasons, changed = [], [], []
    found, lines = blocks(path)
    with tempfile.TemporaryDirectory(prefix="book-") as base:
        base = Path(base)
        shutil.copytree(BOOK / "samples", base / "samples", symlinks=True)
        for folder in ("bin", "home", "state"):
            (base / folder).mkdir()
        (base / "bin/clocksmith").symlink_to(clocksmith)
        for name, text in SHIMS.items():
            (base / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (base / "bin" / name).chmod(0o755)
        env = {
            "PATH": f"{base}/bin:{os.environ.get('PATH', '/usr/bin:/bin')}", "HOME": f"{base}/home",
            "XDG_STATE_HOME": f"{base}/state", "SAMPLES": str(base / "samples"), "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "USER": "user",
        }
        for block in found:
            rights = block.live is not None and any(c.startswith("sudo ") for c in block.commands())
            if rights and os.geteuid() != 0:
                block.not_run = "needs root, which this test does not have"
            if block.not_run is not None:
                counts["not run"] += len(block.steps)
                reasons.append(f"not run: {block.page}:{block.line}: {block.not_run}")
                for command in block.commands():
                    for one in re.findall(r"clocksmith [^|;&]*", command):
                        if (why := options.wrong(one)):
                            wrong.append(f"{block.page}:{block.line}: {one}: {why}")
                continue
            with machine.beside():
                results = run(block, base / "samples", env)
            # A live block measures this machine, which the other pages have kept busy.
            if block.live is not None and (first := judge(block, results)):
                with machine.alone():
                    results = run(block, base / "samples", env)
                if not judge(block, results):
                    reasons.append(f"{block.page}:{block.line}: good only when it ran once more, alone; before: {first[0]}")
            counts["live" if block.live is not None else "run"] += len(block.steps)
            if args.update and (block.live is None or args.live):
                new = []
                for (command, wanted), (seen, _) in zip(block.steps, results):
                    keep = block.live is None and matches(wanted, seen)
                    new += command + (wanted if keep else refreshed(wanted, seen))
                if new != lines[block.begin : block.end]:
                    changed.append((block, new))
                    block_again = Block(block.page, block.line, 0, 0, new, "")
                    block.steps = block_again.steps
            wrong += judge(block, results)
        for block, new in reversed(changed):
            lines[block.begin : block.end] = new
        if changed:
            path.write_text("\n".join(lines))
            print(f"changed: {path.relative_to(TOP)}")
    for command in looked_up(included(path), options.verbs()):
        counts["looked up"] += 1
        if (why := options.wrong(command)):
            wrong.append(f"{path.relative_to(SRC)}: `{command}`: {why}")
    return counts, wrong, reasons


def main():
    parser = argparse.ArgumentParser(description="Runs every command of the book.")
    parser.add_argument("pages", nargs="*", help="pages or folders below book/src")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--live", action="store_true", help="with --update: the live blocks, too")
    parser.add_argument("--html", metavar="DIR", type=Path)
    parser.add_argument("--clocksmith", metavar="FILE")
    args = parser.parse_args()

    target = TOP / os.environ.get("CARGO_TARGET_DIR", "target")
    clocksmith = Path(args.clocksmith or target / "debug" / "clocksmith").resolve()
    if not clocksmith.is_file():
        sys.exit(f"book/test.py: no program at {clocksmith}: cargo build -p clocksmith-cli --features full, or --clocksmith FILE")

    pages = sorted(SRC.rglob("*.md"))
    chosen = [p for p in pages if not args.pages or any(str(p.relative_to(SRC)).startswith(n) for n in args.pages)]
    counts = {"run": 0, "live": 0, "not run": 0, "looked up": 0}
    wrong, reasons = [], []
    options, machine = Options(str(clocksmith)), Machine()
    # Those with the most measurements take longest.
    chosen.sort(key=lambda path: -path.read_text().count("<!-- live:"))
    # Four at a time: most of the time is spent in waiting for measurements, of which only some words matter.
    with ThreadPoolExecutor(1 if args.update and args.live else 4) as pool:
        for one, bad, why in pool.map(lambda path: page(path, args, clocksmith, options, machine), chosen):
            counts = {key: counts[key] + one[key] for key in counts}
            wrong += bad
            reasons += why
    if args.pages and not chosen:
        sys.exit(f"book/test.py: no page begins with {' or '.join(args.pages)}; pages are named from book/src")
    if not args.pages:
        # What was is told with the names of its time.
        now = [p for p in [*pages, *texts()] if p.name != "CHANGELOG.md" and "decisions" not in p.parts]
        wrong += linked(pages) + proofs(now) + places()
        known = steps()
        for path in now:
            wrong += [f"{path.relative_to(TOP)}: {one}" for one in named(path.read_text(), known)]
        # What other programs call.
        for path in [TOP / ".pre-commit-hooks.yaml", TOP / "action.yml"]:
            for command in commands(path.read_text().replace(chr(34) + "$CLOCKSMITH" + chr(34), "clocksmith"), options.verbs()):
                counts["looked up"] += 1
                if (why := options.wrong(command)):
                    wrong.append(f"{path.relative_to(TOP)}: `{command}`: {why}")
        for path in [p for p in now if p not in pages]:
            for command in looked_up(path.read_text(), options.verbs()):
                counts["looked up"] += 1
                if (why := options.wrong(command)):
                    wrong.append(f"{path.relative_to(TOP)}: `{command}`: {why}")
    else:
        print("links, and the names of files, steps and tests, were not looked at: pages were named")
    for one in wrong:
        print(f"wrong: {one}")
    print(f"pages: {len(chosen)}, commands run and compared: {counts['run']}, run on this machine: {counts['live']}, "
          f"not run: {counts['not run']}, looked up: {counts['looked up']}, wrong: {len(wrong)}")
    if wrong:
        print("if what is printed now is right: book/test.py --update --clocksmith FILE, and read the difference")
    for reason in reasons:
        print(reason)
    if args.html:
        bad, count = built(args.html.resolve())
        for one in bad:
            print(f"wrong: {one}")
        print(f"links in the built book: {count}, wrong: {len(bad)}")
        wrong += bad
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

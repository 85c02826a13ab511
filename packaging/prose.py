#!/usr/bin/env python3
"""Checks the words of texts against packaging/prose.toml; docs/style.md explains the rules.

    packaging/prose.py                  every text of the repository, and the comments outside of tests (`code` in the list)
    packaging/prose.py PATH...          these files and directories
    packaging/prose.py --code           also comments and strings of Rust: counts by crate, no failure
    packaging/prose.py --code PATH...   each hit in these files and directories

Fenced and indented blocks, `code`, HTML comments, link targets and front matter are not read, nor, in YAML, comments. In
Rust, `code` in comments is not read either, nor is anything but comments and string literals.

Exits with 1 if a text has a hit, with 2 if the word list or a path cannot be used.
"""

import argparse
import fnmatch
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LIST = TOP / "packaging/prose.toml"
# Not those of another repository.
OWN = {key: value for key, value in os.environ.items() if key not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")}
MADE = re.compile(r"<!-- (Made|Written) by ")


def stop(message):
    """Ends the program, because it cannot check anything."""
    print(f"prose: {message}", file=sys.stderr)
    sys.exit(2)


def blank(found):
    """Spaces in place of a match, so that lines and columns stay where they are."""
    return re.sub(r"[^\n]", " ", found[0])


FRONT = re.compile(r"(?ms)\A---[ \t]*\n.*?^(---|\.\.\.)[ \t]*$")
ITEM = re.compile(r"([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")


def indented(text):
    """A page without its indented blocks. Four spaces count from where the text of the list's item begins:
    https://spec.commonmark.org/0.31.2/#list-items"""
    lines, items, block, empty = [], [], False, True
    for line in text.split("\n"):
        wide = line.expandtabs(4)
        depth = len(wide) - len(wide.lstrip())
        if not wide.strip():
            empty = True
            lines.append(line)
            continue
        # A line that begins before an item's text ends the item, unless it continues the paragraph.
        while items and depth < items[-1] and (empty or ITEM.match(wide, depth)):
            items.pop()
        base = items[-1] if items else 0
        block = depth >= base + 4 and (block or empty)
        empty = False
        # An item's text may begin with an item.
        at = depth
        while not block and (item := ITEM.match(wide, at)):
            # Of text that is further away, all but one space is an indented block.
            at = item.end() if len(item[2]) <= 4 else item.end(1) + 1
            items.append(at)
        lines.append(" " * len(line) if block else line)
    return "\n".join(lines)


def markdown(text):
    """A page without what is not prose."""
    text = FRONT.sub(blank, text)
    text = re.sub(r"(?ms)^([ \t]*)(```+|~~~+).*?^\1\2[ \t]*$", blank, text)
    text = re.sub(r"(?s)<!--.*?-->", blank, text)
    return inline(indented(text))


def settings(text):
    """A YAML file, whose values are Markdown, without what is not prose. Its indentation is YAML's."""
    text = re.sub(r"(?m)^[ \t]*#.*$", blank, text)
    return inline(re.sub(r"(?ms)^([ \t]*)(```+|~~~+).*?^\1\2[ \t]*$", blank, text))


def inline(text):
    """A text without code, HTML and the targets of links in its lines."""
    text = re.sub(r"(?s)(`+)(?!`).+?(?<!`)\1(?!`)", blank, text)
    # HTML: elements whose content is code, and the attributes of the others.
    text = re.sub(r"(?is)<(code|kbd|samp|pre|script|style)\b[^>]*>.*?</\1>", blank, text)
    text = re.sub(r"<[A-Za-z][^<>]*>", blank, text)
    text = re.sub(r"\]\([^)\s]*", blank, text)
    return re.sub(r"\{\{#[^}]*\}\}|https?://\S+", blank, text)


RUST = re.compile(
    r"""(?sx)
    (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?P<raw> \bb?r(?P<hash>\#*)".*?"(?P=hash) )
    | (?P<string> b?"(?:\\.|[^"\\])*" )
    | '(?:\\.|[^'\\\n])'
    """
)


def rust(text):
    """The comments and the strings of a source file, each a text of the same lines."""
    comments, strings, at = [], [], 0
    for found in RUST.finditer(text):
        gap = re.sub(r"[^\n]", " ", text[at : found.start()])
        kind = comments if found["comment"] else strings if found["raw"] or found["string"] else None
        for parts in (comments, strings):
            if parts is not kind:
                parts += [gap, blank(found)]
            else:
                parts += [gap, re.sub(r"(?m)^(\s*)//[/!]?", lambda m: " " * len(m[0]), found[0])]
        at = found.end()
    comments = re.sub(r"`[^`\n]*`", blank, "".join(comments))
    return comments, "".join(strings)


class Words:
    """The word list."""

    def __init__(self):
        try:
            table = tomllib.loads(LIST.read_text())
            self.words = [
                (re.compile(w["find"], re.MULTILINE | (0 if w.get("case") else re.IGNORECASE)), w["instead"])
                for w in table["word"]
            ]
            self.exceptions = [(e["files"], e["words"], e["reason"], Counter()) for e in table.get("except", [])]
            self.texts, self.skip = table["texts"], table["skip"]
            self.code = tuple(table["code"])
        except (tomllib.TOMLDecodeError, KeyError, re.error) as error:
            stop(f"{LIST.relative_to(TOP)} cannot be used: {error!r}")

    def excepted(self, name, line):
        """Whether an exception covers this line; it is counted as used."""
        for files, words, _, used in self.exceptions:
            if fnmatch.fnmatch(name, files) and words in line:
                used["times"] += 1
                return True
        return False

    def hits(self, name, prose, source):
        """The hits in a text: line, the words found, what to write instead."""
        # Words that belong together may be on two lines.
        margin = re.compile(r"\n[ \t>*#/]*")
        joined = margin.sub(lambda m: "\n" + " " * (len(m[0]) - 1), prose)
        flat = margin.sub("\n", prose)
        lines = source.split("\n")
        hits = []
        for pattern, instead in self.words:
            text = joined if "^" in pattern.pattern else flat
            for found in pattern.finditer(text if text is joined else text.replace("\n", " ")):
                number = text.count("\n", 0, found.start())
                if not self.excepted(name, " ".join(lines[number : number + 2])):
                    hits.append((number + 1, " ".join(found[0].split()), instead))
        return sorted(hits)


def tracked():
    """The files of the repository; without git, those of the directory."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=TOP, env=OWN, capture_output=True)
    except OSError:
        done = None
    # The repository can be another one, which has these sources in a directory and ignores them.
    if done and done.returncode == 0 and done.stdout:
        return sorted(name for name in os.fsdecode(done.stdout).split("\0") if name and (TOP / name).is_file())
    return sorted(str(p.relative_to(TOP)) for p in TOP.rglob("*") if p.is_file() and "target" not in p.relative_to(TOP).parts)


def glob(name, patterns):
    """Whether a path is one of the patterns'; `**/` is any number of folders."""
    return any(
        re.fullmatch(
            re.escape(p).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*"), name
        ) for p in patterns
    )


def crate(name):
    """The crate that a source file belongs to, and whether it is a test."""
    parts = name.split("/")
    at = 2 if parts[0] == "crates" else 1
    test = "tests" in parts or parts[-1].startswith("test") or parts[-1].endswith("tests.rs")
    return "/".join(parts[:at]), test


def code(words, names, each):
    """Counts, or shows, the hits in Rust."""
    table, kinds = {}, Counter()
    for name in names:
        text = (TOP / name).read_text(errors="replace")
        where, test = crate(name)
        row = table.setdefault(where, Counter())
        for kind, prose in zip(("comments", "strings"), rust(text)):
            for line, found, instead in words.hits(name, prose, text):
                row["tests" if test else kind] += 1
                kinds[found.lower()] += 1
                if each:
                    print(f"{name}:{line}: {kind}: {found}: {instead}")
    print(f"{'':24}{'comments':>10}{'strings':>10}{'tests':>10}")
    for where, row in sorted(table.items(), key=lambda item: -sum(item[1].values())):
        if sum(row.values()):
            print(f"{where:24}{row['comments']:10}{row['strings']:10}{row['tests']:10}")
    total = sum(table.values(), Counter())
    print(f"{'all':24}{total['comments']:10}{total['strings']:10}{total['tests']:10}")
    print("most frequent: " + ", ".join(f"{word} {count}" for word, count in kinds.most_common(16)))


def main():
    parser = argparse.ArgumentParser(
        description="Checks the words of texts against packaging/prose.toml.", allow_abbrev=False
    )
    parser.add_argument("--code", action="store_true", help="also comments and strings of Rust, without failing")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    args = parser.parse_args()
    # Names of files may be any bytes.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    words = Words()
    given = [Path(path).resolve() for path in args.paths]
    for path in given:
        if not path.exists() or not path.is_relative_to(TOP):
            stop(f"{path} is not a file or a directory of this repository")
    names = tracked()
    if given:
        names = [name for name in names if any((TOP / name).is_relative_to(path) for path in given)]

    wrong, checked = 0, 0
    for name in names:
        if given:
            if not name.endswith((".md", ".yml")):
                continue
        elif name.endswith(".md") and not glob(name, [*words.texts, *words.skip]):
            wrong += 1
            print(f"{name}: packaging/prose.toml lists it neither in `texts` nor in `skip`")
            continue
        elif not glob(name, words.texts) or glob(name, words.skip):
            continue
        try:
            text = (TOP / name).read_text()
        except UnicodeDecodeError as error:
            stop(f"{name} is not in UTF-8: {error}")
        if MADE.match(text) and not given:
            continue
        checked += 1
        prose = settings(text) if name.endswith(".yml") else markdown(text)
        for line, found, instead in words.hits(name, prose, text):
            wrong += 1
            print(f"{name}:{line}: {found}: {instead}")
    if not given:
        for files, text, _, used in words.exceptions:
            if not used and not files.endswith(".rs"):
                wrong += 1
                print(f"packaging/prose.toml: nothing needs the exception \"{text}\" in {files}")
    if not given:
        for name in names:
            # Tests may quote any words.
            if name.endswith(".rs") and name.startswith(words.code) and not crate(name)[1]:
                text = (TOP / name).read_text(errors="replace")
                checked += 1
                for line, found, instead in words.hits(name, rust(text)[0], text):
                    wrong += 1
                    print(f"{name}:{line}: {found}: {instead}")
    if args.code:
        code(words, [n for n in names if n.endswith(".rs")], bool(given))
    print(f"prose: {checked} texts, {wrong} hits")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

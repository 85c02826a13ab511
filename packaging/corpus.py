#!/usr/bin/env python3
"""Score `vm lint` by files of public repositories, whose labels were written before the program saw them.

    packaging/corpus.py --list                          the files: repository, path and blob
    packaging/corpus.py DIRECTORY [--clocksmith PATH]   the score of the files in DIRECTORY

A file belongs to an entry if its content has the entry's blob id of Git, wherever it is in DIRECTORY and whatever its name
is; `vm lint` gets it by the name in the entry. crates/vm/corpus/README.md describes the labels.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = ROOT / "crates/vm/corpus/index.json"
SEVERITIES = ["info", "warn", "error"]
# What `vm lint` exits with: nothing found, something found, cannot use the file.
STATUS = [0, 1, 2]


def blob(content):
    """Return the id that Git gives a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def lint(program, entry, content):
    """Return the exit status and the findings, each with its id and its severity."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / pathlib.PurePosixPath(entry["path"]).name
        path.write_bytes(content)
        run = subprocess.run([program, "vm", "lint", "--json", str(path)], capture_output=True, timeout=60, check=False)
    files = json.loads(run.stdout)["files"] if run.stdout else []
    return run.returncode, [(one["id"], one["severity"]) for file in files for one in file["findings"]]


class Score:
    """Counts, and the lines that explain each miss."""

    def __init__(self):
        self.counts = collections.Counter()
        self.lines = []

    def miss(self, what, entry, detail):
        self.counts[what] += 1
        self.lines.append(f"{what}: {entry['repo']}: {entry['path']}: {detail}")

    def add(self, entry, status, findings):
        self.counts["files"] += 1
        if status not in STATUS:
            self.miss("crashed", entry, f"exit status {status}")
        if not entry["machine"]:
            return
        self.counts["machines"] += 1
        if status == 2:
            self.miss("refused", entry, "")
        used = set(entry.get("allow", []))
        for wanted in entry.get("expect", []):
            self.counts["wanted"] += 1
            ids = wanted["id"].split("|")
            used.update(ids)
            least = SEVERITIES.index(wanted["severity"])
            if any(i in ids and SEVERITIES.index(severity) >= least for i, severity in findings):
                self.counts["found"] += 1
            else:
                self.miss("missed", entry, f"{wanted['id']} ({wanted['severity']})")
        for i, severity in findings:
            if severity != "info" and i not in used:
                self.miss(f"false {severity}", entry, i)
            if i in entry.get("forbid", []):
                self.miss("forbidden", entry, i)

    def report(self):
        count = self.counts
        print("\n".join(self.lines))
        print(
            f"{count['files']} files, {count['machines']} of machines: {count['found']} of {count['wanted']} findings; "
            f"{count['false error']} false errors, {count['false warn']} false warnings, {count['forbidden']} forbidden "
            f"statements, {count['refused']} refused, {count['crashed']} crashed"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=pathlib.Path, help="has the files, in any arrangement")
    parser.add_argument("--clocksmith", default=str(ROOT / "target/debug/clocksmith"), help="the program")
    parser.add_argument("--list", action="store_true", help="print the files, one a line")
    arguments = parser.parse_args()
    entries = json.loads(INDEX.read_text())
    if arguments.list:
        for entry in entries:
            print(entry["repo"], entry["blob"], entry["path"], sep="\t")
        return 0
    if not arguments.directory:
        parser.error("name a directory, or --list")
    known = {entry["blob"]: entry for entry in entries}
    score = Score()
    for path in sorted(arguments.directory.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        entry = known.pop(blob(content), None)
        if entry:
            score.add(entry, *lint(arguments.clocksmith, entry, content))
    if not score.counts["files"]:
        print(f"{arguments.directory} has no file of the index; see crates/vm/corpus/README.md", file=sys.stderr)
        return 2
    score.report()
    return 1 if score.counts["crashed"] or score.counts["false error"] else 0


if __name__ == "__main__":
    sys.exit(main())

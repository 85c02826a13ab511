#!/usr/bin/env python3
"""Writes what every verb says of every recorded case, a file each, so that two builds can be compared.

    xtask/documents.py --clocksmith OLD --out /tmp/old
    xtask/documents.py --clocksmith NEW --out /tmp/new
    diff -r /tmp/old /tmp/new

The cases are those of the repository: recorded boots, mirrors of machines, kernel logs, files of virtual machines.
`--logs DIR` and `--roots DIR` add files that are kernel logs and directories that are mirrors (or hold one as
`root`), `--vms DIR` files of virtual machines. The JSON of each verb that reads files is written, and the text of the
verbs whose text differs from it. Every file of a virtual machine is read as what it is recognised as, and all of them
as each kind in turn. A measured duration (`elapsed_ms`) is left out; the exit code is the last line.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LOGS = ["book/samples/*.log", "book/samples/causes/*.log", "crates/cli/tests/fixtures/logs/*"]
ROOTS = [
    "crates/kernel/tests/fixtures/boots/*",
    "crates/facts/tests/fixtures/*",
    "book/samples/server",
    "book/samples/hosts/*",
]
VMS = ["book/samples/*.xml", "book/samples/*.json", "book/samples/*.yaml", "book/samples/*.conf"]
VMS += ["book/samples/*.vmx", "book/samples/*.cfg", "book/samples/*.sh", "book/samples/tuned/*"]
VMS += ["fuzz/corpus-seeds/vm_*/*"]
HOSTS = ["book/samples/hosts/*", "fuzz/corpus-seeds/vm_migrate/*"]
CHOICES = ["--invtsc", "--tsc-frequency", "2000000000"]
HELP = [["--help"], ["lint", "--help"], ["fix", "--help"], ["migrate", "--help"]]


def jobs(args):
    """(name of the file, words of the command)"""
    logs = [path for pattern in LOGS for path in sorted(TOP.glob(pattern)) if path.is_file()]
    roots = [path for pattern in ROOTS for path in sorted(TOP.glob(pattern)) if path.is_dir()]
    vms = [path for pattern in VMS for path in sorted(TOP.glob(pattern))]
    for folder in args.logs:
        logs += sorted(path for path in folder.iterdir() if path.is_file())
    for folder in args.vms:
        vms += sorted(path for path in folder.iterdir() if path.is_file())
    for folder in args.roots:
        roots += sorted(path for path in folder.iterdir() if path.is_dir())
    for log in logs:
        name = f"log/{log.parent.name}/{log.name}"
        yield f"{name}/why.json", ["why", "--json", "--log", log]
        yield f"{name}/why-v.json", ["why", "--json", "-v", "--log", log]
        yield f"{name}/why.txt", ["why", "--log", log]
        yield f"{name}/predict.json", ["predict", "--json", "--log", log]
    for case in roots:
        name = f"root/{case.parent.name}/{case.name}"
        inside = case / "root" if (case / "root").is_dir() else case
        yield f"{name}/why.json", ["why", "--json", "--root", inside]
        yield f"{name}/why-v.json", ["why", "--json", "-v", "--root", inside]
        yield f"{name}/why.txt", ["why", "--root", inside]
        yield f"{name}/predict.json", ["predict", "--json", "--root", inside]
        yield f"{name}/check.json", ["check", "--json", "--root", inside]
        yield f"{name}/check.txt", ["check", "--root", inside]
        yield f"{name}/check.prom", ["check", "--format", "prometheus", "--root", inside]
        yield f"{name}/fix.json", ["fix", "--json", "--root", inside]
    yield from vm_jobs(vms)
    words = ["tsc", "hpet", "acpi_pm", "kvm-clock", "tsc-warp", "tsc=reliable", "notsc", "invtsc"]
    for word in words + rules():
        yield f"explain/{word}.json", ["explain", "--json", word]


def vm_jobs(vms):
    """What the verbs of `vm` say of these files."""
    sound = sorted(TOP.glob(HOSTS[0]))
    hosts = sound + sorted(TOP.glob(HOSTS[1]))
    for vm in vms:
        name = f"vm/{vm.parent.name}/{vm.name}"
        yield f"{name}/lint.json", ["vm", "lint", "--json", vm]
        yield f"{name}/lint.txt", ["vm", "lint", "-v", vm]
        yield f"{name}/fix.json", ["vm", "fix", "--json", vm]
        yield f"{name}/fix.txt", ["vm", "fix", vm]
        yield f"{name}/choose.json", ["vm", "fix", "--json", *CHOICES, vm]
        yield f"{name}/migrate.json", ["vm", "migrate", "--json", vm, "--to", *sound]
    for kind in kinds():
        yield f"vm/as/{kind}/lint.json", ["vm", "lint", "--json", "--kind", kind, *vms]
        yield f"vm/as/{kind}/fix.json", ["vm", "fix", "--json", "--kind", kind, *vms]
        yield f"vm/as/{kind}/choose.json", ["vm", "fix", "--json", "--kind", kind, *CHOICES, *vms]
    for host in hosts:
        name = f"host/{host.parent.name}/{host.name}"
        yield f"{name}/migrate.json", ["vm", "migrate", "--json", "--frequency", "2400000000", "--to", host]
    yield "vm/fleet.json", ["vm", "migrate", "--json", "--fleet", "--to", *sound]
    for words in HELP:
        yield f"vm/help/{' '.join(words)}.txt", ["vm", *words]


def kinds():
    """The names of the kinds of files, from the documents' schema."""
    schema = json.loads((TOP / "schemas/clocksmith.vm-lint.v1.json").read_text())
    return [one["const"] for one in schema["$defs"]["Kind"]["oneOf"]]


def rules():
    """The ids of the rules of `vm lint`, from the book, and parts of some."""
    page = (TOP / "book/src/vm/rules.md").read_text()
    return re.findall(r"^### (\S+)$", page, re.MULTILINE) + ["cmdline-", "persist-tsc", "hpet-o", "invtsc-", "hidden"]


def run(clocksmith, out, job):
    name, words = job
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "LC_ALL": "C"}
    done = subprocess.run(
        [clocksmith, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False
    )
    text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    text = re.sub(r'"elapsed_ms": ?[0-9.e+-]+', '"elapsed_ms": 0', text)
    target = out / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{text}exit code {done.returncode}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clocksmith", required=True, type=Path, help="the program")
    parser.add_argument("--out", required=True, type=Path, help="a new directory")
    parser.add_argument("--logs", action="append", default=[], type=Path, help="a directory of kernel logs")
    parser.add_argument("--roots", action="append", default=[], type=Path, help="a directory of mirrors")
    parser.add_argument("--vms", action="append", default=[], type=Path, help="a directory of files of machines")
    args = parser.parse_args()
    if args.out.exists():
        sys.exit(f"{args.out} is there already: name a new directory")
    program = args.clocksmith.resolve()
    todo = list(jobs(args))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda job: run(program, args.out, job), todo))
    print(f"{len(todo)} files in {args.out}")


if __name__ == "__main__":
    main()

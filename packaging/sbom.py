#!/usr/bin/env python3
"""What is in the programs and libraries: bills of materials, and the licences of others.

    packaging/sbom.py --out DIR

Writes clocksmith.cdx.json, clocksmith-c.cdx.json and clocksmith-python.cdx.json (CycloneDX 1.5) and third-party-licences.txt, from what cargo
says of the dependencies that are linked in (none of build scripts and procedural macros) and from Cargo.lock.
The same source and the same compiler give the same files. SOURCE_DATE_EPOCH is the time in them.

Our own and not a tool of cargo's, because that has to be compiled first, which takes longer than all packages
together.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl")
# The file's name, the package, the features that build.sh switches on, and the workspace that it belongs to.
PRODUCTS = (
    ("clocksmith", "clocksmith-cli", "full", ROOT),
    ("clocksmith-c", "clocksmith-c", "", ROOT),
    ("clocksmith-python", "clocksmith-python", "", ROOT / "python"),
)
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)

MUSL = """musl as a whole is licensed under the following standard MIT license:

Copyright © 2005-2020 Rich Felker, et al.

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation
the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and
to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of
the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO
THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
IN THE SOFTWARE.
"""


def cargo(home, *arguments):
    """Standard output of cargo; its own message and an end where it fails."""
    done = subprocess.run(["cargo", *arguments], cwd=home, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"sbom.py: cargo {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def linked(home, package, features):
    """Names and versions of what is linked into a product for any target."""
    found = set()
    for target in TARGETS:
        tree = cargo(home, "tree", "--locked", "-p", package, "--features", features, "--target", target, "-e",
                     "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "-f", "{p}")
        for line in tree.splitlines():
            name, version = line.split()[:2]
            found.add((name, version.removeprefix("v")))
    return found


def component(package, checksums):
    """A crate, as CycloneDX has it."""
    purl = f"pkg:cargo/{package['name']}@{package['version']}"
    this = {
        "type": "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "purl": purl,
    }
    if package.get("description"):
        this["description"] = " ".join(package["description"].split())
    if package.get("license"):
        # An older way to write "or".
        this["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        this["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package.get("repository"):
        this["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return this


def bill(product, main, packages, edges, checksums, compiler):
    """The document for one product. `packages` has the main one first."""
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    others = [package for package in packages if package is not main]
    components = [component(package, checksums) for package in others]
    standard = f"pkg:generic/rust-std@{compiler}"
    components.append({
        "type": "library", "bom-ref": standard, "name": "rust-std", "version": compiler, "purl": standard,
        "description": "The standard library of Rust; the static programs also hold the C library musl from it",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    })
    reference = {package["id"]: f"pkg:cargo/{package['name']}@{package['version']}" for package in packages}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(main, checksums) | {"type": "application" if product == "clocksmith" else "library"},
        },
        "components": components,
        "dependencies": [
            {
                "ref": reference[package["id"]],
                "dependsOn": sorted({reference[id] for id in edges[package["id"]] if id in reference} | {standard}),
            }
            for package in packages
        ],
    }
    document["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True)).urn
    return document


def licences(packages):
    """The texts that must go with copies of other people's code; each text once."""
    parts = ["What others have written and is part of clocksmith's programs and libraries, with its licences.\n"]
    texts, without = {}, []
    for package in packages:
        if package["source"] is None:
            continue
        home = pathlib.Path(package["manifest_path"]).parent
        numbers = []
        for path in sorted(home.iterdir()):
            if path.is_file() and LICENCE_FILE.search(path.name):
                text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()
                numbers.append(texts.setdefault(text, len(texts) + 1))
        if not numbers:
            without.append(package["name"])
        authors = ", ".join(re.sub(r" *<[^>]*>", "", author) for author in package.get("authors", []))
        parts.append(f"{package['name']} {package['version']}: {package['license'] or 'no short name'}"
                     + (f"; by {authors}" if authors else "")
                     + (f"; texts {', '.join(map(str, sorted(numbers)))}" if numbers else ""))
    parts.append("Rust's standard library: MIT OR Apache-2.0; by the Rust project's developers")
    parts.append("musl, in the static programs: MIT; the last text")
    for text, number in texts.items():
        parts.append(f"\n{'=' * 30} text {number} {'=' * 30}\n\n{text}")
    parts.append(f"\n{'=' * 30} the last text {'=' * 30}\n\n{MUSL}")
    return "\n".join(parts), without


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    compiler = said.split()[1]
    everything = {}
    for product, package, features, home in PRODUCTS:
        metadata = json.loads(cargo(home, "metadata", "--locked", "--all-features", "--format-version", "1"))
        lock = tomllib.loads((home / "Cargo.lock").read_text(encoding="utf-8"))
        checksums = {(p["name"], p["version"]): p["checksum"] for p in lock["package"] if "checksum" in p}
        edges = {node["id"]: node["dependencies"] for node in metadata["resolve"]["nodes"]}
        names = linked(home, package, features)
        packages = sorted((p for p in metadata["packages"] if (p["name"], p["version"]) in names),
                          key=lambda p: (p["name"], p["version"]))
        main_package = next(p for p in packages if p["name"] == package)
        document = bill(product, main_package, packages, edges, checksums, compiler)
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        (out / f"{product}.cdx.json").write_text(text, encoding="utf-8")
        print(f"{product}: {len(packages)} packages")
        everything |= {p["id"]: p for p in packages}
    ordered = sorted(everything.values(), key=lambda p: (p["name"], p["version"]))
    text, without = licences(ordered)
    (out / "third-party-licences.txt").write_text(text, encoding="utf-8")
    if without:
        print(f"no licence text in: {', '.join(without)}")


if __name__ == "__main__":
    main()

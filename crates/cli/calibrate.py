#!/usr/bin/env python3
"""Whether `bench --baseline` is right as often as it says, on this machine and under its present load.

    crates/cli/calibrate.py --clocksmith PROGRAM [--comparisons N] [--changes N] [--load THREADS]

Unchanged: pairs of runs of the same program; at most 5 of 100 rows may be called different, and at least 95 of 100 intervals
must contain 1. Changed: the second run does 6 % more in every row but the counter's; the change must be found in at least 95
of 100 rows that are long enough to be compared. `bench` says with each comparison which change it would have seen: a
disturbed one promises less. So a short run, in which one disturbed comparison is most of all, judges only the rows whose
intervals are narrow enough for such a change.

Exit code 1 if one of these is refuted: if a program that keeps the promise would give such counts in fewer than 1 of 1000
runs (binomial; the rows of one comparison share its noise, so three rows count as one). So a short run refutes only what is
clearly wrong, and a long one what is a little wrong.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

MOST_DIFFERENT = 0.05
LEAST_COVERED = 0.95
LEAST_FOUND = 0.95
# The least change that must be found is 5 %; whole additional reads in a batch are counted, so a little more is made.
CHANGE = 6
# Rows of one comparison that count as one independent row.
ROWS_AS_ONE = 3
REFUTED = 0.001
# An interval of 99 % with this half width, in percent, excludes 1 in 95 of 100 cases of the change: the estimate errs with a
# standard deviation of the half width over 2.576, and may fall short by the change less the half width, 1.645 deviations.
NARROW = CHANGE / (1 + 1.645 / 2.576)
# So many comparisons with a change are judged by all their rows.
LONG = 8
# Runnable threads a processor, over five minutes, above which only rows with narrow intervals are judged: others share it then.
CROWDED = 1


def refuted(wrong, rows, most):
    """Whether `wrong` of `rows` rows refute that at most the share `most` of all rows is wrong."""
    n, k = rows // ROWS_AS_ONE, wrong // ROWS_AS_ONE
    return sum(math.comb(n, i) * most**i * (1 - most) ** (n - i) for i in range(k, n + 1)) < REFUTED


def run(program, *arguments):
    out = subprocess.run(
        [program, "bench", "--quick", "--starts", "10", "--json", *arguments],
        capture_output=True,
        check=False,
    )
    if out.returncode not in (0, 1):
        sys.exit(f"calibrate: bench ended with {out.returncode}: {out.stderr.decode()}")
    return json.loads(out.stdout)


def compared(document):
    return [row for row in document["baseline"]["rows"] if row["own_ratio"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clocksmith", required=True)
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--load", type=int, default=0, help="threads that compute meanwhile")
    wanted = parser.parse_args()
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(wanted.load)
    ]
    try:
        return measure(wanted)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure(wanted):
    rows = different = covered = found = changed = narrow = found_narrow = 0
    names = {}
    smallest = []
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "before.json")
        for _ in range(wanted.comparisons):
            with open(file, "w", encoding="utf-8") as out:
                json.dump(run(wanted.clocksmith), out)
            document = run(wanted.clocksmith, "--baseline", file)
            smallest.append(document["baseline"]["smallest_percent"] or 0.0)
            for row in compared(document):
                rows += 1
                ratio = row["own_ratio"]
                covered += ratio["low"] <= 1.0 <= ratio["high"]
                if row["difference"] != "no-difference":
                    different += 1
                    names[row["name"]] = names.get(row["name"], 0) + 1
        for _ in range(wanted.changes):
            with open(file, "w", encoding="utf-8") as out:
                json.dump(run(wanted.clocksmith), out)
            document = run(wanted.clocksmith, "--baseline", file, "--burden", str(CHANGE))
            for row in compared(document):
                if not row["name"].endswith("/counter"):
                    ratio, seen = row["own_ratio"], row["difference"] == "more"
                    changed += 1
                    found += seen
                    if 100 * (math.sqrt(ratio["high"] / ratio["low"]) - 1) <= NARROW:
                        narrow += 1
                        found_narrow += seen
    load = os.getloadavg()[0]
    print(f"load {load:.1f}; a row is called different from {sorted(smallest)[len(smallest) // 2]:.1f} % on (median)")
    print(f"unchanged: {wanted.comparisons} comparisons, {rows} rows, {different} called different "
          f"({100 * different / max(rows, 1):.2f} %), interval contains 1 in {100 * covered / max(rows, 1):.2f} %")
    for name, times in sorted(names.items(), key=lambda item: -item[1])[:8]:
        print(f"  {name}: {times}")
    print(f"{CHANGE} % slower: {wanted.changes} comparisons, {changed} rows, found in {found} "
          f"({100 * found / max(changed, 1):.2f} %), in {found_narrow} of the {narrow} whose interval is narrow enough")
    if not rows or not changed and wanted.changes:
        print("no row was long enough to be compared")
        return 1
    # With many programs on each processor no interval is narrow, and the comparison says so.
    crowded = os.getloadavg()[1] > CROWDED * os.cpu_count()
    wrong = (
        refuted(different, rows, MOST_DIFFERENT),
        refuted(rows - covered, rows, 1 - LEAST_COVERED),
        refuted(narrow - found_narrow, narrow, 1 - LEAST_FOUND),
        wanted.changes >= LONG and not crowded and refuted(changed - found, changed, 1 - LEAST_FOUND),
    )
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())

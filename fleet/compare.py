#!/usr/bin/env python3
"""Holds the answers of clocksmith-fleet against those of DuckDB, which reads the same Parquet files with the
same SQL: row by row, in the same order. And the groups for migration against a few lines of their own.

    compare.py PROGRAM TABLES        TABLES is what --out wrote
"""

import json
import math
import pathlib
import subprocess
import sys

import duckdb

QUERIES = pathlib.Path(__file__).parent / "sql"
# Beside the report's: what people ask.
MORE = {
    "cost by clocksource": "SELECT clocksource, count(cost_ns) AS n, avg(cost_ns) AS mean, max(cost_ns) AS worst"
    " FROM hosts GROUP BY clocksource ORDER BY clocksource",
    "a join": "SELECT h.hypervisor, c.cause, count(*) AS n FROM causes c JOIN hosts h ON h.host = c.host"
    " WHERE h.tsc_invariant GROUP BY h.hypervisor, c.cause ORDER BY n DESC, 1, 2",
    "every column of every host": "SELECT * FROM hosts ORDER BY host",
    "every cause": "SELECT * FROM causes ORDER BY host, place",
    "every remedy": "SELECT * FROM remedies ORDER BY host, place",
}


def same(a, b):
    # A mean depends on the order in which it was added up.
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9)
    return a == b


def ours(program, tables, sql):
    done = subprocess.run([program, "--json", "--sql", sql, tables], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare: {done.stderr.decode()}\n{sql}")
    # Nulls are left out of a line.
    return [json.loads(line) for line in done.stdout.splitlines()]


def migration(frequencies):
    """From the slowest on: everyone whose tolerance reaches down into that of the slowest one."""
    tolerance = lambda khz: khz * 250 // 1_000_000
    fixed = {}
    for row in frequencies:
        if row["tsc_invariant"] and row["tsc_scaling"] is False and row["tsc_slack_khz"] == 0:
            fixed[row["tsc_khz"]] = fixed.get(row["tsc_khz"], 0) + row["hosts"]
    groups = []
    for khz in sorted(fixed):
        if groups and khz - tolerance(khz) <= groups[-1][0] + tolerance(groups[-1][0]):
            groups[-1][1:] = [khz, groups[-1][2] + fixed[khz]]
        else:
            groups.append([khz, khz, fixed[khz]])
    return sorted(map(tuple, groups), key=lambda group: (-group[2], group[0]))


def main():
    program, tables = sys.argv[1:]
    base = duckdb.connect()
    for table in ("hosts", "causes", "remedies"):
        base.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{tables}/{table}.parquet')")
    queries = {path.stem: path.read_text() for path in sorted(QUERIES.glob("*.sql"))} | MORE
    if len(queries) < len(MORE) + 10:
        sys.exit("compare: the queries of the report are not there")
    rows, frequencies = 0, None
    for name, sql in queries.items():
        found = base.execute(sql)
        names = [column[0] for column in found.description]
        theirs = [dict(zip(names, row)) for row in found.fetchall()]
        mine = ours(program, tables, sql)
        if len(theirs) != len(mine):
            sys.exit(f"compare: {name}: {len(mine)} rows, DuckDB has {len(theirs)}")
        for at, (a, b) in enumerate(zip(mine, theirs)):
            if not all(same(a.get(column), b[column]) for column in names):
                sys.exit(f"compare: {name}, row {at}: {a}\nDuckDB: {b}")
        rows += len(theirs)
        if name == "frequencies":
            frequencies = theirs
        print(f"  {name}: {len(theirs)} rows, equal")
    done = subprocess.run([program, "--json", tables], capture_output=True, check=True)
    report = json.loads(done.stdout)["migration"]
    said = [(g["slowest_khz"], g["fastest_khz"], g["hosts"]) for g in report["groups"]]
    expected = migration(frequencies)
    if report["more"] or said != expected or not said:
        sys.exit(f"compare: groups for migration: {said}, expected {expected}")
    print(f"{len(queries)} queries, {rows} rows, and {len(said)} groups for migration: as DuckDB {duckdb.__version__}")


main()

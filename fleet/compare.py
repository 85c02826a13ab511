#!/usr/bin/env python3
"""Holds the answers of clocksmith-fleet against those of another engine, which reads the same Parquet files with the
same SQL: row by row, in the same order. And the groups for migration against a few lines of their own.

    compare.py PROGRAM DIRECTORY            DuckDB; DIRECTORY is what --out or --history wrote
    compare.py --spark PROGRAM DIRECTORY    Apache Spark: a master and two workers on this machine (local-cluster)
    compare.py --trino                      no answers: whether Trino's grammar (of sqlglot) has the queries of the report
"""

import json
import math
import pathlib
import platform
import subprocess
import sys
import tempfile
import zipfile

QUERIES = pathlib.Path(__file__).parent / "sql"
TABLES = ("hosts", "causes", "remedies")
# Beside the report's: what people ask.
MORE = {
    "cost by clocksource": "SELECT clocksource, count(cost_ns) AS n, avg(cost_ns) AS mean, max(cost_ns) AS worst"
    " FROM hosts GROUP BY clocksource ORDER BY clocksource",
    "a join": "SELECT h.hypervisor, c.cause, count(*) AS n FROM causes c JOIN hosts h ON h.host = c.host"
    " WHERE h.tsc_invariant GROUP BY h.hypervisor, c.cause ORDER BY n DESC, 1, 2",
    "every column of every host": "SELECT * FROM hosts ORDER BY host",
    "every cause": "SELECT * FROM causes ORDER BY host, place",
    "every remedy": "SELECT * FROM remedies ORDER BY host, place",
    "days": "SELECT day, verdict, count(*) AS n, min(host) AS example FROM history_hosts"
    " GROUP BY day, verdict ORDER BY day, verdict",
    "causes of days": "SELECT day, cause, count(*) AS n FROM history_causes GROUP BY day, cause ORDER BY day, n DESC, cause",
}
# The newest report of each host, as docs/fleet.md has it.
NEWEST = """SELECT * FROM (
  SELECT h.*, row_number() OVER (PARTITION BY host, machine_id ORDER BY taken_at DESC) AS newest FROM history_hosts h)
WHERE newest = 1"""
OF_NEWEST = """SELECT t.* FROM history_{table} t JOIN hosts h
  ON h.host = t.host AND h.machine_id = t.machine_id AND h.taken_at = t.taken_at"""
OF_ONE_DAY = "SELECT t.*, substr(taken_at, 1, 10) AS day FROM {table} t"


class Duck:
    def __init__(self, directory, history):
        import duckdb

        self.name = f"DuckDB {duckdb.__version__}"
        self.base = duckdb.connect()
        for table in TABLES:
            if history:
                files = f"read_parquet('{directory}/{table}/*/*.parquet', hive_partitioning = true, union_by_name = true)"
                self.view(f"history_{table}", f"SELECT * REPLACE (CAST(day AS VARCHAR) AS day) FROM {files}")
            else:
                self.view(table, f"SELECT * FROM read_parquet('{directory}/{table}.parquet')")

    def view(self, name, sql):
        self.base.execute(f"CREATE VIEW {name} AS {sql}")

    def ask(self, sql):
        found = self.base.execute(sql)
        names = [column[0] for column in found.description]
        return names, [dict(zip(names, row)) for row in found.fetchall()]


class Spark:
    def __init__(self, directory, history):
        import os

        import pyspark
        from pyspark.sql import SparkSession

        # The workers start their programs from there.
        os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent))
        # Its decompressor takes a machine that has musl beside glibc for one with musl alone, unless it gets its library.
        jars = pathlib.Path(os.environ["SPARK_HOME"], "jars")
        self.library = tempfile.TemporaryDirectory()
        with zipfile.ZipFile(next(jars.glob("snappy-java-*.jar"))) as jar:
            for name in jar.namelist():
                if name.endswith(f"/native/Linux/{platform.machine()}/libsnappyjava.so"):
                    pathlib.Path(self.library.name, "libsnappyjava.so").write_bytes(jar.read(name))
        os.environ["JAVA_TOOL_OPTIONS"] = (
            f"-Dorg.xerial.snappy.lib.path={self.library.name} -Dorg.xerial.snappy.lib.name=libsnappyjava.so"
        )
        self.name = f"Spark {pyspark.__version__} (local-cluster)"
        self.spark = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "8")
            .getOrCreate()
        )
        self.spark.sparkContext.setLogLevel("ERROR")
        for table in TABLES:
            path = f"{directory}/{table}" if history else f"{directory}/{table}.parquet"
            frame = self.spark.read.option("mergeSchema", "true").parquet(path)
            if history:
                frame = frame.withColumn("day", frame["day"].cast("string"))
            frame.createOrReplaceTempView(f"history_{table}" if history else table)

    def view(self, name, sql):
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {sql}")

    def ask(self, sql):
        frame = self.spark.sql(sql)
        return frame.columns, [row.asDict() for row in frame.collect()]


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


def shipped():
    queries = {path.stem: path.read_text() for path in sorted(QUERIES.glob("*.sql"))}
    if len(queries) < 10:
        sys.exit("compare: the queries of the report are not there")
    return queries


def compare(kind, program, tables):
    history = pathlib.Path(tables, "hosts").is_dir()
    engine = kind(tables, history)
    if history:
        engine.view("hosts", NEWEST)
        for table in TABLES[1:]:
            engine.view(table, OF_NEWEST.format(table=table))
    else:
        for table in TABLES:
            engine.view(f"history_{table}", OF_ONE_DAY.format(table=table))
    queries = shipped() | MORE
    rows, frequencies = 0, None
    for name, sql in queries.items():
        names, theirs = engine.ask(sql)
        # Of the views above, and of no file.
        names = [name for name in names if name != "newest" and (name != "day" or "history_" in sql)]
        mine = ours(program, tables, sql)
        if len(theirs) != len(mine):
            sys.exit(f"compare: {name}: {len(mine)} rows, {engine.name} has {len(theirs)}")
        for at, (a, b) in enumerate(zip(mine, theirs)):
            if not all(same(a.get(column), b[column]) for column in names):
                sys.exit(f"compare: {name}, row {at}: {a}\n{engine.name}: {b}")
        rows += len(theirs)
        if name == "frequencies":
            frequencies = theirs
        print(f"  {name}: {len(theirs)} rows, equal", flush=True)
    done = subprocess.run([program, "--json", tables], capture_output=True, check=True)
    report = json.loads(done.stdout)["migration"]
    said = [(g["slowest_khz"], g["fastest_khz"], g["hosts"]) for g in report["groups"]]
    expected = migration(frequencies)
    if report["more"] or said != expected or not said:
        sys.exit(f"compare: groups for migration: {said}, expected {expected}")
    print(f"{len(queries)} queries, {rows} rows, and {len(said)} groups for migration: as {engine.name}")


def trino():
    import sqlglot
    from sqlglot.errors import SqlglotError

    queries = shipped() | MORE
    for name, sql in queries.items():
        try:
            parsed = sqlglot.parse(sql, read="trino", error_level=sqlglot.ErrorLevel.RAISE)
        except SqlglotError as error:
            sys.exit(f"compare: {name} is not SQL of Trino: {error}")
        if len(parsed) != 1 or not isinstance(parsed[0], sqlglot.exp.Select):
            sys.exit(f"compare: {name} is more than one query")
    print(f"{len(queries)} queries: in the grammar of Trino, by sqlglot {sqlglot.__version__}")


def main():
    match sys.argv[1:]:
        case ["--trino"]:
            trino()
        case ["--spark", program, tables]:
            compare(Spark, program, tables)
        case [program, tables]:
            compare(Duck, program, tables)
        case _:
            sys.exit(__doc__)


main()

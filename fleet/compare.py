#!/usr/bin/env python3
"""Compares the answers of clocksmith-fleet with those of another engine, which reads the same Parquet files with the
same SQL: row by row, in the same order. And the groups for migration with a few lines of their own.

    compare.py PROGRAM DIRECTORY            DuckDB; DIRECTORY is what --out or --history wrote
    compare.py --spark PROGRAM DIRECTORY    Apache Spark on two threads (local[2]); SPARK_MASTER names another master, such
                                            as local-cluster[2,1,1024], two workers that are processes of their own
    compare.py --s3 PROGRAM DIRECTORY       DataFusion on an object store: a server of this machine that speaks S3
    compare.py --trino                      no answers: whether Trino's own parser takes the queries of the report

Exits with 77 if what a comparison needs is not there.
"""

import itertools
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).parent
QUERIES = HERE / "sql"
TABLES = ("hosts", "causes", "remedies")
# Beside the report's: what people ask. Where nulls are sorted is said, as engines differ.
MORE = {
    "cost by clocksource": "SELECT clocksource, count(cost_ns) AS n, avg(cost_ns) AS mean, max(cost_ns) AS worst"
    " FROM hosts GROUP BY clocksource ORDER BY clocksource NULLS LAST",
    "a join": "SELECT h.hypervisor, c.cause, count(*) AS n FROM causes c JOIN hosts h ON h.host = c.host"
    " WHERE h.tsc_invariant GROUP BY h.hypervisor, c.cause ORDER BY n DESC, 1 NULLS LAST, 2",
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


def lacking(what):
    print(f"compare: not there: {what}", file=sys.stderr)
    sys.exit(77)


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

    def close(self):
        self.base.close()

    def ask(self, sql):
        found = self.base.execute(sql)
        names = [column[0] for column in found.description]
        batches = iter(lambda: found.fetchmany(8192), [])
        return names, (dict(zip(names, row)) for row in itertools.chain.from_iterable(batches))


class Spark:
    def __init__(self, directory, history):
        try:
            import pyspark
            from pyspark.sql import SparkSession
        except ImportError:
            lacking("PySpark (pip install pyspark)")
        home = pathlib.Path(os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent)))
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        master = os.environ.get("SPARK_MASTER", "local[2]")
        # Its decompressor takes a machine that has musl beside glibc for one with musl alone, unless it gets its library.
        self.library = tempfile.TemporaryDirectory()
        with zipfile.ZipFile(next((home / "jars").glob("snappy-java-*.jar"))) as jar:
            for name in jar.namelist():
                if name.endswith(f"/native/Linux/{platform.machine()}/libsnappyjava.so"):
                    pathlib.Path(self.library.name, "libsnappyjava.so").write_bytes(jar.read(name))
        options = f"-Dorg.xerial.snappy.lib.path={self.library.name} -Dorg.xerial.snappy.lib.name=libsnappyjava.so"
        self.name = f"Spark {pyspark.__version__} ({master})"
        self.spark = (
            SparkSession.builder.master(master)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "2g")
            .config("spark.driver.extraJavaOptions", options)
            .config("spark.executor.extraJavaOptions", options)
            .config("spark.executor.memory", "1g")
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

    def close(self):
        self.spark.stop()

    def ask(self, sql):
        frame = self.spark.sql(sql)
        return frame.columns, (row.asDict() for row in frame.toLocalIterator())


class ObjectStore:
    """The tables in a bucket, which DataFusion reads by the same library as the program's engine has."""

    KEY = {"access_key_id": "clocksmith", "secret_access_key": "clocksmith"}

    def __init__(self, directory, history):
        import logging

        try:
            import boto3
            import datafusion
            import pyarrow
            from datafusion.object_store import AmazonS3
            from moto.server import ThreadedMotoServer
        except ImportError as error:
            lacking(f"{error.name} (pip install datafusion pyarrow 'moto[server]' boto3)")
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.server.start()
        address = "http://{}:{}".format(*self.server.get_host_and_port())
        bucket = boto3.resource(
            "s3",
            region_name="us-east-1",
            endpoint_url=address,
            aws_access_key_id=self.KEY["access_key_id"],
            aws_secret_access_key=self.KEY["secret_access_key"],
        ).create_bucket(Bucket="fleet")
        files = 0
        for file in sorted(pathlib.Path(directory).rglob("*.parquet")):
            bucket.upload_file(str(file), str(file.relative_to(directory)))
            files += 1
        self.name = f"DataFusion {datafusion.__version__} on {files} objects of an S3 server"
        self.context = datafusion.SessionContext()
        store = AmazonS3(bucket_name="fleet", region="us-east-1", endpoint=address, allow_http=True, **self.KEY)
        self.context.register_object_store("s3://", store, "fleet")
        for table in TABLES:
            if history:
                days = [("day", pyarrow.string())]
                self.context.register_parquet(f"history_{table}", f"s3://fleet/{table}/", table_partition_cols=days)
            else:
                self.context.register_parquet(table, f"s3://fleet/{table}.parquet")

    def view(self, name, sql):
        self.context.sql(f"CREATE VIEW {name} AS {sql}")

    def close(self):
        self.server.stop()

    def ask(self, sql):
        frame = self.context.sql(sql)
        batches = (batch.to_pyarrow() for batch in frame.execute_stream())
        names = [field.name for field in frame.schema()]
        return names, itertools.chain.from_iterable(batch.to_pylist() for batch in batches)


def same(a, b):
    # A mean depends on the order in which it was added up.
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9)
    return a == b


def ours(program, tables, sql):
    with tempfile.TemporaryFile() as said:
        command = [program, "--json", "--sql", sql, tables]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said) as running:
            # Nulls are left out of a line.
            for line in running.stdout:
                yield json.loads(line)
        if running.returncode != 0:
            said.seek(0)
            sys.exit(f"compare: {said.read().decode()}\n{sql}")


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
    begun = time.monotonic()
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
    rows, frequencies, none = 0, [], object()
    for name, sql in queries.items():
        names, theirs = engine.ask(sql)
        # Of the views above, and of no file.
        names = [name for name in names if name != "newest" and (name != "day" or "history_" in sql)]
        count = 0
        for a, b in itertools.zip_longest(ours(program, tables, sql), theirs, fillvalue=none):
            if a is none or b is none:
                sys.exit(f"compare: {name}: after {count} rows, {engine.name} has {'more' if a is none else 'no more'}")
            if not all(same(a.get(column), b[column]) for column in names):
                sys.exit(f"compare: {name}, row {count}: {a}\n{engine.name}: {b}")
            count += 1
            if name == "frequencies":
                frequencies.append(b)
        rows += count
        print(f"  {name}: {count} rows, equal", flush=True)
    engine.close()
    done = subprocess.run([program, "--json", tables], capture_output=True, check=True)
    report = json.loads(done.stdout)["migration"]
    said = [(g["slowest_khz"], g["fastest_khz"], g["hosts"]) for g in report["groups"]]
    expected = migration(frequencies)
    if report["more"] or said != expected or not said:
        sys.exit(f"compare: groups for migration: {said}, expected {expected}")
    seconds = time.monotonic() - begun
    print(
        f"{len(queries)} queries, {rows} rows, and {len(said)} groups for migration: as {engine.name}, {seconds:.0f} s"
    )


def trino():
    texts = shipped() | MORE | {"newest": NEWEST}
    texts |= {f"newest {table}": OF_NEWEST.format(table=table) for table in TABLES[1:]}
    with tempfile.TemporaryDirectory() as work:
        files = []
        for name, sql in texts.items():
            files.append(pathlib.Path(work, f"{name}.sql"))
            files[-1].write_text(sql)
        classpath = pathlib.Path(work, "classpath")
        maven = ["mvn", "-q", "-B", "-f", HERE / "trino/pom.xml", "dependency:build-classpath"]
        maven.append(f"-Dmdep.outputFile={classpath}")
        try:
            done = subprocess.run(maven, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        except FileNotFoundError:
            lacking("Maven and a JDK (apt-get install maven default-jdk-headless)")
        if "Could not transfer" in done.stdout or "Could not resolve" in done.stdout:
            lacking("the parser of Trino (Maven cannot fetch it)")
        if done.returncode != 0:
            sys.exit(f"compare: Maven: {done.stdout}")
        parse = ["java", "-cp", classpath.read_text(), HERE / "trino/Grammar.java"]
        # It must refuse what is wrong, too.
        wrong = pathlib.Path(work, "wrong.sql")
        wrong.write_text("SELECT a.* EXCEPT (b) FROM a")
        if subprocess.run([*parse, wrong], stdout=subprocess.DEVNULL, check=False).returncode != 1:
            sys.exit("compare: the parser of Trino takes what is not its SQL")
        if subprocess.run([*parse, *files], check=False).returncode != 0:
            sys.exit("compare: a query is not SQL of Trino")
    print(f"{len(texts)} queries: SQL of Trino, by its own parser")


def main():
    match sys.argv[1:]:
        case ["--trino"]:
            trino()
        case ["--spark", program, tables]:
            compare(Spark, program, tables)
        case ["--s3", program, tables]:
            compare(ObjectStore, program, tables)
        case [program, tables]:
            compare(Duck, program, tables)
        case _:
            sys.exit(__doc__)


main()

"""Runs SQL in one engine: `engine.py duckdb|clickhouse|spark FOLDER`.

Each line of the input is a JSON string, one statement; each line of the output answers one: {"rows": [[value, ...], ...]} or
{"error": text}. Values are text or null. The folder is for what the engine writes.
"""

import atexit
import json
import os
import shutil
import sys


def duckdb(folder):
    import duckdb

    db = duckdb.connect(
        config={"memory_limit": "1GB", "threads": 2, "temp_directory": folder, "autoinstall_known_extensions": False}
    )
    return lambda sql: db.execute(sql).fetchall()


def clickhouse(folder):
    from chdb import session

    db = session.Session(os.path.join(folder, "clickhouse"))
    db.query("SET max_memory_usage = 2000000000, max_threads = 2, output_format_json_quote_64bit_integers = 1")

    def run(sql):
        answer = str(db.query(sql, "JSONCompact"))
        return json.loads(answer)["data"] if answer.strip() else []

    return run


def spark(folder):
    import pyspark
    from pyspark.sql import SparkSession

    quick = "-XX:TieredStopAtLevel=1"  # compile little: all is over soon
    # A master, and two workers as processes of their own.
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "1g")
        .config("spark.driver.extraJavaOptions", quick)
        .config("spark.executor.extraJavaOptions", quick)
        .config("spark.local.dir", folder)
        .config("spark.sql.warehouse.dir", os.path.join(folder, "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    logs = os.path.join(os.path.dirname(pyspark.__file__), "work", session.sparkContext.applicationId)

    def stop():
        session.stop()
        shutil.rmtree(logs, ignore_errors=True)  # Spark keeps them for ever

    atexit.register(stop)
    return lambda sql: [list(row) for row in session.sql(sql).collect()]


def text(value):
    return value if value is None or isinstance(value, str) else str(value)


def main():
    # Libraries print to standard output: keep it for the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    run = {"duckdb": duckdb, "clickhouse": clickhouse, "spark": spark}[sys.argv[1]](sys.argv[2])
    for line in sys.stdin:
        try:
            answer = {"rows": [[text(value) for value in row] for row in run(json.loads(line))]}
        except Exception as e:  # whatever an engine raises is the answer
            answer = {"error": str(e)}
        print(json.dumps(answer), file=answers, flush=True)


main()

"""Counts the records of each key with DuckDB, to compare a recount with.

Prints key and records, separated by a tab and quoted as in CSV, in the order of the keys' bytes. Records without a key are left out.
"""

import argparse
import tempfile

import duckdb

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("files", help="a pattern: archive/logs/*/*/*/hour=15/*.parquet")
parser.add_argument("key", help="an SQL expression: tenant_id, or attributes['tenant.id']")
parser.add_argument("--memory", default="4GB", help="bound of DuckDB's memory; with 512MB, tens of millions of keys fail")
parser.add_argument("--threads", default=2, type=int)
args = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    db = duckdb.connect(config={"memory_limit": args.memory, "threads": args.threads, "temp_directory": folder})
    db.execute(
        f"COPY (SELECT {args.key} AS key, count(*) AS records FROM read_parquet('{args.files}', union_by_name = true)"
        " WHERE key IS NOT NULL GROUP BY key ORDER BY key) TO '/dev/stdout' (FORMAT csv, DELIMITER '\t', HEADER false)"
    )

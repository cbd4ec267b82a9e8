"""DuckDB copies a CSV file, every column as text. Arguments: input, output, threads.

The least any program can do that reads the table and writes it again. Prints JSON
with the seconds of the COPY alone: interpreter, import and opening are not in it.
"""

import json
import sys
import time

import duckdb

source, target, threads = sys.argv[1:4]
connection = duckdb.connect(config={"threads": int(threads)})
start = time.perf_counter()
(rows,) = connection.execute(
    f"COPY (SELECT * FROM read_csv('{source}', all_varchar=true)) "
    f"TO '{target}' (HEADER, DELIMITER ';')").fetchone()
print(json.dumps({"rows": rows, "seconds": {"total": time.perf_counter() - start}}))

"""Tumult Analytics' noisy count and bounded mean of every group, on Spark. Arguments: file, key column, its keys, number column,
low, high.

The keys are public, as in our policy. Starting Spark is not counted; reading is, because Spark reads when it is asked. Prints
JSON: seconds of answering with reading, and the counts.
"""

import json
import os
import sys
import time

# The workers run where this runs.
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

path, key, keys, column, low, high = sys.argv[1:7]
keys, low, high = keys.split(","), int(low), int(high)

spark = (SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
         .config("spark.ui.enabled", "false").config("spark.driver.memory", "4g").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")

start = time.perf_counter()
table = spark.read.csv(path, sep=";", header=True, inferSchema=True).select(key, column)
session = Session.from_dataframe(PureDPBudget(1), "adult", table, protected_change=AddOneRow())
groups = KeySet.from_dict({key: keys})
counts = session.evaluate(QueryBuilder("adult").groupby(groups).count(), PureDPBudget(1 / 3))
means = session.evaluate(QueryBuilder("adult").groupby(groups).average(column, low, high), PureDPBudget(2 / 3))
answers = {row[0]: [row[1], None] for row in counts.collect()}
for row in means.collect():
    answers[row[0]][1] = row[1]
total = time.perf_counter() - start
print(json.dumps({"rows": table.count(), "answers": answers, "seconds": {"total": total}}))

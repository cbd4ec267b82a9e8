"""diffprivlib's noisy count and bounded mean of every group. Arguments: file, key column, its keys, number column, low, high.

The keys are public, as in our policy. Prints JSON: seconds of reading and of answering, and the counts.
"""

import json
import sys
import time

import pandas
from diffprivlib import tools

path, key, keys, column, low, high = sys.argv[1:7]
keys, bounds = keys.split(","), (float(low), float(high))

start = time.perf_counter()
table = pandas.read_csv(path, sep=";", usecols=[key, column])
read = time.perf_counter() - start
groups = dict(list(table.groupby(key)[column]))
answers = {}
for name in keys:
    values = groups[name].to_numpy() if name in groups else []
    # A third of the price for each measurement, as ours: a count, a sum and a count for the mean.
    count = tools.count_nonzero([1] * len(values), epsilon=1 / 3) if len(values) else 0
    mean = tools.mean(values, epsilon=2 / 3, bounds=bounds) if len(values) else None
    answers[name] = [float(count), float(mean) if mean is not None else None]
total = time.perf_counter() - start
print(json.dumps({"rows": len(table), "answers": answers,
                  "seconds": {"read": read, "answer": total - read, "total": total}}))

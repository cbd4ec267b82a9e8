"""OpenDP's noisy count and bounded sum of every group, with exact samplers. Arguments: file, key column, its keys, number
column, low, high.

The keys are public, as in our policy. Reading and grouping are pandas'; the noise is OpenDP's, drawn on vectors: sums of whole
numbers, as in ours. Prints JSON: seconds of reading and of answering, and the counts.
"""

import json
import sys
import time

import opendp.prelude as dp
import pandas

dp.enable_features("contrib")
path, key, keys, column, low, high = sys.argv[1:7]
keys, low, high = keys.split(","), int(low), int(high)

start = time.perf_counter()
table = pandas.read_csv(path, sep=";", usecols=[key, column])
read = time.perf_counter() - start
values = table[column].clip(low, high)
middle = (low + high) // 2
grouped = (values - middle).groupby(table[key])
counts = grouped.count().reindex(keys, fill_value=0).tolist()
sums = grouped.sum().reindex(keys, fill_value=0).astype(int).tolist()


def noisy(numbers: list[int], sensitivity: int) -> list[int]:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    laplace = dp.m.make_laplace(*space, scale=3.0 * sensitivity)
    return laplace(numbers)


shown, under, over = noisy(counts, 1), noisy(counts, 1), noisy(sums, max(high - middle, middle - low))
answers = {name: [count, middle + s / n if n > 0 else None] for name, count, n, s in zip(keys, shown, under, over)}
total = time.perf_counter() - start
print(json.dumps({"rows": len(table), "answers": answers,
                  "seconds": {"read": read, "answer": total - read, "total": total}}))

"""anonypyx's Mondrian or MDAV with k = 5. Arguments: algorithm, input, delimiter,
quasi-identifiers, folder of hierarchies and their prefix (for the loss; empty for numbers).

Prints JSON: seconds of the partitioning call alone, classes, and GCP or SSE/SST.
"""

import json
import sys
import time
from pathlib import Path

import anonypyx
import pandas

import loss

algorithm, source, delimiter, columns, folder, prefix = sys.argv[1:7]
quasi_identifiers = columns.split(",")
table = pandas.read_csv(source, sep=delimiter)
if folder:
    for column in quasi_identifiers:
        if column != "age":
            table[column] = table[column].astype("category")
else:
    numbers = table[quasi_identifiers].astype(float)
    table = (numbers - numbers.mean()) / numbers.std(ddof=0)
anonymiser = anonypyx.Anonymiser(table, k=5, feature_columns=quasi_identifiers,
                                 algorithm=algorithm)
start = time.perf_counter()
partitions = anonymiser.algorithm.partition(anonymiser.parameters)
seconds = time.perf_counter() - start
position = {label: i for i, label in enumerate(table.index)}
partitions = [[position[label] for label in part] for part in partitions]
answer = {"rows": sum(map(len, partitions)), "classes": len(partitions), "suppressed": 0,
          "seconds": {"anonymize": seconds}}
if folder:
    trees = {name: loss.Tree(Path(folder) / f"{prefix}{name}.csv") for name in quasi_identifiers}
    answer["utility"] = {"gcp": loss.of_partitions(table, trees, partitions)}
else:
    values = table.to_numpy()
    sse = sum(((values[p] - values[p].mean(axis=0)) ** 2).sum() for p in partitions)
    answer["utility"] = {"sse": float(sse / (values ** 2).sum())}
print(json.dumps(answer))

"""anjana's full-domain k-anonymity with k = 5. Arguments: input, quasi-identifiers,
folder of hierarchies and their prefix, percentage of records that may be suppressed.

Prints JSON: seconds of the call alone, records left, and GCP.
"""

import json
import sys
import time
from pathlib import Path

import pandas
from anjana.anonymity import k_anonymity

import loss

source, columns, folder, prefix, percent = sys.argv[1:6]
quasi_identifiers = columns.split(",")
table = pandas.read_csv(source, sep=";", dtype=str)
hierarchies = {}
for name in quasi_identifiers:
    rows = pandas.read_csv(Path(folder) / f"{prefix}{name}.csv", sep=";", header=None, dtype=str)
    hierarchies[name] = {level: rows[level].to_numpy() for level in rows.columns}
start = time.perf_counter()
released = k_anonymity(table, [], quasi_identifiers, 5, float(percent), hierarchies)
seconds = time.perf_counter() - start
trees = {name: loss.Tree(Path(folder) / f"{prefix}{name}.csv") for name in quasi_identifiers}
print(json.dumps({
    "rows": len(released), "suppressed": len(table) - len(released),
    "classes": len(released[quasi_identifiers].drop_duplicates()),
    "utility": {"gcp": loss.of_labels(released, trees, len(table))},
    "seconds": {"anonymize": seconds},
}))

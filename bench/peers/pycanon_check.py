"""pycanon's k, distinct l and t of one CSV file. Arguments: file, quasi-identifiers, sensitive.

Prints JSON: seconds of reading, of each measure, and the measures.
"""

import json
import sys
import time

import pandas
from pycanon import anonymity

path, quasi_identifiers, sensitive = sys.argv[1], sys.argv[2].split(","), sys.argv[3]

start = time.perf_counter()
# As text, and an empty cell as a value: the file as `scumble check` sees it.
table = pandas.read_csv(path, sep=";", dtype=str, keep_default_na=False)
seconds = {"read": time.perf_counter() - start}
measured = {}
for name, measure in [
    ("k", lambda: anonymity.k_anonymity(table, quasi_identifiers)),
    ("l", lambda: anonymity.l_diversity(table, quasi_identifiers, [sensitive])),
    ("t", lambda: anonymity.t_closeness(table, quasi_identifiers, [sensitive])),
]:
    began = time.perf_counter()
    measured[name] = float(measure())
    seconds[name] = time.perf_counter() - began
    print(name, measured[name], seconds[name], file=sys.stderr, flush=True)
seconds["total"] = time.perf_counter() - start
print(json.dumps({"rows": len(table), "measured": measured, "seconds": seconds}))

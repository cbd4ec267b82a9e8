"""anonypy's Mondrian with k = 5. Arguments: input, quasi-identifiers, sensitive, output.

Prints JSON: seconds of reading, of the anonymization call alone, of writing.
"""

import json
import sys
import time

import anonypy
import pandas

source, quasi_identifiers, sensitive, target = (
    sys.argv[1], sys.argv[2].split(","), sys.argv[3], sys.argv[4])

start = time.perf_counter()
table = pandas.read_csv(source, sep=";")
for column in quasi_identifiers + [sensitive]:
    if column != "age":
        table[column] = table[column].astype("category")  # anonypy's way to say nominal
read = time.perf_counter()
rows = anonypy.Preserver(table, quasi_identifiers, sensitive).anonymize_k_anonymity(k=5)
anonymized = time.perf_counter()
released = pandas.DataFrame(rows)
released.to_csv(target, sep=";", index=False)
written = time.perf_counter()

# One line per class and sensitive value, with a count; a cell is a list of one text,
# the class's values in no particular order.
cells = released[quasi_identifiers].map(lambda cell: ",".join(sorted(cell[0].split(","))))
print(json.dumps({
    "rows": int(released["count"].sum()),
    "classes": len(cells.drop_duplicates()),
    "seconds": {"read": read - start, "anonymize": anonymized - read,
                "write": written - anonymized, "total": written - start},
}))

#!/usr/bin/env python3
"""Generated policies over odd tables, published and read by an independent reader.

    tests/attacks/generated.py BINARY SCRATCH [--long]

Tables have quotes, line breaks, missing values, characters of many scripts, one row, one column, equal rows and huge
numbers. Every release is checked by `scumble verify` and by the reader below, which knows docs/policy.md and docs/json.md
and nothing of the source code: a class is a combination of texts, k the size of the smallest, l the fewest distinct
sensitive values of a class. Uses the standard library only.
"""

import collections
import csv
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys

TEXTS = ["a", "b", "c d", 'say "no"', "x,y", "semi;colon", "line\nbreak", "é", "日本", "ab\u0301", " lead", "trail ",
         "*x", "[1, 2]", "'", "\\", "NULL", "0", "-"]
NUMBERS = ["0", "1", "2", "3", "10", "99", "-5", "1.5", "100000000000", "999999999999999999"]
DATES = ["1961-03-05", "1970-01-01", "1999-12-31", "2000-02-29", "2024-01-01"]
ALGORITHMS = [("mondrian", ""), ("samarati", ""), ("datafly", ""), ("incognito", ""), ("lattice", ""), ("top-down", ""),
              ("bottom-up", ""), ("sibling", ""), ("local", ""), ("anatomy", "l = 2\n")]


def quote(text):
    """A TOML string."""
    return json.dumps(text, ensure_ascii=True)


def column(chance, kind, rows, missing):
    """Values of a column."""
    pool = {"text": TEXTS, "number": NUMBERS, "date": DATES}[kind]
    pool = chance.sample(pool, chance.randint(1, min(5, len(pool))))
    return ["" if missing and chance.random() < 0.2 else chance.choice(pool) for _ in range(rows)]


RULES = {"text": ["{ flat = true }", "{ prefix = true }"], "number": ["{ number = true }", "{ intervals = [5, 10] }"],
         "date": ['{ dates = ["month", "year"] }']}


def generate(chance, folder):
    """Writes a table and a policy; returns what is needed to judge the release."""
    rows = chance.choice([1, 2, 4, 8, 12, 12, 30])
    quasi = [(f"q{i}" if chance.random() < 0.8 else f'q "{i}" é', chance.choice(["text", "number", "date"]))
             for i in range(chance.choice([1, 1, 2, 3]))]
    sensitive = chance.random() < 0.8
    missing = chance.random() < 0.4
    table = {name: column(chance, kind, rows, missing) for name, kind in quasi}
    if chance.random() < 0.2:
        table = {name: [values[0]] * rows for name, values in table.items()}
    if sensitive:
        table["s"] = column(chance, "text", rows, False)
    if chance.random() < 0.4:
        table["plain"] = column(chance, "text", rows, missing)
    with open(os.path.join(folder, "data.csv"), "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values()))
    name, parameters = chance.choice(ALGORITHMS)
    lines = ['source = "data.csv"', "ledger = false", 'delimiter = ","', "[attributes]"]
    for q, kind in quasi:
        lines.append(f"{quote(q)} = {{ role = \"quasi-identifier\", taxonomy = {chance.choice(RULES[kind])} }}")
    lines += ['s = "sensitive"'] if sensitive else []
    lines += ['plain = "insensitive"'] if "plain" in table else []
    k = chance.choice([1, 2, 3])
    if name != "anatomy":
        lines += ["[[models]]", 'name = "k-anonymity"', f"k = {k}"]
    if sensitive and (name == "anatomy" or chance.random() < 0.5):
        lines += ["[[models]]", 'name = "distinct-l-diversity"', f"l = {chance.choice([1, 2])}"]
    lines += ["[algorithm]", f'name = "{name}"', parameters, "[release]", 'to = "release"']
    with open(os.path.join(folder, "policy.toml"), "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return table, [q for q, _ in quasi]


def rows_of(path, delimiter):
    """The lines of a CSV file as dictionaries."""
    with open(path, newline="", encoding="utf-8") as source:
        reader = csv.reader(source, delimiter=delimiter)
        head = next(reader)
        return head, [dict(zip(head, row)) for row in reader]


def independent(folder, table, quasi):
    """What is wrong with a release; nothing if all is well."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as source:
        manifest = json.load(source)
    wrong = []
    data = os.path.join(folder, manifest["data"]["file"])
    with open(data, "rb") as source:
        if hashlib.sha256(source.read()).hexdigest() != manifest["data"]["sha256"]:
            wrong.append("hash")
    head, rows = rows_of(data, manifest["data"]["delimiter"])
    roles = {c["name"]: c["role"] for c in manifest["columns"]}
    known = [name for name in head if roles.get(name) == "quasi-identifier"]
    if sorted(known) != sorted(quasi):
        wrong.append(f"quasi-identifiers {known}")
    classes = collections.defaultdict(list)
    for row in rows:
        classes[tuple(row[q] for q in known)].append(row)
    if len(rows) != manifest["data"]["rows"] or len(rows) + manifest["suppressed"] != len(next(iter(table.values()))):
        wrong.append("number of rows")
    if len(classes) != manifest["classes"]:
        wrong.append(f"{len(classes)} classes, said {manifest['classes']}")
    anatomized = manifest.get("anatomized")
    groups = {}
    if anatomized:
        _, lines = rows_of(os.path.join(folder, anatomized["file"]), manifest["data"]["delimiter"])
        for line in lines:
            groups.setdefault(line[anatomized["group"]], set()).add(line["s"])
    for model in manifest["models"]:
        if model["name"] == "k-anonymity":
            found = min(map(len, classes.values()), default=0)
        elif model["name"] == "distinct-l-diversity":
            sets = groups.values() if anatomized else [{r["s"] for r in rows} for rows in classes.values()]
            found = min(map(len, sets), default=0)
        else:
            continue
        if model["measured"]["exact"] != str(found) or found < int(next(iter(model["parameters"].values()))):
            wrong.append(f"{model['name']}: said {model['measured']['exact']}, found {found}")
    for name in ("plain", "s"):
        if name in table and name in head:
            left = collections.Counter(row[name] for row in rows) - collections.Counter(table[name])
            if left:
                wrong.append(f"values of {name} that are not in the source: {dict(left)}")
    return wrong


def main():
    binary, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    number = 3000 if "--long" in sys.argv else 60
    tally = collections.Counter()
    failed = 0
    for seed in range(number):
        chance = random.Random(seed)
        folder = os.path.join(scratch, "generated")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        table, quasi = generate(chance, folder)
        run = lambda *words: subprocess.run([binary, *words], cwd=folder, capture_output=True, text=True, timeout=60)
        made = run("publish", "policy.toml", "--seed", "1")
        wrong = []
        if made.returncode not in (0, 1, 2) or "panicked" in made.stderr or "please report" in made.stderr:
            wrong.append(made.stderr)
        elif made.returncode == 0:
            verified = run("verify", "release", "--json")
            if verified.returncode != 0:
                answer = json.loads(verified.stdout) if verified.stdout.startswith("{") else {}
                false = [c for c in answer.get("checked", []) if not c["holds"]]
                wrong.append(f"verify: {false or answer.get('unchecked') or verified.stderr}")
            wrong += independent(os.path.join(folder, "release"), table, quasi)
        tally[made.returncode] += 1
        if wrong:
            failed += 1
            print(f"seed {seed}: {wrong}")
    print(f"generated: {tally[0]} published, {tally[1]} refused, {tally[2]} not possible; {failed} wrong")
    # A run in which hardly anything is published tests nothing.
    sys.exit(1 if failed or tally[0] < number // 4 else 0)


main()

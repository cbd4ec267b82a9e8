#!/usr/bin/env python3
"""Rewrites the ledger of a budget that is used up: cuts its end off, writes all entries anew, puts an older copy back, and
removes it. Each must be found, by `ledger verify` and by whoever asks or publishes."""
import hashlib
import json
import os
import shutil
import sqlite3
import sys

from place import ASK, Place, Report, arguments


def main():
    binary, scratch, _ = arguments()
    place, report = Place(binary, f"{scratch}/rewritten", patients=500), Report("rewritten ledgers")
    place.write("questions.toml", place.read("questions.toml").decode().replace("epsilon = 30,", "epsilon = 0.2,"))
    place.must(["publish", "policy.toml"])
    old = place.snapshot()
    for _ in range(2):
        place.must(ASK)
    place.must(ASK, status=1)
    whole = place.snapshot()

    def tamper(*commands):
        database = sqlite3.connect(place.path("ledger/ledger.sqlite"))
        for command in ("DROP TRIGGER entries_remain", "DROP TRIGGER entries_stay", *commands):
            database.execute(*command) if isinstance(command, tuple) else database.execute(command)
        database.commit()
        database.close()

    def rewrite(link):
        commands, before = [], ""
        for number, entry in place.entries().items():
            for spend in entry.get("spends", []):
                spend.update({k: "1/1000000" for k in ("epsilon", "rho") if k in spend})
                spend.update({"scale": "1000000"} if "scale" in spend else {})
            body = json.dumps(entry)
            before = link(before, number, body)
            commands.append(("UPDATE entries SET body = ?, hash = ? WHERE number = ?", (body, before, number)))
        tamper(*commands)

    def put_back(names):
        for name in names:
            with open(place.path(name), "wb") as file:
                file.write(old[name][1])

    def remove(name):
        shutil.rmtree(place.path(name)) if os.path.isdir(place.path(name)) else os.remove(place.path(name))

    sha = lambda before, number, body: hashlib.sha256(f"{before}\n{number}\n{body}".encode()).hexdigest()
    zeros = lambda before, number, body: sha(before or "0" * 64, number, body)
    attacks = {
        "the end is cut off": lambda: tamper("DELETE FROM entries WHERE number > 3"),
        "every entry is rewritten, hashed from nothing": lambda: rewrite(sha),
        "every entry is rewritten, hashed from zeros": lambda: rewrite(zeros),
        "every entry is rewritten, and the head removed": lambda: (rewrite(zeros), remove("ledger.head")),
        "one body is rewritten": lambda: tamper("UPDATE entries SET body = replace(body, '1', '2') WHERE number = 2"),
        "an older copy is put back": lambda: put_back(["ledger/ledger.sqlite"]),
        "the folder is removed": lambda: remove("ledger"),
        "the database is removed": lambda: remove("ledger/ledger.sqlite"),
        "the database is emptied": lambda: open(place.path("ledger/ledger.sqlite"), "w").close(),
    }
    for name, attack in attacks.items():
        place.restore(whole)
        attack()
        wrong = []
        for command in (ASK, ["publish", "strict.toml", "--dry-run"], ["publish", "strict.toml"]):
            code, out, err = place.run(command)
            if code != 2 or "ledger" not in out + err:
                wrong.append(f"{command[0]} exits {code}: {(out + err)[:200]}")
        if place.run(["ledger", "verify"])[0] == 0:
            wrong.append("`ledger verify` is content")
        if place.names("releases") != ["2026-q3"]:
            wrong.append("something was published")
        report.add(name, wrong)
    place.restore(whole)
    place.must(["ledger", "verify"])
    text = place.must(["ledger", "withdraw", "2026-q3", "--because", "of a test"])
    report.add("a release is withdrawn and still there", [] if "is still in" in text else [text])
    report.end()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()

#!/usr/bin/env python3
"""Names folders that are not releases as targets, or puts something where a release is about to appear. Nothing that is not
a release of ours is removed, and an old release stays until the new one is recorded."""
import os
import signal
import sys
import time

from place import Place, Report, arguments, library


def stopped(child):
    """Waits until a process is stopped; whether it is."""
    for _ in range(6000):
        try:
            state = open(f"/proc/{child.pid}/stat").read().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
        if state == "T":
            return True
        if state == "Z":
            return False
        time.sleep(0.01)
    return False


def main():
    binary, scratch, _ = arguments()
    place, report = Place(binary, f"{scratch}/destroyed"), Report("destroyed folders")
    disk = library(scratch)
    clean = place.snapshot()

    def untouched(what, command, files):
        """Runs a command that must fail and leave these files."""
        place.restore(clean)
        for name, text in files.items():
            place.write(name, text)
        code, out, err = place.run(command)
        wrong = [] if code == 2 else [f"exits {code}: {(out + err)[:200]}"]
        for name, text in files.items():
            if not os.path.exists(place.path(name)) or place.read(name).decode() != text:
                wrong.append(f"`{name}` is not what it was")
        report.add(what, wrong)

    publish, synthesize = ["publish", "policy.toml", "--replace", "--to"], ["synthesize", "questions.toml", "--replace", "--to"]
    untouched("synthesize over a thesis", synthesize + ["thesis"], {"thesis/chapter1.tex": "years of work"})
    web = {"web/manifest.json": '{"manifest_version": 3}', "web/app.js": "code"}
    untouched("publish over a web extension", publish + ["web"], web)
    untouched("synthesize over a web extension", synthesize + ["web"], web)
    untouched("publish without a ledger", ["publish", "unrecorded.toml", "--replace", "--to", "web"], web)
    untouched("publish over the hospital", publish + ["."], {"notes.txt": "precious"})

    for what, first, again in (
        ("a release", ["publish", "policy.toml", "--to", "here"], publish + ["here"]),
        ("a synthetic table", ["synthesize", "questions.toml", "--to", "here"], synthesize + ["here"]),
    ):
        for change in ("notes", "data"):
            place.restore(clean)
            place.must(first)
            if change == "notes":
                place.write("here/notes.txt", "precious")
            else:
                place.write("here/data.csv", place.read("here/data.csv").decode() + "corrected\n")
            before = {name: place.read(f"here/{name}") for name in place.names("here")
                      if os.path.isfile(place.path(f"here/{name}"))}
            code, out, err = place.run(again)
            same = all(place.read(f"here/{name}") == text for name, text in before.items())
            report.add(f"{what} with other {change}", [] if code == 2 and same else [f"exits {code}: {(out + err)[:200]}"])
        place.restore(clean)
        place.must(first)
        code, out, err = place.run(again)
        report.add(f"{what} as it was written", [] if code == 0 else [f"exits {code}: {(out + err)[:200]}"])
        other = synthesize if "policy.toml" in first else publish
        code, out, err = place.run(other + ["here"])
        report.add(f"{what} replaced by the other kind", [] if code == 2 else [f"exits {code}"])

    # Something appears while the command runs: stopped before its last file, and before the rename itself.
    commands = (["publish", "policy.toml"], ["publish", "unrecorded.toml"], ["synthesize", "questions.toml"])
    for command in commands:
        for call in ("open:/manifest.json", "rename:/late"):
            place.restore(clean)
            child = place.start(command + ["--to", "late"], LD_PRELOAD=disk, DISK_CALL=call, DISK_HOW="stop")
            wrong = [] if stopped(child) else ["it did not stop"]
            place.write("late/notes.txt", "precious")
            child.send_signal(signal.SIGCONT)
            out, err = child.communicate(timeout=120)
            if child.returncode != 2:
                wrong.append(f"exits {child.returncode}: {(out + err).decode()[:200]}")
            if place.names("late") != ["notes.txt"]:
                wrong.append(f"there is {place.names('late')}")
            place.run(["ledger", "list"])
            left = [name for name in place.names("") if name.startswith(".")]
            report.add(f"{' '.join(command)}, {call}", wrong + ([f"{left} is left"] if left else []))

    # Killed at each rename of a replacement, also where the file system cannot exchange folders.
    for first, again in (
        (["publish", "policy.toml"], ["publish", "policy.toml", "--replace"]),
        (["publish", "unrecorded.toml"], ["publish", "unrecorded.toml", "--replace"]),
        (["synthesize", "questions.toml"], ["synthesize", "questions.toml", "--replace"]),
    ):
        for exchange in ({}, {"DISK_NO_EXCHANGE": "1"}):
            place.restore(clean)
            place.must(first)
            name = place.names("releases")[0]
            published, log = place.snapshot(), f"{scratch}/destroyed-log"
            open(log, "w").close()
            place.run(again, LD_PRELOAD=disk, DISK_LOG=log, **exchange)
            lines = open(log).read().splitlines()
            begin = next(n for n, line in enumerate(lines, 1) if " rename " in line and "releases/" in line)
            for n in range(begin, min(begin + 12, len(lines) + 1)):
                place.restore(published)
                place.run(again, LD_PRELOAD=disk, DISK_AT=str(n), DISK_HOW="kill", **exchange)
                there = os.path.exists(place.path(f"releases/{name}/manifest.json"))
                wrong = [] if there or exchange else ["neither the old nor the new one is there"]
                # The next command to the same place puts back what was moved aside.
                code, out, err = place.run(first)
                if code != 2 or "exists already" not in out + err:
                    wrong.append(f"again it exits {code}: {(out + err)[:200]}")
                if not os.path.exists(place.path(f"releases/{name}/manifest.json")):
                    wrong.append("the old one is lost")
                code, out, err = place.run(again)
                if code != 0 or place.names("releases") != [name]:
                    wrong.append(f"replacing exits {code} and leaves {place.names('releases')}: {err[:200]}")
                report.add(f"{' '.join(again)}, killed at {lines[n - 1]} {exchange}", wrong)
    report.end()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()

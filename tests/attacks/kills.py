#!/usr/bin/env python3
"""Kills the command before a call that changes the disk, or in the middle of a write: every one with --long, some
otherwise. Afterwards a release is there with its entry or neither is, what was answered is paid, and nothing is lost."""
import random
import sys

from place import SCENES, Place, Report, arguments, check, library

HOWS = {"kills": ("kill", "torn"), "faults": ("fail", "full")}


def main(what):
    binary, scratch, long = arguments()
    disk, report, few = library(scratch), Report(what), random.Random(1)
    for scene, (before, command) in SCENES.items():
        place = Place(binary, f"{scratch}/{what}-{scene.replace(' ', '-')}")
        for step in before:
            place.must(step)
        state, snapshot, log = place.state(), place.snapshot(), f"{scratch}/{what}-log"
        open(log, "w").close()
        code, _, err = place.run(command, LD_PRELOAD=disk, DISK_LOG=log)
        assert code == 0, err
        calls = open(log).read().splitlines()
        plan = [(n, how) for n in range(1, len(calls) + 1) for how in HOWS[what]]
        # Only a write can be torn.
        plan = [(n, how) for n, how in plan if how != "torn" or "write " in calls[n - 1]]
        for n, how in plan if long else few.sample(plan, min(len(plan), 12)):
            for error in ("28", "5") if long and what == "faults" else (few.choice(("28", "5")),):
                place.restore(snapshot)
                code, out, err = place.run(
                    command, LD_PRELOAD=disk, DISK_AT=str(n), DISK_HOW=how, DISK_ERRNO=error
                )
                wrong = check(place, scene, state, out)
                if what == "faults" and (code not in (0, 2) or "panicked" in err):
                    wrong.append(f"exits {code}: {err[:200]}")
                if what == "faults" and code != 0 and "COUNT" in out:
                    wrong.append(f"answers, and exits {code}")
                report.add(f"{scene}, {how} {error} at {calls[n - 1]}", wrong)
    report.end()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main("kills")

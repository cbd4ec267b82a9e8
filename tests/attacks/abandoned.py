#!/usr/bin/env python3
"""Takes living publishers for dead ones: removes the lock of the ledger while one is at work, and looks at the ledger from
where its folder cannot be seen, as from another machine of the same name. No release that is there or will be there is
abandoned."""
import os
import signal
import sys

from destroyed import stopped
from place import Place, Report, arguments, library

# Stopped before the release is written, before it has its place, and before that is recorded.
CALLS = [("open:/data.csv", "0"), ("rename:/2026-q3", "0"), ("fsync:/releases", "1")]


def main():
    binary, scratch, _ = arguments()
    place, report, disk = Place(binary, f"{scratch}/abandoned"), Report("abandoned releases"), library(scratch)
    place.must(["query", "--dp", "questions.toml", "SELECT COUNT(*) FROM patients", "--epsilon", "0.1"])
    os.mkdir(place.path("releases"))
    clean = place.snapshot()
    command = ["publish", "policy.toml"]

    def standing():
        return sorted(place.standing().values())

    for call, skip in CALLS:
        for loses in ("lock", "nothing"):
            place.restore(clean)
            wrong = []
            child = place.start(command, LD_PRELOAD=disk, DISK_CALL=call, DISK_SKIP=skip, DISK_HOW="stop")
            if not stopped(child):
                wrong.append("it did not stop")
            if loses == "lock":
                os.remove(place.path("ledger/lock"))
            place.run(["ledger", "list"])
            if standing() == ["abandoned"]:
                wrong.append("it lives, and is called abandoned")
            if loses == "lock":
                # Somebody else writes meanwhile.
                place.must(["query", "--dp", "questions.toml", "SELECT COUNT(*) FROM patients", "--epsilon", "0.1"])
            child.send_signal(signal.SIGCONT)
            out, err = child.communicate(timeout=120)
            place.must(["ledger", "verify"])
            there = os.path.exists(place.path("releases/2026-q3"))
            expected = (0, True, ["published"])
            if loses == "lock" and call == CALLS[0][0]:
                # Whoever lost the ledger stops before the rename.
                expected = (2, False, ["abandoned"])
            if (child.returncode, there, standing()) != expected:
                wrong.append(f"exits {child.returncode}, there: {there}, {standing()}: {(out + err).decode()[:200]}")
            left = [name for name in place.names("releases") if name.startswith(".")]
            report.add(f"{call}, loses {loses}", wrong + ([f"{left} is left"] if left else []))

    # Killed, and looked at from where its folder cannot be seen.
    for call, skip in CALLS:
        place.restore(clean)
        wrong = []
        place.run(command, LD_PRELOAD=disk, DISK_CALL=call, DISK_SKIP=skip, DISK_HOW="kill")
        os.rename(place.path("releases"), place.path("disk-of-a"))
        os.mkdir(place.path("releases"))
        for look in (["ledger", "list"], ["query", "--dp", "questions.toml", "SELECT COUNT(*) FROM patients", "--epsilon", "0.1"]):
            place.must(look)
        if standing() != ["announced"]:
            wrong.append(f"elsewhere it is {standing()}")
        os.rmdir(place.path("releases"))
        os.rename(place.path("disk-of-a"), place.path("releases"))
        place.must(["ledger", "list"])
        there = os.path.exists(place.path("releases/2026-q3"))
        if standing() != (["published"] if there else ["abandoned"]):
            wrong.append(f"there: {there}, and it is {standing()}")
        left = [name for name in place.names("releases") if name.startswith(".")]
        report.add(f"killed at {call}, looked at from elsewhere", wrong + ([f"{left} is left"] if left else []))
    report.end()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()

"""Adult made large: the benchmark's input of one and ten million rows.

A row is an Adult record drawn with replacement, its age moved by a whole number
from -3 to +3 and clipped to 17..90. Record and jitter are drawn together, uniformly, from the list of all such lines,
so the file is one `random.choices` and needs nothing but the standard library.

What these files do not measure: Adult has 19 502 distinct rows, and the jitter makes
of them only 83 726 in one million and 84 296 in ten (39 593 and 39 823 distinct
combinations of quasi-identifiers). A program that collapses equal rows, as scumble
does, anonymizes about the same table at both sizes; what grows is reading and writing.

The smaller file is the beginning of the larger one, because the seed is the same.
"""

import hashlib
import os
import random
import sys
from pathlib import Path

SEED = 1
JITTER = range(-3, 4)
YOUNGEST, OLDEST = 17, 90
CHUNK = 250_000  # rows held at once; the file does not depend on it


def lines_to_draw_from(adult: Path) -> tuple[bytes, list[bytes]]:
    """Adult's header, and every record at each of its seven possible ages."""
    header, *records = adult.read_bytes().splitlines()
    age = header.split(b";").index(b"age")
    lines = []
    for record in records:
        cells = record.split(b";")
        true_age = int(cells[age])
        for move in JITTER:
            cells[age] = b"%d" % min(OLDEST, max(YOUNGEST, true_age + move))
            lines.append(b";".join(cells) + b"\n")
    return header + b"\n", lines


def generate(adult: Path, rows: int, target: Path) -> str:
    """Writes `rows` rows to `target` unless it is there; returns its SHA-256."""
    digest_file = target.with_suffix(".sha256")
    if target.exists() and digest_file.exists():
        return digest_file.read_text().strip()
    header, lines = lines_to_draw_from(adult)
    draw = random.Random(SEED)
    digest = hashlib.sha256(header)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed, so that an interrupted run leaves no short file
    # that a later run would take for the whole one.
    part = target.with_suffix(".part")
    with open(part, "wb") as out:
        out.write(header)
        for start in range(0, rows, CHUNK):
            chunk = b"".join(draw.choices(lines, k=min(CHUNK, rows - start)))
            digest.update(chunk)
            out.write(chunk)
    os.replace(part, target)
    digest_file.write_text(digest.hexdigest() + "\n")
    return digest.hexdigest()


if __name__ == "__main__":
    print(generate(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))

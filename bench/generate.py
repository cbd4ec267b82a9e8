"""Adult made large: the benchmark's input of one and ten million rows.

A row is an Adult record drawn with replacement, its age moved by a whole number
from -3 to +3 and clipped to 17..90. The jitter matters: without it ten million
rows collapse to Adult's own 20 000 distinct ones and measure only the reader.
Record and jitter are drawn together, uniformly, from the list of all such lines,
so the file is one `random.choices` and needs nothing but the standard library.

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
CHUNK = 250_000  # part of the recipe: another chunk must not change the file


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

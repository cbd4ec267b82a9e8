"""What one process costs, contestants that take turns, and tables of figures."""

import json
import os
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scumble"
VENV = CACHE / "bench-venv"
INPUTS = CACHE / "bench-data"
WORK = CACHE / "bench-work"
TURN = WORK / "turn"


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


# --- One process, measured ---------------------------------------------------------

@dataclass
class Run:
    """What one process cost, and the JSON it printed (if it printed any)."""
    wall: float
    cpu: float
    rss: int
    answer: dict


class Failed(Exception):
    pass


def measure(command: list[str], files: dict[str, str]) -> Run:
    """Runs the command in an empty folder that holds only `files`: no turn finds the
    release, the ledger or the output of an earlier one."""
    os.chdir(WORK)
    shutil.rmtree(TURN, ignore_errors=True)
    TURN.mkdir()
    for name, text in files.items():
        (TURN / name).write_text(text)
    os.chdir(TURN)
    os.sync()  # the previous contestant's dirty pages are not this one's problem
    with open(WORK / "stdout", "w+b") as out, open(WORK / "stderr", "w+b") as err:
        start = time.perf_counter()
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        _, status, used = os.wait4(child, 0)
        wall = time.perf_counter() - start
        out.seek(0), err.seek(0)
        printed, complaint = out.read(), err.read().decode(errors="replace").strip()
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise Failed(f"exit {code}: {(complaint or printed.decode(errors='replace'))[-400:]}")
    answer = json.loads(printed) if printed.lstrip().startswith(b"{") else {}
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, answer)


# --- Contestants and cases ---------------------------------------------------------

@dataclass
class Contestant:
    """A command, how often it runs, and which part of its time is its figure."""
    name: str
    command: list[str]
    repetitions: int
    inside: str | None = None     # key under `seconds` that replaces wall time in ratios
    rows: int | None = None       # what it must say it handled, or the figure is void
    files: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    failure: str | None = None

    def figures(self) -> list[float]:
        return [run.answer["seconds"][self.inside] if self.inside else run.wall
                for run in self.runs]

    def median(self) -> float | None:
        return statistics.median(self.figures()) if self.runs else None

    def rss(self) -> int | None:
        return max((run.rss for run in self.runs), default=None)

    def take_turn(self) -> None:
        try:
            run = measure(self.command, self.files)
            self.check(run.answer)
            self.runs.append(run)
        except (Failed, OSError, ValueError) as problem:
            self.failure = str(problem) or type(problem).__name__

    def check(self, answer: dict) -> None:
        if self.rows is None:
            return
        if answer.get("outcome", "published") not in ("published", "would publish"):
            raise Failed(f"outcome `{answer['outcome']}`: {answer.get('reasons')}")
        handled = answer.get("rows", 0) + answer.get("suppressed", 0)
        if handled != self.rows:
            raise Failed(f"handled {handled} rows of {self.rows}")
        if self.inside and self.inside not in answer.get("seconds", {}):
            raise Failed(f"its answer lacks seconds.{self.inside}")


@dataclass
class Case:
    key: str
    title: str
    inputs: list[Path]
    contestants: list[Contestant]

    def run(self) -> None:
        say(f"{self.key}: " + ", ".join(f"{c.name} ×{c.repetitions}" for c in self.contestants))
        for path in self.inputs:
            warm(path)
        for turn in range(max((c.repetitions for c in self.contestants), default=0)):
            for contestant in self.contestants:
                if turn < contestant.repetitions and not contestant.failure:
                    contestant.take_turn()


def warm(path: Path) -> None:
    """Reads the file in small pieces: a child's peak memory starts at its parent's,
    so this process must stay small."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


# --- Tables ------------------------------------------------------------------------

def seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value:.3f} s" if value < 10 else f"{value:.1f} s"


def megabytes(value: int | None) -> str:
    return "–" if value is None else f"{value / 1e6:.0f} MB" if value >= 1e7 else f"{value / 1e6:.1f} MB"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

"""The inference engine: how long it takes to find what is forced and the belief of maximum
entropy, on people who were published several times. The peer is SciPy's L-BFGS on the dual of
what is left after our forced values, a head start for it."""

import os
import subprocess
from pathlib import Path

from measure import INPUTS, VENV, Case, Contestant, megabytes, seconds, table

BENCH = Path(__file__).resolve().parent
REPOSITORY = BENCH.parent

# people, distinct values in a group (10: groups of ten, whatever values), releases, values
INSTANCES = [(7200, 2, 2, 14), (7200, 3, 2, 14), (7200, 5, 2, 14), (7200, 5, 2, 7), (7200, 5, 2, 9),
             (7200, 10, 2, 14), (1_000_000, 5, 2, 14), (1_000_000, 5, 5, 14)]


def example() -> Path:
    """The program that makes the instances and solves them."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "scumble", "--example", "republish"],
                   cwd=REPOSITORY, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    return target / "release" / "examples" / "republish"


def cases(options) -> list[Case]:
    if options.peers_only or options.only and "inference" not in options.only:
        return []
    program, python = example(), str(VENV / "bin" / "python")
    all_cases = []
    for instance in INSTANCES:
        people, distinct, releases, values = instance
        command = [str(program), *map(str, instance)]
        groups = "groups of ten" if distinct == 10 else f"groups of {distinct} of {values} values"
        runs = [Contestant("scumble", command, options.repetitions if people < 100_000 else 2,
                           "total", people)]
        if people < 100_000:
            file = INPUTS / f"republish-{distinct}-{values}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([*command, str(file)], check=True, capture_output=True)
            script = str(BENCH / "peers" / "maxent_scipy.py")
            runs.append(Contestant("SciPy L-BFGS", [python, script, str(file)],
                                   0 if options.skip_slow else 1, "total"))
        all_cases.append(Case(f"inference {people} {distinct} {releases} {values}",
                              f"{people} people, {releases} releases, {groups}", [], runs))
    return all_cases


def worth(measured: list[Case]) -> str:
    rows = []
    for case in (c for c in measured if c.key.startswith("inference")):
        for c in case.contestants:
            if not c.runs:
                continue
            answer = c.runs[0].answer
            took = answer["seconds"]
            rows.append([case.title, c.name, f"{answer['certain']:.1%}" if "certain" in answer else "–",
                         str(answer.get("outcomes", "–")), f"{answer.get('entropy', float('nan')):.3f}",
                         str(answer.get("violation", "–")), seconds(took.get("forced")),
                         seconds(took.get("entropy")), seconds(c.median()), megabytes(c.rss())])
    return table(["instance", "by", "people certain", "unknowns", "entropy, nats", "violation", "forced",
                  "maximum entropy", "total", "peak memory"], rows) if rows else ""


def targets(measured: list[Case], target) -> list:
    rows = []
    for case in (c for c in measured if c.key.startswith("inference")):
        ours = case.contestants[0]
        people, releases = (int(case.key.split()[i]) for i in (1, 3))
        bound = 0.1 if people < 100_000 else 30 if releases == 2 else 90
        value = ours.median() if ours.runs and not ours.failure else None
        rows.append(target(case.title, f"< {seconds(bound)}", value, seconds, lambda v, b=bound: v < b))
    return rows

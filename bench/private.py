"""Differential privacy: noisy counts and bounded means by group over a million rows, and a synthetic table of Adult. The peers
are diffprivlib and OpenDP's Python package, in a virtual environment of their own, and Tumult Analytics in another, where there
is a Java runtime."""

import json
import shutil
import subprocess
from pathlib import Path

from measure import CACHE, Case, Contestant, say, seconds

BENCH = Path(__file__).resolve().parent
PRIVATE = CACHE / "bench-venv-private"
TUMULT = CACHE / "bench-venv-tumult"
KEYS = ["10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Assoc-acdm", "Assoc-voc", "Bachelors",
        "Doctorate", "HS-grad", "Masters", "Preschool", "Prof-school", "Some-college"]
SQL = "SELECT education, COUNT(*), AVG(age) FROM adult GROUP BY education"


def install(where: Path, requirements: str) -> str:
    """A virtual environment with exactly these requirements; its interpreter."""
    wanted = (BENCH / requirements).read_text()
    installed = where / "requirements.txt"
    if not installed.exists() or installed.read_text() != wanted:
        say(f"installing {requirements} (once)")
        shutil.rmtree(where, ignore_errors=True)
        python = next(filter(None, map(shutil.which, ("python3.11", "python3.12"))), "python3")
        subprocess.run([python, "-m", "venv", str(where)], check=True)
        subprocess.run([str(where / "bin" / "pip"), "install", "--quiet", "--requirement", str(BENCH / requirements)],
                       check=True)
        installed.write_text(wanted)
    return str(where / "bin" / "python")


def policy(source: Path, columns: dict[str, list[str]], synthetic: bool) -> str:
    """What may be asked of `source`; spending is recorded in the folder of the turn."""
    lines = [f"source = {json.dumps(str(source))}", "[queries]", 'table = "adult"',
             "budget = { epsilon = 1000, delta = 1e-6 }"]
    if synthetic:
        lines += ["[queries.synthetic]", f"columns = {json.dumps(['age', *columns])}", "epsilon = 1",
                  "delta = 1e-9", 'mechanism = "gaussian"', 'to = "out"']
    lines += ["[queries.columns]", "age = { bounds = [0, 120] }"]
    lines += [f"{name} = {{ keys = {json.dumps(keys)} }}" for name, keys in columns.items()]
    return "\n".join(lines) + "\n"


def domain(data: Path) -> dict[str, list[str]]:
    """The values of Adult's categorical columns, from its hierarchies: they are public."""
    columns = ["sex", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class"]
    found = {}
    for column in columns:
        lines = (data / "adult" / "hierarchies" / f"adult_hierarchy_{column}.csv").read_text().splitlines()
        found[column] = [line.split(";")[0] for line in lines if line]
    return found


def cases(options, one: Path, adult: Path) -> list[Case]:
    if options.only and "private" not in options.only:
        return []
    python, n = install(PRIVATE, "requirements-private.txt"), options.repetitions
    arguments = [str(one), "education", ",".join(KEYS), "age", "0", "120"]
    ask = [str(options.binary), "query", "--dp", "policy.toml", SQL, "--epsilon", "1", "--json"]

    def peer(name, script):
        return Contestant(name, [python, str(BENCH / "peers" / script), *arguments], n, "total", 1_000_000)

    peers = [peer("diffprivlib", "diffprivlib_groups.py"), peer("OpenDP", "opendp_groups.py")]
    if shutil.which("java"):
        spark = install(TUMULT, "requirements-tumult.txt")
        peers.append(Contestant("Tumult", [spark, str(BENCH / "peers" / "tumult_groups.py"), *arguments], min(n, 2),
                                "total", 1_000_000))
    else:
        say("Tumult Analytics is left out: there is no java")
    return [
        Case("private groups", "1 000 000 rows, count and bounded mean by group", [one], [
            Contestant("scumble", ask, n, files={"policy.toml": policy(one, {"education": KEYS}, False)}),
            *peers]),
        Case("private synthetic", "Adult, synthetic table of 9 columns", [adult], [
            Contestant("scumble", [str(options.binary), "synthesize", "policy.toml", "--json"], n,
                       files={"policy.toml": policy(adult, domain(options.data), True)})]),
    ]


def targets(measured: list[Case], target) -> list:
    rows = []
    for case in (c for c in measured if c.key.startswith("private")):
        ours = case.contestants[0]
        bound = 0.5 if case.key.endswith("groups") else 10
        value = ours.median() if ours.runs and not ours.failure else None
        rows.append(target(case.title, f"< {seconds(bound)}", value, seconds, lambda v, b=bound: v < b))
    return rows

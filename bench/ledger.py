"""Publishing again: the gate of a quarterly release of a million people with three earlier ones
that share four fifths of them, m-invariance with a tenth of the people new, and opening a ledger
of a thousand releases. There is no peer: no other tool remembers."""

import json
import random
import shutil
import subprocess
from pathlib import Path

from measure import INPUTS, Case, Contestant, megabytes, say, seconds, table

PEOPLE = 1_000_000
JOBS = [f"job {i}" for i in range(14)]


def extract(path: Path, people: range) -> None:
    """Everybody always has the same values, drawn from her number."""
    if path.exists():
        return
    say(f"input of {len(people)} rows: {path}")
    with open(path, "w") as file:
        file.write("person,age,sex,zip,occupation\n")
        for i in people:
            draw = random.Random(i)
            job = JOBS[min(13, int(draw.expovariate(0.25)))]
            file.write(f"P{i},{draw.randint(17, 90)},{draw.choice('FM')},{draw.randint(10, 99)},{job}\n")


def policy(source: Path, algorithm: str, more: str = "") -> str:
    return f"""source = {json.dumps(str(source))}
{more}
[attributes]
person = {{ role = "identifier", person = true }}
age = {{ role = "quasi-identifier", taxonomy = {{ intervals = [5, 10, 20] }} }}
sex = {{ role = "quasi-identifier", taxonomy = {{ flat = true }} }}
zip = {{ role = "quasi-identifier", taxonomy = {{ prefix = true }} }}
occupation = {{ role = "sensitive" }}
[[models]]
name = "distinct-l-diversity"
l = 4
attribute = "occupation"
[algorithm]
{algorithm}
[release]
to = "out"
"""


def prepare(options) -> Path:
    """Three quarters of the same hospital, a tenth of the people new in each."""
    folder = INPUTS / "ledger"
    folder.mkdir(parents=True, exist_ok=True)
    for quarter in range(4):
        first = quarter * PEOPLE // 10
        extract(folder / f"q{quarter + 1}.csv", range(first, first + PEOPLE))
    for name in ("ledger", "r1", "r2", "r3"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "ledger.key").unlink(missing_ok=True)
    for quarter in range(1, 4):
        (folder / "policy.toml").write_text(
            policy(folder / f"q{quarter}.csv", 'name = "m-invariance"\nm = 4'))
        say(f"quarter {quarter}")
        subprocess.run([str(options.binary), "publish", str(folder / "policy.toml"), "--to",
                        str(folder / f"r{quarter}"), "--seed", str(quarter)],
                       check=True, capture_output=True)
    return folder


def thousand(options) -> Path:
    """A ledger of a thousand small releases."""
    folder = INPUTS / "thousand"
    if (folder / "ledger").exists():
        return folder
    say("a ledger of a thousand releases")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "people.csv").write_text("age,job\n" + "30,a\n31,b\n" * 5)
    (folder / "policy.toml").write_text("""source = "people.csv"
[attributes]
age = { role = "quasi-identifier", taxonomy = { intervals = [5] } }
job = "sensitive"
[[models]]
name = "k-anonymity"
k = 2
[algorithm]
name = "mondrian"
[release]
to = "out"
""")
    for i in range(1000):
        subprocess.run([str(options.binary), "publish", str(folder / "policy.toml"), "--replace"],
                       check=True, capture_output=True)
    return folder


def cases(options) -> list[Case]:
    if options.peers_only or options.only and "ledger" not in options.only:
        return []
    folder, many = prepare(options), thousand(options)
    where = f'ledger = {json.dumps(str(folder / "ledger"))}\nkey = {json.dumps(str(folder / "ledger.key"))}'
    last = folder / "q4.csv"

    def dry(algorithm, gate, inside):
        command = [str(options.binary), "publish", "policy.toml", "--dry-run", "--json", "--seed", "4"]
        return Contestant("scumble", command, min(options.repetitions, 3), inside=inside, rows=PEOPLE,
                          files={"policy.toml": policy(last, algorithm, where + gate)})

    same = 'name = "m-invariance"\nm = 4'
    return [
        Case("ledger gate", "gate of a fourth release of 1 000 000 people, 80 to 90 % of them in each of three earlier ones",
             [last], [dry(same, "", None)]),
        Case("ledger posterior", "the same, with beliefs judged (`posterior = 0.5`)", [last],
             [dry(same, "\n[gate]\nposterior = 0.5", None)]),
        Case("ledger invariance", "m-invariance of 1 000 000 records, 10 % new", [last],
             [dry(same, "", "anonymize")]),
        Case("ledger open", "list a ledger of 1 000 releases", [],
             [Contestant("scumble", [str(options.binary), "ledger", "list", "--json", "--ledger",
                                     str(many / "ledger")], options.repetitions)]),
    ]


def worth(measured: list[Case]) -> str:
    rows = []
    for case in (c for c in measured if c.key.startswith("ledger")):
        for c in (c for c in case.contestants if c.runs):
            rows.append([case.title, seconds(c.median()), megabytes(c.rss())])
    return table(["what", "seconds", "peak memory"], rows) if rows else ""


def targets(measured: list[Case], target) -> list:
    bounds = {"gate": 60, "invariance": 10, "open": 0.2}
    found = {case.key: case for case in measured}
    rows = []
    for key, bound in bounds.items():
        if case := found.get(f"ledger {key}"):
            ours = case.contestants[0]
            value = ours.median() if ours.runs and not ours.failure else None
            rows.append(target(case.title, f"< {bound} s", value, seconds, lambda v, b=bound: v < b))
            if key == "gate":
                rows.append(target(f"{case.title}, memory", "< 4 GB", ours.rss(), megabytes, lambda v: v < 4e9))
    return rows

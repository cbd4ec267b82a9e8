#!/usr/bin/env python3
"""Long series that are hard to judge: how long the gate and `attack inference` take.

    bench/series.py BINARY [--save] [--only NAME …]

Every instance is a series of releases of the same people (or nearly, where some come and leave). Each
but the first is judged by the default gate, in a dry run without remedies, and then published with a
gate that lets everything pass. Then all of them are attacked by an adversary who has the
quasi-identifiers of everybody. Both must answer within their time: `[gate] seconds` (120) and
`--seconds` (300), each with what is read, anonymized and explained around it. An answer is a verdict or
figures, with what could not be found out; an error is none.
"""

import argparse
import datetime
import json
import os
import platform
import random
import shutil
import subprocess
import time
from pathlib import Path

from measure import INPUTS, say, seconds, table

RESULTS = Path(__file__).resolve().parent / "results"
# Few values, so that releases leave much open together; none has more than a quarter of the people.
DISEASES = [f"disease {i}" for i in range(8)]
WEIGHTS = range(11, 3, -1)

# What the gate and the attack may take by themselves, and everything around them: reading,
# anonymizing and finding people.
GATE, ATTACK, AROUND = 120, 300, 120

MONDRIAN = 'name = "mondrian"'
ANATOMY = 'name = "anatomy"\nl = 4'

# Name, what it is, people, share of people who are new in each release, algorithms.
INSTANCES = [
    ("four", "240 people in four anatomies", 240, 0, [ANATOMY] * 4),
    ("three", "640 people in three anatomies", 640, 0, [ANATOMY] * 3),
    ("mixed", "30 000 people in Mondrian and anatomy", 30_000, 0, [MONDRIAN, ANATOMY]),
    ("mondrian", "100 000 people in five Mondrian releases", 100_000, 0, [MONDRIAN] * 5),
    ("churn", "100 000 people in three anatomies that cross, a tenth new in each", 100_000, 0.1, [ANATOMY] * 3),
    ("large", "300 000 people in Mondrian and anatomy", 300_000, 0, [MONDRIAN, ANATOMY]),
]


def person(number: int) -> str:
    """A line of the extract: everybody always has the same values, drawn from her number."""
    draw = random.Random(number)
    disease = draw.choices(DISEASES, WEIGHTS)[0]
    return f"P{number},{draw.randint(17, 90)},{draw.choice('FM')},{draw.randint(100, 999)},{disease}\n"


def extract(path: Path, people: range) -> None:
    with open(path, "w") as file:
        file.write("person,age,sex,zip,disease\n")
        file.writelines(map(person, people))


def register(path: Path, people: range, releases: list[range]) -> None:
    """Everybody who is in any release, with a column for each that says whether she is in it."""
    with open(path, "w") as file:
        file.write("person,age,sex,zip," + ",".join(f"in{i + 1}" for i in range(len(releases))) + "\n")
        for number in people:
            inside = ("yes" if number in release else "no" for release in releases)
            file.write(",".join(person(number).split(",")[:4]) + "," + ",".join(inside) + "\n")


# What each release generalizes: Mondrian releases of one series cut by other columns, so that their
# groups cross.
TAXONOMIES = {"age": "{ intervals = [5, 10, 20] }", "sex": "{ flat = true }", "zip": "{ prefix = true }"}
COLUMNS = [("age", "sex", "zip"), ("age", "sex"), ("sex", "zip"), ("age", "zip"), ("age", "sex", "zip")]


def policy(source: Path, algorithm: str, number: int, gate: str) -> str:
    """The policy of a release."""
    mondrian = algorithm == MONDRIAN
    columns = COLUMNS[number] if mondrian else COLUMNS[0]
    roles = "\n".join(
        f'{name} = {{ role = "quasi-identifier", taxonomy = {how} }}' if name in columns else f'{name} = "identifier"'
        for name, how in TAXONOMIES.items())
    identity = f'[[models]]\nname = "k-anonymity"\nk = {5 + number}\n' if mondrian else ""
    return f"""source = {json.dumps(str(source))}
[attributes]
person = {{ role = "identifier", person = true }}
{roles}
disease = {{ role = "sensitive" }}
{identity}[[models]]
name = "distinct-l-diversity"
l = {3 if mondrian else 4}
attribute = "disease"
[algorithm]
{algorithm}
[release]
to = "out"
{gate}"""


OPEN = "[gate]\ncertain = 1000000000\nposterior = 1\n"


def run(command: list[str], folder: Path) -> tuple[float, int, dict, int]:
    """Wall time, exit status, answer and peak memory of a command."""
    with open(folder / "stdout", "w+b") as out, open(folder / "stderr", "w+b") as err:
        start = time.perf_counter()
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        _, status, used = os.wait4(child, 0)
        took = time.perf_counter() - start
        out.seek(0), err.seek(0)
        printed, complaint = out.read(), err.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        say(complaint.strip()[-400:])
    answer = json.loads(printed) if printed.lstrip().startswith(b"{") else {}
    return took, code, answer, used.ru_maxrss * 1024


def judge(binary: str, folder: Path, algorithms: list[str], extracts: list[Path]) -> list[list]:
    """Publishes a series; what the gate says of each release but the first, and what that took."""
    judged = []
    for number, (algorithm, source) in enumerate(zip(algorithms, extracts)):
        command = [binary, "publish", str(folder / "policy.toml"), "--to", str(folder / f"r{number + 1}"),
                   "--seed", str(number + 1), "--json", "--no-remedies"]
        if number > 0:
            (folder / "policy.toml").write_text(policy(source, algorithm, number, ""))
            took, code, answer, memory = run(command + ["--dry-run"], folder)
            lap = answer.get("seconds", {})
            say(f"gate {number + 1}: {seconds(took)}, {told(answer)}")
            judged.append([number + 1, lap.get("attack"), lap.get("explain"), took, code, memory, told(answer)])
        (folder / "policy.toml").write_text(policy(source, algorithm, number, OPEN))
        took, code, answer, _ = run(command, folder)
        say(f"release {number + 1}: {seconds(took)}")
        if code != 0:
            raise SystemExit(f"release {number + 1} was not published: exit {code}, {answer.get('reasons')}")
    return judged


def told(answer: dict) -> str:
    """What the gate said."""
    passages = answer.get("gate", [])
    parts = [answer.get("outcome", "no answer")]
    for passage in passages:
        parts.append(f"{passage['certain']} certain, {passage['exposed']} exposed"
                     + (f", {passage['undecided']} undecided" if passage.get("undecided") else "")
                     + (f" ({passage['exhausted']} used up)" if passage.get("exhausted") else ""))
    return "; ".join(parts)


def measured(instance, binary: str) -> list[list[str]]:
    name, title, people, churn, algorithms = instance
    folder = INPUTS / "series" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say(title)
    step = int(people * churn)
    releases = [range(i * step, i * step + people) for i in range(len(algorithms))]
    extracts = []
    for number, inside in enumerate(releases):
        extracts.append(folder / f"q{number + 1}.csv")
        extract(extracts[-1], inside)
    register(folder / "register.csv", range(0, releases[-1].stop), releases)
    rows = []
    for number, gate, explain, took, code, memory, answer in judge(binary, folder, algorithms, extracts):
        met = code in (0, 1) and took < 2 * GATE + AROUND
        rows.append([title, f"gate, release {number}", seconds(gate) if gate else "–",
                     seconds(explain) if explain else "–", seconds(took), f"{memory / 1e6:.0f} MB", answer,
                     "met" if met else "**missed**"])
    command = [binary, "attack", "inference", "--register", str(folder / "register.csv"), "--json", "--top", "0"]
    for number in range(len(algorithms)):
        command += ["--release", str(folder / f"r{number + 1}"), "--in", f"in{number + 1}"]
    took, code, answer, memory = run(command, folder)
    attacks = answer.get("attacks", [])
    figures = {f["name"]: f["value"] for f in attacks[0]["figures"]} if attacks else {}
    found = ", ".join(f"{figures[name]:.0f} {name.replace('_', ' ')}"
                      for name in ("certain", "undecided", "unsettled_beliefs") if name in figures)
    alone = answer.get("seconds", {}).get("inference")
    rows.append([title, "attack", seconds(alone) if alone else "–", "–", seconds(took), f"{memory / 1e6:.0f} MB", found,
                 "met" if code == 0 and took < ATTACK + AROUND else "**missed**"])
    for row in rows:
        print(" | ".join(row), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--save", action="store_true", help="keep the table in bench/results")
    parser.add_argument("--only", nargs="*", help="instances: " + ", ".join(i[0] for i in INSTANCES))
    options = parser.parse_args()
    binary, load = str(Path(options.binary).resolve()), os.getloadavg()
    rows = [row for instance in INSTANCES if not options.only or instance[0] in options.only
            for row in measured(instance, binary)]
    text = table(["instance", "by", "judging", "explaining", "whole run", "peak memory", "answer", "in time"], rows)
    print(text)
    if options.save:
        date = datetime.date.today().isoformat()
        version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()
        head = (f"# Series that are hard to judge, {date}\n\nMade by `bench/series.py`, which tells what the instances are."
                f" {version}; {platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}; load at the start"
                f" {load[0]:.1f}, at the end {os.getloadavg()[0]:.1f}. A gate has {GATE} s to judge and as long to"
                f" explain, an attack {ATTACK} s, and what is around them {AROUND} s more.\n\n")
        (RESULTS / f"{date}-series.md").write_text(head + text + "\n")


if __name__ == "__main__":
    main()

"""FF-anonymity on Adult: a minimal release, the full check of a release, any number of known
values, and the cost against rows. There is no peer: no other implementation is known."""

import json
import subprocess
from pathlib import Path

from measure import INPUTS, Case, Contestant, megabytes, seconds, table

ADULT = 30_162
# What is believed to be observable: of the values themselves, and how much more of the groups above.
BELIEFS = {"sex": (1, 0), "age": (0.2, 0.3), "race": (1, 0), "marital-status": (0.5, 0.3),
           "education": (0.3, 0.3), "native-country": (0.5, 0.3), "workclass": (0.3, 0.3)}
GUARDED = {"occupation": ["Priv-house-serv", "Protective-serv", "Armed-Forces", "Handlers-cleaners"],
           "salary-class": [">50K"]}
SIX = ["sex", "age", "marital-status", "education", "occupation", "salary-class"]


def policy(source: Path, data: Path, known: int, columns: list[str]) -> str:
    lines = [f"source = {json.dumps(str(source))}", "[attributes]"]
    for column in [*BELIEFS, *GUARDED]:
        file = data / "adult" / "hierarchies" / f"adult_hierarchy_{column}.csv"
        said = (f"guarding = {json.dumps(GUARDED[column])}" if column in GUARDED else
                "observability = { belief = %s, alpha = %s }" % BELIEFS[column])
        lines.append(f'{column} = {{ role = "freeform", taxonomy = {json.dumps(str(file))}, {said} }}'
                     if column in columns else f'{column} = "identifier"')
    lines += ["[[models]]", 'name = "ff-anonymity"', "observability = 0.5", "threat = 0.6",
              f"known = {known}", "[algorithm]", 'name = "specialize"', "[release]", 'to = "out"']
    return "\n".join(lines) + "\n"


def cases(options, adult: Path, one: Path) -> list[Case]:
    if options.peers_only or options.only and "freeform" not in options.only:
        return []
    everything, n = [*BELIEFS, *GUARDED], min(options.repetitions, 3)

    def publish(source, rows, known, columns, repetitions):
        command = [str(options.binary), "publish", "policy.toml", "--json", "--seed", "1"]
        return Contestant("scumble", command, repetitions, rows=rows,
                          files={"policy.toml": policy(source, options.data, known, columns)})

    folder = INPUTS / "freeform"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.toml").write_text(policy(adult, options.data, 3, everything))
    subprocess.run([str(options.binary), "publish", str(folder / "policy.toml"), "--replace",
                    "--seed", "1"], check=True, capture_output=True)
    check = [str(options.binary), "check", str(folder / "out"), "--json"]
    return [
        Case("freeform minimal", "Adult, 9 attributes, p = 3: minimal FF-anonymization", [adult],
             [publish(adult, ADULT, 3, everything, n)]),
        Case("freeform check", "the same, check of the release", [adult],
             [Contestant("scumble", check, n, rows=ADULT)]),
        Case("freeform any", "Adult, 6 attributes, any number of values known", [adult],
             [publish(adult, ADULT, 0, SIX, n)]),
        Case("freeform rows", "1 000 000 rows, 9 attributes, p = 3", [one],
             [publish(one, 1_000_000, 3, everything, 1)]),
    ]


def worth(measured: list[Case]) -> str:
    rows = []
    for case in (c for c in measured if c.key.startswith("freeform")):
        for c in (c for c in case.contestants if c.runs):
            answer = c.runs[0].answer
            model = next(m for m in [*answer.get("promises", []), *answer["models"]]
                         if m["name"] == "ff-anonymity")
            gcp = ((answer.get("utility") or {}).get("gcp") or {}).get("value")
            rows.append([case.title, str(answer["classes"]), model["measured"]["exact"],
                         "–" if gcp is None else f"{gcp:.4f}", seconds(c.median()), megabytes(c.rss())])
    return table(["what", "classes", "worst threat", "GCP", "seconds", "peak memory"], rows) if rows else ""


def targets(measured: list[Case], target) -> list:
    bounds = {"minimal": 10, "check": 3, "any": 60}
    found = {case.key: case for case in measured}
    rows = []
    for key, bound in bounds.items():
        if case := found.get(f"freeform {key}"):
            ours = case.contestants[0]
            value = ours.median() if ours.runs and not ours.failure else None
            rows.append(target(case.title, f"< {bound} s", value, seconds, lambda v, b=bound: v < b))
            rss = ours.rss()
            rows.append(target(f"{case.title}, memory", "< 2 GB", rss, megabytes, lambda v: v < 2e9))
    return rows

"""Every algorithm on every data set: what is lost, how long it takes, beside the peers that
do something like it. The figures of ARX are those that the project was given to beat; it is
not run here, because it is no package of a registry that these benchmarks use."""

import json
from dataclasses import dataclass
from pathlib import Path

from measure import INPUTS, VENV, Case, Contestant, megabytes, seconds, table

BENCH = Path(__file__).resolve().parent


@dataclass
class DataSet:
    name: str
    rows: int
    quasi: list[str]
    sensitive: str
    others: list[str]


SETS = [
    DataSet("adult", 30_162, ["sex", "age", "race", "marital-status", "education",
                              "native-country", "workclass"], "occupation", ["salary-class"]),
    DataSet("cup", 63_441, ["ZIP", "AGE", "GENDER", "INCOME", "STATE", "RAMNTALL", "NGIFTALL"],
            "MINRAMNT", []),
    DataSet("fars", 100_937, ["iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic",
                              "istatenum"], "iinjury", []),
]

K = 'name = "k-anonymity"\nk = 5'
DIVERSE = 'name = "distinct-l-diversity"\nl = 3'
CLOSE = 'name = "t-closeness"\nt = 0.2'


def policy(data: Path, one: DataSet, algorithm: str, models: list[str]) -> str:
    """A policy with the taxonomies as they are given, as trees."""
    def attribute(column, role):
        file = data / one.name / "hierarchies" / f"{one.name}_hierarchy_{column}.csv"
        return f'{column} = {{ role = "{role}", taxonomy = {json.dumps(str(file))} }}'
    source = data / one.name / f"{one.name}.csv"
    lines = [f"source = {json.dumps(str(source))}", "[attributes]"]
    lines += [attribute(c, "quasi-identifier") for c in one.quasi]
    lines += [attribute(one.sensitive, "sensitive")]
    lines += [f'{c} = "identifier"' for c in one.others]
    lines += [f"[[models]]\n{model}" for model in models]
    lines += [f"[algorithm]\n{algorithm}", '[release]\nto = "out"']
    return "\n".join(lines) + "\n"


def numbers(source: Path, algorithm: str) -> str:
    """A policy for a table of numbers, every column a quasi-identifier."""
    columns = source.open().readline().strip().split(",")
    lines = [f"source = {json.dumps(str(source))}", "[attributes]"]
    lines += [f'"{c}" = {{ role = "quasi-identifier", taxonomy = {{ number = true }} }}' for c in columns]
    lines += [f"[[models]]\n{K}", f"[algorithm]\n{algorithm}", '[release]\nto = "out"']
    return "\n".join(lines) + "\n"


ALGORITHMS = {
    "mondrian": 'name = "mondrian"',
    "mondrian, relaxed": 'name = "mondrian"\npartition = "relaxed"',
    "local": 'name = "local"',
    "lattice": 'name = "lattice"',
    "lattice, 4 % suppressed": 'name = "lattice"\nsuppress = 0.04',
    "top-down": 'name = "top-down"',
    "bottom-up": 'name = "bottom-up"',
    "sibling": 'name = "sibling"',
    "datafly, 4 % suppressed": 'name = "datafly"\nsuppress = 0.04',
    "k-optimize": 'name = "k-optimize"',
}


def cases(options, one_million: Path) -> list[Case]:
    python, n = str(VENV / "bin" / "python"), options.repetitions
    publish = [str(options.binary), "publish", "policy.toml", "--dry-run", "--json", "--seed", "1"]

    def ours(name, rows, text, repetitions=n):
        return Contestant(f"scumble {name}", publish, repetitions, "anonymize", rows,
                          files={"policy.toml": text})

    def peer(name, script, rows, repetitions, *arguments):
        command = [python, str(BENCH / "peers" / script), *map(str, arguments)]
        return Contestant(name, command, repetitions, "anonymize", rows)

    all_cases = []
    for one in SETS:
        source = options.data / one.name / f"{one.name}.csv"
        folder, prefix = options.data / one.name / "hierarchies", f"{one.name}_hierarchy_"
        runs = [ours(name, one.rows, policy(options.data, one, text, [K]))
                for name, text in ALGORITHMS.items()]
        if one.name == "adult":
            runs += [ours("local, 3-diversity", one.rows, policy(options.data, one, ALGORITHMS["local"], [K, DIVERSE])),
                     ours("local, 0.2-closeness", one.rows, policy(options.data, one, ALGORITHMS["local"], [K, CLOSE])),
                     ours("anatomy, 3-diversity", one.rows, policy(options.data, one, 'name = "anatomy"\nl = 3', [DIVERSE])),
                     peer("anonypyx Mondrian", "anonypyx_run.py", one.rows, min(n, 1), "Mondrian", source, ";",
                          ",".join(one.quasi), folder, prefix),
                     peer("anjana", "anjana_run.py", one.rows, min(n, 2), source, ",".join(one.quasi),
                          folder, prefix, 0),
                     peer("anjana, 4 % suppressed", "anjana_run.py", one.rows, min(n, 2), source,
                          ",".join(one.quasi), folder, prefix, 4)]
        all_cases.append(Case(f"algorithms {one.name}", f"{one.name}, k = 5", [source], runs))
    for name, rows in [("census", 1080), ("tarragona", 834)]:
        source = options.data / "microaggregation" / f"{name}.csv"
        columns = source.open().readline().strip()
        all_cases.append(Case(f"algorithms {name}", f"{name}, k = 5", [source], [
            ours("mdav", rows, numbers(source, 'name = "microaggregation"\nmethod = "mdav"')),
            ours("microaggregation", rows, numbers(source, 'name = "microaggregation"')),
            peer("anonypyx MDAV", "anonypyx_run.py", rows, min(n, 2), "MDAV-generic", source, ",",
                 columns, "", "")]))
    normal = INPUTS / "normal-100k.csv"
    all_cases.append(Case("algorithms normal", "100 000 rows of 10 numbers, k = 5", [normal], [
        ours("mdav", 100_000, numbers(normal, 'name = "microaggregation"\nmethod = "mdav"'), min(n, 2))]))
    million = DataSet("adult", 1_000_000, SETS[0].quasi, SETS[0].sensitive, SETS[0].others)
    text = {name: policy(options.data, million, how, models).replace(
                str(options.data / "adult" / "adult.csv"), str(one_million))
            for name, how, models in [("mondrian", ALGORITHMS["mondrian"], [K]),
                                      ("anatomy, 3-diversity", 'name = "anatomy"\nl = 3', [DIVERSE])]}
    all_cases.append(Case("algorithms million", "1 000 000 rows", [one_million],
                          [ours(name, 1_000_000, policy_text) for name, policy_text in text.items()]))
    return all_cases


def worth(measured: list[Case]) -> str:
    rows = []
    for case in (c for c in measured if c.key.startswith("algorithms")):
        for c in case.contestants:
            if not c.runs:
                continue
            answer = c.runs[0].answer
            utility = answer.get("utility", {})
            loss = f"{utility['gcp']['value']:.5f}" if "gcp" in utility else "–"
            sse = f"{utility['sse']['value']:.5f}" if "sse" in utility else "–"
            rows.append([case.title, c.name, loss, sse, str(answer.get("suppressed", 0)),
                         str(answer.get("classes", "–")), seconds(c.median()), megabytes(c.rss())])
    return table(["data", "algorithm", "GCP", "SSE/SST", "suppressed", "classes", "anonymize",
                  "peak memory"], rows) if rows else ""


def targets(measured: list[Case], target) -> list:
    found = {(case.key.removeprefix("algorithms "), c.name.removeprefix("scumble ")): c
             for case in measured for c in case.contestants if c.name.startswith("scumble ")}

    def time_of(*key):
        return found[key].median() if key in found and not found[key].failure else None

    def utility(metric, *key):
        runs = found[key].runs if key in found else []
        return runs[0].answer.get("utility", {}).get(metric, {}).get("value") if runs else None

    def below(name, bound, value):
        return target(name, f"< {bound}", value, lambda v: f"{v:.5f}", lambda v: v < bound)

    def faster(name, bound, value):
        return target(name, f"< {seconds(bound)}", value, seconds, lambda v: v < bound)

    rows = []
    for data, name, bound, limit in [("adult", "local", 0.0305, 1), ("cup", "local", 0.0730, 5),
                                     ("fars", "local", 0.0412, 5),
                                     ("adult", "local, 3-diversity", 0.0345, 1),
                                     ("adult", "local, 0.2-closeness", 0.475, 28)]:
        rows.append(below(f"{data}, {name}: GCP (ARX)", bound, utility("gcp", data, name)))
        rows.append(faster(f"{data}, {name}: time", limit, time_of(data, name)))
    for name, optimum in [("lattice", 0.63331), ("lattice, 4 % suppressed", 0.18885)]:
        rows.append(target(f"adult, {name}: the optimum", f"{optimum}", utility("gcp", "adult", name),
                           lambda v: f"{v:.5f}", lambda v, o=optimum: abs(v - o) < 0.000005))
        rows.append(faster(f"adult, {name}: time", 0.1, time_of("adult", name)))
    rows += [faster("1M rows, mondrian: anonymize", 0.5, time_of("million", "mondrian")),
             faster("1M rows, anatomy: anonymize", 0.5, time_of("million", "anatomy, 3-diversity")),
             faster("census, mdav", 0.05, time_of("census", "mdav")),
             faster("tarragona, mdav", 0.05, time_of("tarragona", "mdav")),
             faster("100 000 rows, mdav", 10, time_of("normal", "mdav"))]
    return rows

#!/usr/bin/env python3
"""Tables that do not fit: the default engine, DataFusion in the same process, and a cluster of two executors.

    bench/cluster.py --binary PATH [--rows 10,50] [--save]

The binary is one with the feature `cluster`. The tables are made by DuckDB (`requirements.txt`) under the cache
folder: the same distributions for every number of rows. `few` has at most 288 000 distinct rows, `many` up to
23 million, so that they do not fit into the memory given and Mondrian works level by level.

Every figure is one run on one machine: executors share its cores with the client, so the cluster's times say what it
costs to go there, not how it scales. Peak memory is the kernel's (VmHWM) of each process. Bytes shuffled are the
sizes of the files that executors kept for each other and for the client, read from their folders at the end.
"""

import argparse
import datetime
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from measure import INPUTS, VENV, WORK, megabytes, say, table

COLUMNS = {
    "few": {"zip": "10000 + (hash(i * 7 + 1) % 200)"},
    "many": {"zip": "10000 + (hash(i * 7 + 1) % 1000)", "school": "'s' || (hash(i * 7 + 5) % 16)"},
}
COMMON = {
    "age": "(hash(i * 7) % 90)::INTEGER",
    "sex": "CASE WHEN hash(i * 7 + 2) % 2 = 0 THEN 'f' ELSE 'm' END",
    "disease": "'d' || least(7, floor(-3 * ln((hash(i * 7 + 3) % 1000000 + 1) / 1000000.0)))::INTEGER",
}


def make(kind: str, rows: int) -> Path:
    """A folder of eight Parquet files."""
    folder = INPUTS / "cluster" / f"{kind}-{rows}"
    if folder.exists():
        return folder
    say(f"input of {rows} rows: {folder}")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    columns = {**COMMON, **COLUMNS[kind]}
    cells = ", ".join(f"{how} AS {name}" for name, how in columns.items())
    for part in range(8):
        first, last = rows * part // 8, rows * (part + 1) // 8
        copy = f"COPY (SELECT {cells} FROM range({first}, {last}) t(i)) TO '{partial}/part-{part}.parquet' (FORMAT parquet)"
        subprocess.run([str(VENV / "bin" / "python"), "-c", f"import duckdb; duckdb.sql({copy!r})"], check=True)
    partial.rename(folder)
    return folder


def policy(kind: str, source: Path, algorithm: str) -> str:
    school = 'school = { role = "quasi-identifier", taxonomy = { flat = true } }' if kind == "many" else ""
    return f"""source = {json.dumps(str(source))}
ledger = false
[attributes]
age = {{ role = "quasi-identifier", taxonomy = {{ intervals = [5, 10, 30] }} }}
zip = {{ role = "quasi-identifier", taxonomy = {{ prefix = true }} }}
sex = {{ role = "quasi-identifier", taxonomy = {{ flat = true }} }}
{school}
disease = {{ role = "sensitive" }}
[[models]]
name = "k-anonymity"
k = 50
[[models]]
name = "distinct-l-diversity"
l = 3
attribute = "disease"
[algorithm]
{algorithm}
[release]
to = "out"
format = "parquet"
"""


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def peak(pid: int) -> int:
    """The most memory a process has had, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    line = next((l for l in lines if l.startswith("VmHWM:")), "VmHWM: 0")
    return int(line.split()[1]) * 1024


def size_of(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) if folder.exists() else 0


class Cluster:
    """A scheduler and two executors of one core each, on loopback."""

    def __init__(self, binary: str, memory: str):
        port, *others = free_ports(5)
        self.address = f"df://127.0.0.1:{port}"
        self.folders = [WORK / "executor-1", WORK / "executor-2"]
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        self.log = open(WORK / "cluster.log", "wb")
        start = lambda arguments: subprocess.Popen([binary, "cluster", *arguments], stdout=self.log, stderr=self.log)
        self.scheduler = start(["scheduler", "--bind", f"127.0.0.1:{port}"])
        self.wait(port)
        self.executors = []
        for i, folder in enumerate(self.folders):
            ports = ["--port", str(others[2 * i]), "--orders-port", str(others[2 * i + 1])]
            self.executors.append(start(["executor", "--scheduler", self.address, "--cores", "1", "--memory", memory,
                                         "--spill", str(folder), *ports]))
            self.wait(others[2 * i])

    @staticmethod
    def wait(port: int) -> None:
        for _ in range(200):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise SystemExit("bench: the cluster does not start; see cluster.log in the work folder")

    def end(self) -> tuple[list[int], int]:
        """Peak memory of scheduler and executors, and the bytes that executors kept for each other."""
        memory = [peak(p.pid) for p in (self.scheduler, *self.executors)]
        shuffled = sum(size_of(folder) for folder in self.folders)
        for process in (*self.executors, self.scheduler):
            process.terminate()
        for process in (*self.executors, self.scheduler):
            process.wait()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        return memory, shuffled


def run(binary: str, text: str, how: list[str], arguments: list[str]) -> dict:
    """One command, in a folder of its own: its answer, seconds, and peak memory."""
    folder = WORK / "cluster-turn"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text(text)
    os.sync()
    with open(WORK / "cluster-out", "w+b") as out, open(WORK / "cluster-err", "w+b") as err:
        begun = time.perf_counter()
        child = subprocess.Popen([binary, *arguments, "--json", *how], cwd=folder, stdout=out, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begun
        out.seek(0), err.seek(0)
        printed, complaint = out.read(), err.read().decode(errors="replace")
    if os.waitstatus_to_exitcode(status) != 0:
        return {"failure": (complaint or printed.decode(errors="replace")).strip()[-300:]}
    return {"wall": wall, "rss": used.ru_maxrss * 1024, "cpu": used.ru_utime + used.ru_stime, **json.loads(printed)}


def row(name: str, rows: int, result: dict, memory=None, shuffled=None) -> list[str]:
    if "failure" in result:
        say(f"{name}, {rows} rows failed: {result['failure']}")
        return [f"{rows // 1_000_000} M", name, "failed", "", "", "", "", ""]
    engine = result.get("engine") or {}
    others = "" if memory is None else " / ".join(megabytes(m) for m in memory)
    spilled = "" if not engine.get("spilled") else megabytes(engine["spilled"])
    say(f"{name}, {rows} rows: {result['wall']:.1f} s")
    return [f"{rows // 1_000_000} M", name, f"{result['wall']:.1f} s", megabytes(result["rss"]), others,
            "" if shuffled is None else megabytes(shuffled), spilled, str(engine.get("passes", 1)),
            str(result.get("classes", ""))]


PUBLISH = ["publish", "policy.toml", "--seed", "1"]


def cases(kind: str, rows: int) -> list[tuple[str, str, list[str], str | None]]:
    """Name, algorithm, arguments, and the memory of each executor if it runs on the cluster."""
    mondrian, lattice = 'name = "mondrian"', 'name = "lattice"\nsuppress = 0.05'
    if kind == "few":
        return [("mondrian, default engine", mondrian, [], None),
                ("mondrian, datafusion, 2 GB", mondrian, ["--engine", "datafusion", "--memory", "2GB"], None),
                ("mondrian, two executors", mondrian, ["--memory", "2GB"], "2GB")]
    found = [("mondrian, default engine", mondrian, [], None),
             ("mondrian by parts, datafusion, 1 GB", mondrian, ["--engine", "datafusion", "--memory", "1GB"], None),
             ("mondrian by parts, two executors", mondrian, ["--memory", "1GB"], "2GB"),
             ("lattice by levels, datafusion, 1 GB", lattice, ["--engine", "datafusion", "--memory", "1GB"], None),
             ("lattice by levels, two executors", lattice, ["--memory", "1GB"], "2GB")]
    return found


HEAD = ["rows", "what", "time", "memory here", "scheduler / executors", "shuffled", "spilled here", "passes", "classes"]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", required=True)
    options.add_argument("--rows", default="10,50", help="millions of rows, separated by commas")
    options.add_argument("--only", help="only cases whose table or name holds this")
    options.add_argument("--save", action="store_true")
    options = options.parse_args()
    binary = str(Path(options.binary).resolve())
    WORK.mkdir(parents=True, exist_ok=True)
    text = [__doc__.split("\n\n", 2)[2].strip(), ""]
    for kind in ("few", "many"):
        lines = []
        for rows in (int(n) * 1_000_000 for n in options.rows.split(",")):
            chosen = [c for c in cases(kind, rows) if not options.only or options.only in f"{kind} {c[0]}"]
            if not chosen:
                continue
            source = make(kind, rows)
            for name, algorithm, how, executors in chosen:
                for file in source.iterdir():
                    file.read_bytes()
                if executors is None:
                    lines.append(row(name, rows, run(binary, policy(kind, source, algorithm), how, PUBLISH)))
                    continue
                cluster = Cluster(binary, executors)
                result = run(binary, policy(kind, source, algorithm), [*how, "--cluster", cluster.address], PUBLISH)
                lines.append(row(name, rows, result, *cluster.end()))
        if lines:
            text += [f"## {kind}", "", table(HEAD, lines), ""]
    print("\n".join(text))
    if options.save:
        file = Path(__file__).resolve().parent / "results" / f"{datetime.date.today()}-cluster.md"
        file.write_text("# Tables that do not fit\n\n" + "\n".join(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())

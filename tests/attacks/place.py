"""A folder with the example hospital, the command to attack, and what must hold after whatever happened to it."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    """BINARY SCRATCH [--long]"""
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} BINARY SCRATCH [--long]")
    scratch = os.path.abspath(sys.argv[2])
    os.makedirs(scratch, exist_ok=True)
    return os.path.abspath(sys.argv[1]), scratch, "--long" in sys.argv


def library(scratch):
    """The library that disturbs calls, built."""
    path = f"{scratch}/disk.so"
    source = f"{HERE}/disk.c"
    subprocess.check_call(["gcc", "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl", "-lpthread"])
    return path


ASK = ["query", "--dp", "questions.toml", "SELECT COUNT(*) FROM patients", "--epsilon", "0.1"]
PUBLISH = ["publish", "policy.toml"]

# Name: what is done before, and the command that is attacked.
SCENES = {
    "first": ([], PUBLISH),
    "replace": ([PUBLISH], PUBLISH + ["--replace"]),
    "replace without ledger": ([PUBLISH], ["publish", "unrecorded.toml", "--replace"]),
    "withdraw": ([PUBLISH], ["ledger", "withdraw", "2026-q3", "--because", "of a test"]),
    "first answer": ([], ASK),
    "answer": ([ASK], ASK),
    "synthesize": ([], ["synthesize", "questions.toml"]),
    "synthesize again": ([["synthesize", "questions.toml"]], ["synthesize", "questions.toml", "--replace"]),
    "load": ([PUBLISH], ["load", "releases/2026-q3", "--into", "db.sqlite", "--table", "t"]),
}


class Place:
    def __init__(self, binary, folder, patients=200):
        self.binary, self.folder = binary, folder
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            [binary, "example", folder, "--patients", str(patients)], check=True, stdout=subprocess.DEVNULL
        )
        text = self.read("questions.toml").decode()
        text = text.replace("each   = { epsilon = 2, delta = 1e-6 }", "").replace("epsilon = 3,", "epsilon = 30,")
        self.write("questions.toml", text)
        self.write("unrecorded.toml", "ledger = false\n" + self.read("policy.toml").decode())

    def path(self, name=""):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, arguments, **environment):
        return subprocess.Popen(
            [self.binary, *arguments],
            cwd=self.folder,
            env=dict(os.environ, **environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, arguments, **environment):
        """Exit status, standard output, standard error."""
        child = self.start(arguments, **environment)
        out, err = child.communicate(timeout=300)
        return child.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def must(self, arguments, status=0):
        code, out, err = self.run(arguments)
        assert code == status, f"scumble {' '.join(arguments)}: exit {code}, not {status}: {out}{err}"
        return out + err

    def names(self, folder):
        return sorted(os.listdir(self.path(folder))) if os.path.isdir(self.path(folder)) else []

    def snapshot(self):
        """Every file and folder: path to (mode, content), content None for a folder."""
        found = {}
        for folder, folders, files in os.walk(self.folder):
            for name in folders + files:
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode & 0o777
                content = None if os.path.isdir(path) else open(path, "rb").read()
                found[os.path.relpath(path, self.folder)] = (mode, content)
        return found

    def restore(self, snapshot):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        for name in sorted(snapshot):
            mode, content = snapshot[name]
            if content is None:
                os.makedirs(self.path(name), exist_ok=True)
            else:
                with open(self.path(name), "wb") as file:
                    file.write(content)
            os.chmod(self.path(name), mode)

    def entries(self):
        """The ledger's entries, by number; none if there is no ledger."""
        if not os.path.exists(self.path("ledger/ledger.sqlite")):
            return {}
        database = sqlite3.connect(f"file:{self.path('ledger/ledger.sqlite')}?mode=ro", uri=True)
        try:
            rows = list(database.execute("SELECT number, body FROM entries ORDER BY number"))
        except sqlite3.Error:
            rows = []
        finally:
            database.close()
        return {number: json.loads(body) for number, body in rows}

    def state(self):
        """What must not get less."""
        entries = self.entries()
        return {
            "entries": len(entries),
            "paid": sum(len(e["spends"]) for e in entries.values() if e["entry"] == "spent"),
            "releases": [n for n in self.names("releases") if not n.startswith(".")],
        }

    def standing(self):
        """How every release of the ledger stands, by id."""
        standing = {}
        ids = {}
        for number, entry in self.entries().items():
            if entry["entry"] in ("intent", "added"):
                ids[number] = entry["id"]
                standing[entry["id"]] = "announced" if entry["entry"] == "intent" else "added"
            elif entry["entry"] in ("released", "abandoned"):
                standing[ids[entry["intent"]]] = "published" if entry["entry"] == "released" else "abandoned"
            elif entry["entry"] == "withdrawn":
                standing[ids[entry["release"]]] = "withdrawn"
        return standing


def complete(place, name):
    """Whether a visible folder of `releases` is complete."""
    manifest = json.loads(place.read(f"releases/{name}/manifest.json"))
    if manifest.get("form") == "synthetic":
        return all(os.path.exists(place.path(f"releases/{name}/{file}")) for file in manifest["sha256"])
    return place.run(["verify", f"releases/{name}"])[0] == 0


def check(place, scene, before, said):
    """What is wrong after a command was disturbed that had said this; `before` is the state before it."""
    wrong = []
    for name in place.names("releases"):
        if not name.startswith("."):
            try:
                if not complete(place, name):
                    wrong.append(f"`{name}` is visible and not complete")
            except (OSError, ValueError) as e:
                wrong.append(f"`{name}` is visible and cannot be read: {type(e).__name__}")
    # The next command that looks at the ledger resolves what was left open.
    code, out, err = place.run(["ledger", "list", "--json"])
    if code != 0 and (before["entries"] or "there is no ledger" not in out + err):
        wrong.append(f"the ledger cannot be listed: {(err + out)[:300]}")
    now = place.state()
    wrong += [f"{what} lost: {before[what]}, now {now[what]}" for what in ("entries", "paid") if now[what] < before[what]]
    wrong += [f"`{name}` is gone" for name in before["releases"] if name not in now["releases"]]
    if code == 0:
        code, out, err = place.run(["ledger", "verify"])
        if code != 0:
            wrong.append(f"`ledger verify` exits {code}: {(out + err)[:300]}")
    standing = place.standing()
    wrong += ["a release stays announced" for word in standing.values() if word == "announced"]
    for name in now["releases"]:
        try:
            release = json.loads(place.read(f"releases/{name}/manifest.json")).get("id")
        except (OSError, ValueError):
            # Said above already.
            continue
        if release and standing.get(release) not in ("published", "withdrawn"):
            wrong.append(f"`{name}` is there and {standing.get(release, 'unknown to the ledger')}")
    wrong += [f"`{n}` is left" for n in place.names("releases") if n.startswith(".") and "synth" not in scene
              and "without" not in scene]
    # Where no ledger came about, the next one that is made removes what is left of its key.
    wrong += [f"`{n}` is left" for n in place.names("") if n.startswith(".") and place.entries()]
    command = SCENES[scene][1]
    if "Published" in said and not now["releases"]:
        wrong.append("it said that it published, and nothing is there")
    if command[0] in ("query", "synthesize") and ("answered" in said or "COUNT" in said or "Published" in said):
        if now["paid"] <= before["paid"]:
            wrong.append("it answered, and nothing is paid")
    # It can be asked for again, and leaves nothing then.
    code, out, err = place.run(command)
    expected = ("exists already", "was withdrawn already", "there is a table", "already has a table")
    if code != 0 and not any(word in out + err for word in expected):
        wrong.append(f"again it exits {code}: {(err + out)[:300]}")
    left = place.names("releases") + place.names("")
    wrong += [f"`{n}` is left by the second run" for n in left if n.startswith(".") and code == 0]
    return wrong


class Report:
    """Counts what was tried and what went wrong, and ends with that."""

    def __init__(self, what):
        self.what, self.tried, self.wrong = what, 0, []

    def add(self, where, wrong):
        self.tried += 1
        self.wrong += [f"{where}: {w}" for w in wrong]

    def end(self):
        for line in self.wrong[:20]:
            print("WRONG", line)
        print(f"{self.what}: {self.tried} tried, {len(self.wrong)} wrong")
        sys.exit(1 if self.wrong or not self.tried else 0)

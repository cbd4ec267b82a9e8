#!/usr/bin/env python3
"""Cuts the power at any moment, by replaying what the command did to the disk.

Every call that changes the disk is recorded with its data. After each of them the disk is put together as a power cut may
leave it: what a file holds is sure once the file was synced, and what names a folder holds once the folder was synced.
Everything else may be there or not:

  lost      nothing is there that was not synced
  names     all names are there, and nothing of the content that was not synced
  kept      everything is there, as after a kill
  ledger    what belongs to the ledger is lost, and everything else kept: releases on another disk
  releases  the other way round
  mixed     each file and folder by the toss of a coin (with --long)

Then the next commands are run. No budget comes back, no release is forgotten, none is half there."""
import hashlib
import os
import random
import sys

from place import SCENES, Place, Report, arguments, check, library


class Node:
    """A file or folder: what it holds, and what it surely holds after a power cut."""

    def __init__(self, mode, content):
        self.mode, self.now, self.sure = mode, content, type(content)()

    def sync(self):
        self.sure = type(self.now)(self.now)


class Disk:
    def __init__(self, root, snapshot):
        self.root_path, self.root = root, Node(0o755, {})
        for name in sorted(snapshot):
            mode, content = snapshot[name]
            self.put(f"{root}/{name}", Node(mode, {} if content is None else bytearray(content)))
        self.each(self.root, Node.sync)

    def each(self, node, what):
        what(node)
        if isinstance(node.now, dict):
            for child in node.now.values():
                self.each(child, what)

    def steps(self, path):
        """Names from the root, or None for a path elsewhere."""
        if not path.startswith(self.root_path + "/"):
            return [] if path == self.root_path else None
        return [step for step in os.path.normpath(path)[len(self.root_path) + 1 :].split("/") if step]

    def find(self, path):
        node, steps = self.root, self.steps(path)
        for step in steps if steps is not None else ["?"]:
            node = node.now.get(step) if node and isinstance(node.now, dict) else None
        return node

    def put(self, path, node):
        folder = self.find(os.path.dirname(os.path.normpath(path)))
        if folder and node:
            folder.now[os.path.basename(os.path.normpath(path))] = node

    def take(self, path):
        folder = self.find(os.path.dirname(os.path.normpath(path)))
        return folder.now.pop(os.path.basename(os.path.normpath(path)), None) if folder else None

    def do(self, name, path, other, number, data):
        node = self.find(path) if self.steps(path) is not None else None
        if name in ("create", "empty") and self.steps(path):
            if node is None:
                self.put(path, Node(number, bytearray()))
            elif name == "empty":
                node.now = bytearray()
        elif name == "mkdir" and self.steps(path):
            self.put(path, Node(0o755, {}))
        elif name == "write" and node:
            node.now.extend(bytes(max(0, number - len(node.now))))
            node.now[number : number + len(data)] = data
        elif name == "truncate" and node:
            node.now = node.now[:number] + bytes(max(0, number - len(node.now)))
        elif name == "sync" and node:
            node.sync()
        elif name == "rename" and node:
            self.put(other, self.take(path))
        elif name == "exchange" and node:
            there = self.take(other)
            self.put(other, self.take(path))
            self.put(path, there)
        elif name == "link" and node:
            self.put(other, node)
        elif name == "unlink" and self.steps(path):
            self.take(path)

    def after_a_cut(self, mode, coin):
        """The disk as a power cut may leave it, as a snapshot."""
        found = {}

        def walk(node, name):
            ledger = name.startswith("ledger") or name.startswith(".ledger")
            kept = {
                "lost": False,
                "names": isinstance(node.now, dict),
                "kept": True,
                "ledger": not ledger and name != "",
                "releases": ledger or name == "",
                "mixed": coin.random() < 0.5,
            }[mode]
            content = node.now if kept else node.sure
            if name:
                found[name] = (node.mode, None if isinstance(content, dict) else bytes(content))
            if isinstance(content, dict):
                for child, below in sorted(content.items()):
                    walk(below, f"{name}/{child}" if name else child)

        walk(self.root, "")
        return found


def calls(file):
    """The record, call by call."""
    with open(file, "rb") as record:
        while head := record.readline():
            name, path, other, number, size = head.decode().rstrip("\n").split("\t")
            yield name, path, other, int(number), record.read(int(size))


def main():
    binary, scratch, long = arguments()
    library_path, report, coin = library(scratch), Report("power cuts"), random.Random(1)
    modes = ["lost", "names", "kept", "ledger", "releases"] + ["mixed"] * (3 if long else 0)
    for scene, (before, command) in SCENES.items():
        place = Place(binary, f"{scratch}/power-{scene.replace(' ', '-')}", patients=100)
        for step in before:
            place.must(step)
        state, snapshot, record = place.state(), place.snapshot(), f"{scratch}/power-record"
        open(record, "w").close()
        code, _, err = place.run(command, LD_PRELOAD=library_path, DISK_RECORD=record)
        assert code == 0, err
        disk, said, states = Disk(place.folder, snapshot), "", {}
        for number, (name, path, other, position, data) in enumerate([("nothing", "", "", 0, b""), *calls(record)]):
            disk.do(name, path, other, position, data)
            said += data.decode(errors="replace") if name == "said" else ""
            last = set()
            for mode in modes:
                cut = disk.after_a_cut(mode, coin)
                key = hashlib.sha256(repr((sorted(cut.items()), said)).encode()).digest()
                states.setdefault(key, (f"{scene}, {mode}, after call {number}: {name} {path} {other}", cut, said))
                last.add(key)
        # A cut when everything is done and said is always tried.
        others = [state for key, state in states.items() if key not in last]
        chosen = others if long else coin.sample(others, min(len(others), 12))
        for where, cut, said in chosen + [states[key] for key in sorted(last)]:
            place.restore(cut)
            report.add(where, check(place, scene, state, said))
    report.end()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
